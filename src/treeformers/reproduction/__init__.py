"""From recipes to results files: what all tasks share, and a module for each task."""

from treeformers.reproduction.everything import reproduce_all
from treeformers.reproduction.induce import score_baselines, score_trees
from treeformers.reproduction.run import (
    RowsFailed,
    commit,
    environment,
    reproduce,
    run_recipe,
    train_once,
    write_json,
)
from treeformers.reproduction.status import Row, list_rows, read_row

__all__ = [
    "Row",
    "RowsFailed",
    "commit",
    "environment",
    "list_rows",
    "read_row",
    "reproduce",
    "reproduce_all",
    "run_recipe",
    "score_baselines",
    "score_trees",
    "train_once",
    "write_json",
]
