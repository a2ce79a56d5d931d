"""Conversations: turns, sessions, segments."""
