"""The interface to Qdrant, and its two implementations."""
