"""Where memories and the journal lie, and how they are opened, copied, repaired and erased."""
