"""Memories, how they decay and are stored. No model call, no prompt, no clock."""
