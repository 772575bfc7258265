"""Training: the loop that all tasks share, and the folder that a model is saved in."""
