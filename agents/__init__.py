"""The judge, the graphs, and the door to a model."""
