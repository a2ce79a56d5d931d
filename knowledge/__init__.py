"""Memories, their decay and their storage. No model call, no prompt, no clock."""
