"""The routes of the server, by noun."""
