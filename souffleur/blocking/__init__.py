"""A memory for hosts without an event loop: the same methods, each of which waits."""
