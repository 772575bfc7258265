"""Metrics for results files: one module for each task, each with a function `evaluate`."""
