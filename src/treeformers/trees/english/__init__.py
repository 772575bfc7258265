"""What the conversion to dependencies knows about English."""
