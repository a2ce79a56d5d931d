"""What goes on behind the talk."""
