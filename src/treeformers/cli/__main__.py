"""`python -m treeformers.cli`, for torchrun and accelerate."""

from treeformers.cli import app

app(prog_name="treeformers")
