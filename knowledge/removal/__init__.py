"""Removal for good: what belongs to a topic, what rests on it, and how all of it goes."""
