"""Memories, their life and their store. No model call, no prompt, no clock."""
