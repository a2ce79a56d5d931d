"""The state of a store, as words and as a page."""
