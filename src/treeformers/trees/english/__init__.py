"""The knowledge of English behind the conversion to dependencies."""
