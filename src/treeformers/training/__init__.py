"""Training: the loop that all tasks share, and the folder a model is saved in."""
