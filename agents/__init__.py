"""What asks a model: the agents and their answers."""
