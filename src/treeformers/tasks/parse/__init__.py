"""Labelled trees from models trained on treebanks."""
