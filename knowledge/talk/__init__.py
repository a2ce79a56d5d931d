"""What was said: turns, sessions, segments."""
