"""From recipes to results files: what all tasks share, and a module for each task."""

from treeformers.reproduction.induce import score_baselines, score_trees
from treeformers.reproduction.run import (
    commit,
    environment,
    reproduce,
    run_recipe,
    summarise,
    train_once,
    write_json,
)

__all__ = [
    "commit",
    "environment",
    "reproduce",
    "run_recipe",
    "score_baselines",
    "score_trees",
    "summarise",
    "train_once",
    "write_json",
]
