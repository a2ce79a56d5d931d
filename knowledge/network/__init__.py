"""Connections to other programs, and what to do when they fail."""
