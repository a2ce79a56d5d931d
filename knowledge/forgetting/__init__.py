"""Forgetting: which memories, turns and texts tell the same as what a user asks to forget."""
