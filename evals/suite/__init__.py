"""Scripted dialogues through the real runtime, and how they are marked."""
