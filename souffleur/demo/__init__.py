"""The shipped dialogue and its recorded answers."""
