"""The agents, which ask a model, and the types of their answers."""
