"""Data that must not be stored or shown: secrets, numbers of documents, parts of addresses.

`secrets` finds and masks this data by the rules of `rules/*.toml`, which `rule` reads. A rule finds
a value by its pattern; if the form is no proof, the words of its `surroundings` decide. The words
are data as well: `words/*.toml`, by concept and language. `vocabulary` turns them into patterns.
"""
