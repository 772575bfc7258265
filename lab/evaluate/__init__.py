"""Metrics for results files: for each task a module with a function `evaluate`."""
