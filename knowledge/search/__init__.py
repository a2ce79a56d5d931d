"""How memories, episodes and raw turns are found."""
