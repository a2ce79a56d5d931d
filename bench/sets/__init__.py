"""Public sets of conversations with questions about them, read from a path into one format.

None is shipped: their licences differ, and some forbid it.
"""
