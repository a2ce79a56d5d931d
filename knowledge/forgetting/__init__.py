"""What goes with what is forgotten."""
