"""Scripted dialogues, played through the real runtime and marked."""
