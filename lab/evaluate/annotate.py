"""What a treebank that plays the annotator learns: F1 and moves by the number of accepted trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.annotating import parses_file, point_file
from lab.provenance import provenance
from lab.recipes import AnnotateRecipe
from treeformers.metrics import parseval
from treeformers.metrics.statistics import summarise
from treeformers.trees.files import read_object
from treeformers.trees.formats import read_trees
from treeformers.trees.tree import Tree

__all__ = ["evaluate"]


def evaluate(
    recipe: AnnotateRecipe, folders: Mapping[int, Path], gold: Mapping[str, Sequence[Tree]]
) -> dict[str, Any]:
    """Score the test parses of all seeds and sizes.

    Args:
        recipe: the recipe.
        folders: the folder of each seed, as `lab.annotating.annotate` leaves it.
        gold: as `lab.annotating.read_gold` returns it.

    Returns:
        The content of the results file. A seed has a `curve` with an entry for each size, and for the tests of
        the tables `f1_SIZE`.
    """
    seeds = []
    for seed, folder in folders.items():
        curve = [
            {**read_object(point_file(folder, size)), **_scores(gold["test"], parses_file(folder, size))}
            for size in sorted(recipe.data.sizes)
        ]
        seeds.append(
            {
                "seed": seed,
                **{f"f1_{point['trees']}": point["f1"] for point in curve},
                "wall_seconds": sum(point["wall_seconds"] for point in curve),
                "processor_seconds": sum(point["processor_seconds"] for point in curve),
                "curve": curve,
            }
        )
    return {**provenance(recipe), "seeds": seeds, "summary": summarise(seeds)}


def _scores(gold: Sequence[Tree], file: Path) -> dict[str, Any]:
    parses = list(read_trees(file))
    tagged = [_with_tags(tree, right.tags) for tree, right in zip(parses, gold, strict=True)]
    score = parseval(gold, tagged, missing="zero")
    return {
        "f1": score.f1,
        "precision": score.precision,
        "recall": score.recall,
        "exact_match": score.exact_match,
        "signature": score.signature,
    }


def _with_tags(tree: Tree, tags: Sequence[str]) -> Tree:
    """The tree with the gold tags: evalb ignores punctuation by tag."""
    return Tree.from_spans(tree.words, tree.spans(), tags)
