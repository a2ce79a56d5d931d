"""Measurements through the public API: how good and how fast the memory is."""
