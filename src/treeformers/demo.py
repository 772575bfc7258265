"""The main job on the embedded grammar, in minutes: train on sentences, parse others, score and draw."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from treeformers import drawing
from treeformers.inducer import Inducer
from treeformers.metrics import unlabeled_f1
from treeformers.induction import trivial_tree
from treeformers.recipes import Data, Recipe, Train
from treeformers.reproduction import score_baselines, score_trees
from treeformers.training import Fit, read_gold, read_text, train_inducer
from treeformers.trees.formats import atomic_write
from treeformers.trees.tree import Tree

__all__ = ["RECIPE", "Demo", "run_demo"]

RECIPE = Recipe(
    title="Demonstration on the agreement grammar",
    data=Data(text="grammar", gold="grammar", sentences=10000, held_out=300, mask_probability=0.3),
    model={
        "hidden_size": 64,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "intermediate_size": 256,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
    },
    train=Train(
        epochs=4,
        tokens_per_batch=1024,
        learning_rate=3e-3,
        matrix_learning_rate=4e-3,
        warmup_steps=50,
    ),
)
"""Half a minute of training."""

DRAWN = 8  # trees beside gold
MAPPED = 3  # sentences with heat maps
READABLE = range(4, 13)  # words of a sentence worth drawing


@dataclass(frozen=True, slots=True)
class Demo:
    """What the demonstration gave.

    Attributes:
        pairs: (induced, gold) trees of some sentences, as drawn in the report.
        scores: figures of `score_trees` by kind of tree: "induced" first, then the trivial ones.
        signature: how the figures were computed.
        model: the model folder.
        report: the page with all of it.
    """

    pairs: list[tuple[Tree, Tree]]
    scores: dict[str, dict[str, Any]]
    signature: str
    model: Path
    report: Path


def run_demo(out: str | Path, recipe: Recipe = RECIPE, progress: bool = False) -> Demo:
    """Train a small Tree Transformer on raw sentences, parse sentences it has not seen, score and draw.

    Args:
        out: folder; the model goes to `model` in it, the page to `report.html`.
        recipe: what to train on and how.
        progress: show on standard error how far it is.

    Raises:
        OSError: the folder cannot be written.
    """
    out = Path(out)
    fit = train_inducer(recipe, out / "model", progress=progress)
    console = Console(stderr=True)
    with console.status("parsing held-out sentences, drawing") if progress else nullcontext():
        seen = set(read_text(recipe.data))
        gold = [tree for tree in read_gold(recipe.data) if " ".join(tree.words) not in seen]
        inducer = Inducer.from_pretrained(out / "model")
        trees = inducer.parse(tree.words for tree in gold)
        scores = {"induced": score_trees(gold, trees), **score_baselines(gold)}
        readable = [pair for pair in zip(trees, gold, strict=True) if len(pair[0]) in READABLE]
        result = Demo(
            pairs=readable[:DRAWN],
            scores=scores,
            signature=scores["induced"]["signature"],
            model=out / "model",
            report=out / "report.html",
        )
        with atomic_write(result.report) as page:
            page.write(_page(result, gold, trees, inducer, fit))
    return result
