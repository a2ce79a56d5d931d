"""The server: one process owns the store, and other processes use it over HTTP."""
