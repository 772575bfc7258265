"""Annotation: a treebank from raw text, tree by tree, and a parser that learns from it."""

from treeformers.annotation.agreement import Agreement, agreement
from treeformers.annotation.project import Project
from treeformers.annotation.proposals import propose
from treeformers.annotation.queue import next_sentence
from treeformers.annotation.rounds import retrain, rounds, start_round
from treeformers.annotation.transfer import (
    export_trees,
    exported,
    import_conllu,
    import_file,
    import_text,
    import_trees,
)
from treeformers.annotation.values import Conflict, Sentence

__all__ = [
    "Agreement",
    "Conflict",
    "Project",
    "Sentence",
    "agreement",
    "export_trees",
    "exported",
    "import_conllu",
    "import_file",
    "import_text",
    "import_trees",
    "next_sentence",
    "propose",
    "retrain",
    "rounds",
    "start_round",
]
