"""Results of induced trees: F1 beside trivial trees, perplexity, other readouts, averages of the trees."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from statistics import fmean
from typing import Any

from treeformers.induction import average_trees, summarise_structure, trivial_tree
from treeformers.metrics import UnlabeledScore, binary_upper_bound, perplexity, unlabeled_f1
from treeformers.processes import start_processes
from treeformers.recipes import Data, InduceRecipe, Readout
from treeformers.reproduction.run import origin
from treeformers.statistics import summarise
from treeformers.trees.tree import Tree

TRIVIAL = ("random", "left", "balanced", "right")
SHORT = 10  # words of a sentence of WSJ-10
FROM = 3  # words of a sentence that can be wrong
LABELS = ("NP", "VP", "PP", "ADJP", "SBAR", "ADVP")  # the columns of Table 3
PERPLEXITY_SENTENCES = 500
PERPLEXITY_WORDS = 12_000  # for texts of long paragraphs: each word costs a run over its paragraph


def score_trees(gold: Sequence[Tree], predicted: Sequence[Tree]) -> dict[str, Any]:
    """All unlabelled figures of one set of trees, with the signature of the score."""
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
        rows[kind] = runs[0] | {name: figures["mean"] for name, figures in summary.items()}
        rows[kind]["sentence_f1_max"] = summary["sentence_f1"]["max"]
    upper = binary_upper_bound(gold)
    rows["best binary"] = {
        "sentence_f1": upper.sentence_f1,
        "corpus_f1": upper.corpus_f1,
        **_f1_by_length(partial(binary_upper_bound, gold)),
    }
    return rows


def score_inducer(
    model: str | Path, gold: Sequence[Tree], held_out: Sequence[str], readout: Readout
) -> tuple[dict[str, Any], list[Tree], list[list[Tree]]]:
    """Figures of a trained model by one readout and by the others, its trees, and those of its layers.

    Args:
        model: the model folder.
        gold: trees to score against; none for perplexity alone.
        held_out: sentences for the pseudo-perplexity.
        readout: how trees are read.
    """
    from treeformers.averaged_inducer import trees_of_layers
    from treeformers.inducer import Inducer, read_trees

    inducer = Inducer.from_pretrained(model)
    figures: dict[str, Any] = {
        "pseudo_perplexity": perplexity(list(inducer.masked_log_probabilities(held_out)))
        if held_out
        else None
    }
    if inducer.model.config.prior == "none" or not gold:
        return figures, [], []
    words = [tree.words for tree in gold]
    started = time.perf_counter()
    trees = inducer.parse(words, readout=readout)
    figures |= score_trees(gold, trees)
    figures["sentences_per_second"] = len(gold) / (time.perf_counter() - started)
    links = inducer.links(words)

    def f1(readout: Readout) -> float:
        return unlabeled_f1(gold, read_trees(links, words, readout)).sentence_f1

    layers = range(len(links[0]))
    blocks = Readout(method="blocks", layer=max(0, layers[-1] - 1), right_bias=readout.right_bias)
    printed = Readout(method="layers", min_layer=min(2, layers[-1]))  # the paper's m and threshold
    by_layer = trees_of_layers(links, words, readout)
    figures["by_readout"] = {
        "blocks": f1(replace(blocks, right_bias=0.0)),
        "blocks, right bias 1": f1(replace(blocks, right_bias=1.0)),
        "blocks, layers averaged": unlabeled_f1(gold, _average(by_layer)).sentence_f1,
        "layers": f1(printed),
        "layers, released": f1(replace(printed, algorithm="released")),
    }
    figures["algorithm1_flat_share"] = summarise_structure(read_trees(links, words, printed)).flat_share
    figures["by_layer"] = [f1(Readout(method="layer", layer=layer)) for layer in layers]
    figures["by_min_layer"] = [f1(replace(printed, min_layer=layer)) for layer in layers]
    figures["mean_link_by_layer"] = [
        fmean(float(link[layer].mean()) for link in links if link.size) for layer in layers
    ]
    return figures, trees, by_layer


def read_tests(data: Data) -> tuple[list[Tree], list[str]]:
    """The gold trees and the sentences that a recipe's models are scored on.

    Raises:
        ValueError: the corpus of the text has no test part.
    """
    from treeformers.training import read_gold, read_text

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
    score = partial(_timed, gold=gold, held_out=_few(held_out), readout=recipe.readout)
    processes = min(processes, len(models))
    with start_processes(processes) if processes > 1 else nullcontext() as pool:
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
        result["averaged"] = score_trees(gold, _average(forests))
        result["averaged_layers"] = score_trees(gold, _average(layers))
    if baselines:
        result["baselines"] = baselines
    return result


def _timed(model: Path, **given: Any) -> tuple[dict[str, Any], list[Tree], list[list[Tree]]]:
    started = time.process_time()
    figures, trees, by_layer = score_inducer(model, **given)
    return {**figures, "scoring_seconds": time.process_time() - started}, trees, by_layer


def _average(forests: Sequence[Sequence[Tree]]) -> list[Tree]:
    return [average_trees(trees) for trees in zip(*forests, strict=True)]


def _few(lines: Sequence[str]) -> list[str]:
    """The first lines, as many as perplexity is measured on."""
    few = list(lines[:PERPLEXITY_SENTENCES])
    totals = accumulate(len(line.split()) for line in few)
    return few[: max(1, sum(total <= PERPLEXITY_WORDS for total in totals))]


def _f1_by_length(score: Callable[..., UnlabeledScore]) -> dict[str, float | None]:
    """The F1 of short sentences, and of those that are not right by definition; None if there are none."""
    limits = {
        f"sentence_f1_{SHORT}": {"max_length": SHORT},
        f"sentence_f1_from_{FROM}": {"min_length": FROM},
    }
    figures: dict[str, float | None] = dict.fromkeys(limits)
    for name, limit in limits.items():
        with suppress(ValueError):  # the trees were scored before: only that nothing is left
            figures[name] = score(**limit).sentence_f1
    return figures
