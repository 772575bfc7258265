"""Scores of induced trees: F1 beside trivial trees, by decoding and by layer, and perplexity."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from treeformers.induction import average_trees, summarise_structure, trivial_tree
from treeformers.metrics import UnlabeledScore, binary_upper_bound, perplexity, unlabeled_f1
from treeformers.metrics.statistics import summarise
from treeformers.recipes import Decoding
from treeformers.trees.tree import Tree

TRIVIAL = ("random", "left", "balanced", "right")
SHORT = 10  # words of a sentence of WSJ-10
FROM = 3  # words of a sentence that can be wrong
LABELS = ("NP", "VP", "PP", "ADJP", "SBAR", "ADVP")  # the columns of Table 3


def score_trees(gold: Sequence[Tree], predicted: Sequence[Tree]) -> dict[str, Any]:
    """All unlabelled metrics of one set of trees, with the signature of the score."""
    score = unlabeled_f1(gold, predicted)
    return {
        "sentence_f1": score.sentence_f1,
        "corpus_f1": score.corpus_f1,
        **_f1_by_length(partial(unlabeled_f1, gold, predicted)),
        "recall_by_label": {
            label: score.recall_by_label[label] for label in LABELS if label in score.recall_by_label
        },
        "spans_per_sentence": score.spans_per_sentence,
        "flat_share": score.flat_share,
        "sentences": score.sentences,
        "signature": score.signature,
    }


def score_baselines(gold: Sequence[Tree], seeds: Iterable[int] = range(1, 6)) -> dict[str, Any]:
    """Figures of the trivial trees and of the best binary ones."""
    rows: dict[str, Any] = {}
    for kind in TRIVIAL:
        runs = [
            score_trees(gold, [trivial_tree(tree.words, kind, f"{seed} {n}") for n, tree in enumerate(gold)])  # type: ignore[arg-type]
            for seed in (seeds if kind == "random" else (1,))
        ]
        summary = summarise(runs)
        rows[kind] = runs[0] | {name: metrics["mean"] for name, metrics in summary.items()}
        rows[kind]["sentence_f1_max"] = summary["sentence_f1"]["max"]
    upper = binary_upper_bound(gold)
    rows["best binary"] = {
        "sentence_f1": upper.sentence_f1,
        "corpus_f1": upper.corpus_f1,
        **_f1_by_length(partial(binary_upper_bound, gold)),
    }
    return rows


def score_inducer(
    model: str | Path, gold: Sequence[Tree], held_out: Sequence[str], decoding: Decoding
) -> tuple[dict[str, Any], list[Tree], list[list[Tree]]]:
    """Figures of a trained model by one decoding and by the others, its trees, and those of its layers.

    Args:
        model: the model folder.
        gold: trees to score against; none for perplexity alone.
        held_out: sentences for the pseudo-perplexity.
        decoding: how trees are read.
    """
    from treeformers.tasks.induce.averaged import trees_of_layers
    from treeformers.tasks.induce.predictor import Inducer, read_trees

    inducer = Inducer.from_pretrained(model)
    metrics: dict[str, Any] = {
        "pseudo_perplexity": perplexity(list(inducer.masked_log_probabilities(held_out)))
        if held_out
        else None
    }
    if not inducer.model.config.has_prior or not gold:
        return metrics, [], []
    words = [tree.words for tree in gold]
    started = time.perf_counter()
    trees = inducer.parse(words, decoding=decoding)
    metrics |= score_trees(gold, trees)
    metrics["sentences_per_second"] = len(gold) / (time.perf_counter() - started)
    links = inducer.links(words)

    def f1(decoding: Decoding) -> float:
        return unlabeled_f1(gold, read_trees(links, words, decoding)).sentence_f1

    layers = range(len(links[0]))
    cky = Decoding(method="cky", layer=max(0, layers[-1] - 1), right_bias=decoding.right_bias)
    printed = Decoding(method="algorithm1", min_layer=min(2, layers[-1]))  # the paper's m and threshold
    by_layer = trees_of_layers(links, words, decoding)
    metrics["by_decoding"] = {
        "cky": f1(replace(cky, right_bias=0.0)),
        "cky, right bias 1": f1(replace(cky, right_bias=1.0)),
        "cky, layers averaged": unlabeled_f1(gold, average_forests(by_layer)).sentence_f1,
        "algorithm1": f1(printed),
        "algorithm1, released": f1(replace(printed, algorithm="released")),
    }
    metrics["algorithm1_flat_share"] = summarise_structure(read_trees(links, words, printed)).flat_share
    metrics["by_layer"] = [f1(Decoding(method="greedy", layer=layer)) for layer in layers]
    metrics["by_min_layer"] = [f1(replace(printed, min_layer=layer)) for layer in layers]
    metrics["mean_link_by_layer"] = [
        fmean(float(link[layer].mean()) for link in links if link.size) for layer in layers
    ]
    return metrics, trees, by_layer


def average_forests(forests: Sequence[Sequence[Tree]]) -> list[Tree]:
    return [average_trees(trees) for trees in zip(*forests, strict=True)]


def _f1_by_length(score: Callable[..., UnlabeledScore]) -> dict[str, float | None]:
    """The F1 of short sentences, and of those that are not right by definition; None if there are none."""
    limits = {
        f"sentence_f1_{SHORT}": {"max_length": SHORT},
        f"sentence_f1_from_{FROM}": {"min_length": FROM},
    }
    metrics: dict[str, float | None] = dict.fromkeys(limits)
    for name, limit in limits.items():
        with suppress(ValueError):  # the trees were scored before: only that nothing is left
            metrics[name] = score(**limit).sentence_f1
    return metrics
