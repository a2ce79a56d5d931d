"""Public sets of talk with questions about it, each read from a path onto one form.

None is shipped: their licences differ, and some forbid it.
"""
