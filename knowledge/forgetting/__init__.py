"""Forgetting: which memories, turns and texts repeat the content that a user asks to forget."""
