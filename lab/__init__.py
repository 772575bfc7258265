"""The laboratory: reproduces the tables of papers from recipes, and renders the results."""

from lab import recipes as recipes  # registers the tasks of the laboratory
