"""Results of induced trees: F1 beside trivial trees, perplexity, other decodings, averages of the trees."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

from lab.provenance import origin
from treeformers.metrics.statistics import summarise
from treeformers.recipes import Data, InduceRecipe
from treeformers.tasks.induce.score import average_forests, score_baselines, score_inducer, score_trees
from treeformers.training.workers import start_workers
from treeformers.trees.tree import Tree

PERPLEXITY_SENTENCES = 500
PERPLEXITY_WORDS = 12_000  # for texts of long paragraphs: each word costs a run over its paragraph


def read_tests(data: Data) -> tuple[list[Tree], list[str]]:
    """The gold trees and the sentences that a recipe's models are scored on.

    Raises:
        ValueError: the corpus of the text has no test part.
    """
    from treeformers.tasks.induce.train import read_gold, read_text

    gold = read_gold(data) if data.gold else []
    if data.text == "grammar":
        return gold, [" ".join(tree.words) for tree in gold]
    return gold, read_text(replace(data, splits=("test",), sentences=0))


def collect(
    recipe: InduceRecipe, models: Sequence[Path], fits: Sequence[Mapping[str, Any]], processes: int = 1
) -> dict[str, Any]:
    """Score trained models of one recipe: each alone, and averages of the trees of all.

    "averaged" has one vote a model, "averaged_layers" one for each layer from 2 up of each model.

    The pseudo-perplexity is that of the first sentences of the test part, which a recipe that trains on
    all parts has read; of the grammar it is that of the gold sentences. Of each model `scoring_seconds` of
    the processor are told.

    Args:
        recipe: of the models.
        models: their folders.
        fits: how each was trained.
        processes: models scored at the same time.
    """
    gold, held_out = read_tests(recipe.data)
    seeds: list[dict[str, Any]] = []
    forests: list[list[Tree]] = []
    layers: list[list[Tree]] = []
    score = partial(_timed, gold=gold, held_out=_few(held_out), decoding=recipe.decoding)
    processes = min(processes, len(models))
    with start_workers(processes) if processes > 1 else nullcontext() as pool:
        running = (pool.map if pool else map)(score, models)
        baselines = score_baselines(gold) if gold else None  # on a core that the last models leave idle
        scored = list(running)
    for (figures, trees, by_layer), fit in zip(scored, fits, strict=True):
        seeds.append({**fit, **figures})
        forests += [trees] if trees else []
        layers += by_layer
    result: dict[str, Any] = {
        **origin(recipe),
        "data": {"text": recipe.data.text, "gold": recipe.data.gold, "gold_trees": len(gold)},
        "seeds": seeds,
        "summary": summarise(seeds),
    }
    if len(forests) > 1:
        result["averaged"] = score_trees(gold, average_forests(forests))
        result["averaged_layers"] = score_trees(gold, average_forests(layers))
    if baselines:
        result["baselines"] = baselines
    return result


def _timed(model: Path, **given: Any) -> tuple[dict[str, Any], list[Tree], list[list[Tree]]]:
    started = time.process_time()
    figures, trees, by_layer = score_inducer(model, **given)
    return {**figures, "scoring_seconds": time.process_time() - started}, trees, by_layer


def _few(lines: Sequence[str]) -> list[str]:
    """The first lines, as many as perplexity is measured on."""
    few = list(lines[:PERPLEXITY_SENTENCES])
    totals = accumulate(len(line.split()) for line in few)
    return few[: max(1, sum(total <= PERPLEXITY_WORDS for total in totals))]
