"""Scripts that carry recipes and results over to new names."""
