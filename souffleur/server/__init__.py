"""The server: one process owns the store, and others reach it over HTTP."""
