"""Data that must not be stored or shown: secrets, keys, parts of addresses.

`secrets` finds and masks what `secret_patterns` lists: the `rules`, by group, each with a hint that
says fast in which texts it is worth trying. A rule tells how one kind of secret is told. Either its
pattern says so by itself: a known form, or a label, a link and a value. Or it finds a value by its
form alone, and the words of its `surroundings` decide. The words are data: files of `words/`, by
concept and language, which `vocabulary` turns into patterns.
"""
