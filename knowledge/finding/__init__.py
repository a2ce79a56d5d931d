"""Search over memories, episodes and raw turns."""
