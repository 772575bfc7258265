"""Classes of sentences."""
