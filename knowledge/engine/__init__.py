"""Qdrant: the seam, and both engines behind it."""
