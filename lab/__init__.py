"""The laboratory: papers' tables reproduced from recipes, and their results rendered."""
