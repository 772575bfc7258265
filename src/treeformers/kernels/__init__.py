"""Code that exists for speed alone, each beside its plain twin."""
