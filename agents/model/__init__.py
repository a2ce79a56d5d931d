"""How a model is asked, and how its answers are read."""
