"""Training: the loop that all tasks share, a module for each task, and the folder a model is saved in."""

from treeformers.training.batches import TokenBatchSampler
from treeformers.training.fit import Fit, fit
from treeformers.training.folder import Run, save_model
from treeformers.training.induce import build_model, read_gold, read_text, train_inducer

__all__ = [
    "Fit",
    "Run",
    "TokenBatchSampler",
    "build_model",
    "fit",
    "read_gold",
    "read_text",
    "save_model",
    "train_inducer",
]
