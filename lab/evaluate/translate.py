"""Results of translation models: BLEU of every seed on validation and test."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.provenance import provenance
from treeformers.metrics import bleu
from treeformers.metrics.statistics import summarise
from treeformers.recipes import TranslateRecipe


def evaluate(
    recipe: TranslateRecipe, models: Sequence[Path], fits: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Score trained translation models of one recipe.

    Returns:
        What is written to the results file. A seed has `bleu_validation` and `bleu`, that of the test part,
        with their `signature`; `sentences_per_second` of the search over the test part; and of a model that
        sees trees `attention_on_nodes` and `nodes_share`, see `Translator.node_shares`, on the test part.
    """
    from treeformers.tasks.translate.predictor import Translator
    from treeformers.tasks.translate.train import read_pairs

    parts = {part: read_pairs(recipe.data, part) for part in ("validation", "test")}
    seeds = []
    for folder, fit in zip(models, fits, strict=True):
        translator = Translator.from_pretrained(folder)
        seed: dict[str, Any] = dict(fit)
        for part, pairs in parts.items():
            started = time.perf_counter()
            found = translator.translate(pair.tree for pair in pairs)
            seconds = time.perf_counter() - started
            targets = [pair.target for pair in pairs]
            if recipe.data.lowercase:
                targets = [target.lower() for target in targets]
            score = bleu(targets, found)
            seed["bleu" if part == "test" else f"bleu_{part}"] = score.bleu
        if translator.model.config.tree:
            seed["attention_on_nodes"], seed["nodes_share"] = translator.node_shares(pairs)
        seed |= {"signature": score.signature, "sentences_per_second": len(pairs) / seconds}
        seeds.append(seed)
    train = read_pairs(recipe.data, "train")
    return {
        **provenance(recipe),
        "data": {"train": len(train), **{part: len(pairs) for part, pairs in parts.items()}},
        "seeds": seeds,
        "summary": summarise(seeds),
    }
