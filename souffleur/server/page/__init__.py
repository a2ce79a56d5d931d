"""The user's own page: its files, and its data beyond the plain records."""
