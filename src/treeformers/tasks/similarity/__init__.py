"""Classes and scores of pairs of sentences."""
