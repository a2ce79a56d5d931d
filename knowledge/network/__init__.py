"""Connections to other programs, and handling of their failures."""
