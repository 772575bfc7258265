"""Results of classifiers of sentences and of pairs: the figures of every seed on validation and test."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.provenance import provenance
from treeformers.metrics.statistics import summarise
from treeformers.recipes import ClassifyRecipe, Examples, SimilarityRecipe


def evaluate(
    recipe: ClassifyRecipe | SimilarityRecipe, models: Sequence[Path], fits: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Score trained classifiers of one recipe.

    Returns:
        What is written to the results file. A seed has the figures of `tasks.classify.train.scorer`
        on the test part and, with "_validation" behind the name, on the validation part; `by_group` those of
        each subset of the test part that has a name, and the number of its `examples`; and
        `sentences_per_second` of the model over the test part, whose trees and frozen vectors are made ready
        before.
    """
    from treeformers.tasks.classify.examples import read_examples
    from treeformers.tasks.classify.predictor import Classifier, Similarity, predict
    from treeformers.tasks.classify.train import figures

    pairs = isinstance(recipe, SimilarityRecipe)
    parts = {part: read_examples(recipe.data, part, pairs) for part in ("validation", "test")}
    seeds = []
    ready: dict[str, Any] = {}
    reader = None
    for folder, fit in zip(models, fits, strict=True):
        loaded = (Similarity if pairs else Classifier).from_pretrained(folder)
        classes = [] if recipe.model.get("task") == "relatedness" else list(loaded.classes)
        seed: dict[str, Any] = dict(fit)
        if loaded.reader != reader:  # seeds read alike
            reader = loaded.reader
            ready = {
                part: reader.encode([tree for one in examples for tree in one.trees])
                for part, examples in parts.items()
            }
        for part, examples in parts.items():
            started = time.perf_counter()
            encoded = ready[part]
            found = predict(loaded.model, encoded, loaded.reader)
            seconds = time.perf_counter() - started
            scores = figures(found, examples, classes, recipe.data.coarse)
            seed |= {name if part == "test" else f"{name}_{part}": value for name, value in scores.items()}
        seed["sentences_per_second"] = len(encoded) / seconds
        groups = sorted({example.group for example in examples} - {""})
        seed["by_group"] = {}
        for group in groups:
            rows = [number for number, example in enumerate(examples) if example.group == group]
            scores = figures(found[rows], [examples[row] for row in rows], classes, recipe.data.coarse)
            seed["by_group"][group] = {"examples": len(rows), **scores}
        seeds.append(seed)
    return {
        **provenance(recipe),
        "data": _describe(recipe.data, parts, pairs),
        "seeds": seeds,
        "summary": summarise(seeds),
    }


def read_gold(data: Examples, pairs: bool) -> None:
    """Read what is scored, so that what is missing shows before training.

    Raises:
        FileNotFoundError: a corpus, or the parser of its trees, that is not there.
        ValueError: a corpus without one of these parts.
    """
    from treeformers.tasks.classify.examples import read_examples

    for part in ("validation", "test"):
        read_examples(data, part, pairs)


def _describe(data: Examples, parts: Mapping[str, Sequence[Any]], pairs: bool) -> dict[str, Any]:
    from treeformers.tasks.classify.examples import read_examples

    train = read_examples(data, "train", pairs)
    counts = Counter(example.label for example in parts["test"])
    return {
        "train": len(train),
        **{part: len(examples) for part, examples in parts.items()},
        "classes": {label: count for label, count in sorted(counts.items()) if label},
    }
