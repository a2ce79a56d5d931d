"""Files of other programs, by their kind."""
