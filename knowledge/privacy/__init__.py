"""Data that must not be stored or shown: secrets, keys, parts of addresses."""
