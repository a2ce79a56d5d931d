"""Measurements of Souffleur: how good and how fast it is, beside others too. See README.md."""
