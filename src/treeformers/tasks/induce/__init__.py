"""Trees from models trained on raw text."""
