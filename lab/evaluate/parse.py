"""Results of parsers: labelled F1 of every seed and of all together, by treebank and by sentence length."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeAlias

from lab.provenance import provenance
from treeformers.metrics import ParsevalScore, SentenceScore, parseval
from treeformers.metrics.statistics import summarise
from treeformers.recipes import ParseRecipe, Treebanks
from treeformers.tasks.parse.attention_analysis import compare_words, one_word_attention
from treeformers.training.workers import start_workers
from treeformers.trees.tree import Tree

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from treeformers.tasks.parse.predictor import Parser

Parts = Mapping[str, Sequence[Tree]]
"""The trees to score against: validation and test part of a treebank."""

_Scored: TypeAlias = tuple[dict[str, Any], ParsevalScore, ParsevalScore]
"""Figures of one treebank, and the scores of its validation and test part."""

LENGTHS = {"1-10": (1, 10), "11-20": (11, 20), "21-30": (21, 30), "31-40": (31, 40), "41-": (41, 1 << 30)}
"""Words of a sentence, punctuation counted."""
RESAMPLES = 1000
SEED = 1  # of the resampling


def evaluate(
    recipe: ParseRecipe, models: Sequence[Path], fits: Sequence[Mapping[str, Any]], processes: int = 1
) -> dict[str, Any]:
    """Score trained parsers of one recipe: each alone, and all of them as one ensemble.

    `scoring_seconds` is the processor time that scoring a model took.

    Args:
        recipe: of the models.
        models: their folders.
        fits: how each was trained.
        processes: processes that score at the same time, each a model on a treebank.

    Returns:
        What is written to the results file. A seed has the figures of `score_parser`, and those of
        `one_word_attention` and `compare_words` where it has them; "ensemble" those of `score_parser`.
    """
    from treeformers.tasks.parse.predictor import Parser
    from treeformers.tasks.parse.train import treebank_reader

    read = treebank_reader(recipe.data)
    train = {name: read(name, "train") for name in recipe.data.train}
    gold = _read_gold(recipe.data, read)
    parsers = [*((folder,) for folder in models), *([tuple(models)] if len(models) > 1 else [])]
    scored = _score_all(parsers, gold, recipe.beam.size, processes)
    seeds = [dict(fit) for fit in fits]
    for seed, folder, (figures, seconds) in zip(seeds, models, scored, strict=False):
        parser = Parser.from_pretrained(folder)
        validation = [tree for parts in gold.values() for tree in parts["validation"]]
        seed |= figures
        seed |= one_word_attention(parser, validation, recipe.beam.size) or {}
        seed |= compare_words(parser, [tree for trees in train.values() for tree in trees]) or {}
        seed["scoring_seconds"] = seconds
    result: dict[str, Any] = {
        **provenance(recipe),
        "data": _describe(train, gold, recipe.data.max_length),
        "seeds": seeds,
        "summary": summarise(seeds),
    }
    if len(models) > 1:
        figures, seconds = scored[-1]
        result["ensemble"] = {"models": len(models), **figures, "scoring_seconds": seconds}
    return result


def read_gold(data: Treebanks) -> dict[str, Parts]:
    """The validation and the test part of every treebank that is scored against.

    Raises:
        FileNotFoundError: a treebank that is not there.
        ValueError: a treebank without one of these parts.
    """
    from treeformers.tasks.parse.train import treebank_reader

    return _read_gold(data, treebank_reader(data))


def _read_gold(data: Treebanks, read: Callable[[str, str], list[Tree]]) -> dict[str, Parts]:
    return {
        name: {part: read(name, part) for part in ("validation", "test")} for name in data.test or data.train
    }


def score_parser(parser: Parser, gold: Mapping[str, Parts], beam: int) -> dict[str, Any]:
    """All figures of one parser, in per cent; of several treebanks the means.

    The words of the trees are parsed and the gold tags copied into the output, since evalb deletes
    punctuation by its tags. A sentence without a parse keeps its gold brackets.

    Args:
        parser: one model or an ensemble.
        gold: by treebank, the trees of the validation and of the test part.
        beam: hypotheses kept.

    Returns:
        `f1_validation`, `f1_test`, `recall_test`, `precision_test`, `exact_test`; `f1_both` of both parts as
        one; `f1_test_low` and `f1_test_high`, see `bootstrap_interval`; `greedy_f1_test`;
        `sentences_per_second` over the test part; of a model that predicts tags and reads none
        `predicted_tags_accuracy_test`, punctuation included; top-down `malformed`, the share of the sentences
        of the test part that the model does not bracket well when left alone, and `repaired_f1_test` of these
        trees repaired; `f1_by_length` over both parts; the `signature` of the score; and, `by_treebank`, the
        same of each treebank.
    """
    return _over_treebanks({name: _score_treebank(parser, parts, beam) for name, parts in gold.items()})


def _score_all(
    parsers: Sequence[tuple[Path, ...]], gold: Mapping[str, Parts], beam: int, processes: int
) -> list[tuple[dict[str, Any], float]]:
    """Figures and seconds of the processor of each parser, whose models are in these folders."""
    score = partial(_score_folders, beam=beam)
    models = [folders for folders in parsers for _ in gold]
    processes = min(processes, len(models))
    with start_workers(processes) if processes > 1 else nullcontext() as pool:
        found = iter(list((pool.map if pool else map)(score, models, [*gold.values()] * len(parsers))))
    scored = []
    for _ in parsers:
        treebanks, seconds = zip(*(next(found) for _ in gold), strict=True)
        scored.append((_over_treebanks(dict(zip(gold, treebanks, strict=True))), sum(seconds)))
    return scored


def _score_folders(folders: Sequence[Path], parts: Parts, beam: int) -> tuple[_Scored, float]:
    from treeformers.tasks.parse.predictor import Parser

    started = time.process_time()
    scored = _score_treebank(Parser.from_pretrained(*folders), parts, beam)
    return scored, time.process_time() - started


def _over_treebanks(treebanks: Mapping[str, _Scored]) -> dict[str, Any]:
    tables = [figures for figures, _, _ in treebanks.values()]
    numbers = [name for name, value in tables[0].items() if isinstance(value, float)]
    low, high = bootstrap_interval([test.by_sentence for _, _, test in treebanks.values()])
    lines = [line for _, *scores in treebanks.values() for score in scores for line in score.by_sentence]
    return {
        **{name: fmean(figures[name] for figures in tables) for name in numbers},
        "f1_test_low": low,
        "f1_test_high": high,
        "f1_by_length": _f1_by_length(lines),
        "signature": tables[0]["signature"],
        "by_treebank": {name: figures for name, (figures, _, _) in treebanks.items()},
    }


def bootstrap_interval(treebanks: Sequence[Sequence[SentenceScore]]) -> tuple[float, float]:
    """The 95 % interval of the F1 when the sentences are drawn anew, with replacement, 1,000 times.

    Args:
        treebanks: the counts of the sentences of each; every one is drawn from by itself, and the F1 is the
            mean over them.
    """
    from treeformers.metrics.statistics import bootstrap_interval as interval

    counts = [[(line.matched, line.gold + line.predicted) for line in lines] for lines in treebanks]
    return interval(counts, _f1_of_counts, resamples=RESAMPLES, seed=SEED)


def _f1_of_counts(counts: NDArray[np.float64]) -> float:
    """F1 of rows of matched brackets and of all brackets, gold and predicted ones."""
    matched, brackets = counts.sum(0)
    return float(200 * matched / max(1, brackets))


def _score_treebank(parser: Parser, parts: Parts, beam: int) -> _Scored:
    validation, _ = _score(parser, parts["validation"], beam)
    test, seconds = _score(parser, parts["test"], beam)
    low, high = bootstrap_interval([test.by_sentence])
    both = (*validation.by_sentence, *test.by_sentence)
    figures: dict[str, Any] = {
        "f1_validation": validation.f1,
        "f1_test": test.f1,
        "f1_test_low": low,
        "f1_test_high": high,
        "recall_test": test.recall,
        "precision_test": test.precision,
        "exact_test": test.exact_match,
        "f1_both": _f1(both),
        "sentences_per_second": len(parts["test"]) / seconds,
        **_greedy_figures(parser, parts["test"]),
        **_left_alone(parser, parts["test"], beam),
        "f1_by_length": _f1_by_length(both),
        "signature": test.signature,
    }
    return figures, validation, test


def _score(
    parser: Parser, gold: Sequence[Tree], beam: int, constrained: bool = True
) -> tuple[ParsevalScore, float]:
    """The score, and the seconds that the parser took."""
    words, tags = [tree.words for tree in gold], [tree.tags for tree in gold]
    started = time.perf_counter()
    trees = parser.parse(words, beam=beam, tags=tags, constrained=constrained)
    seconds = time.perf_counter() - started
    return parseval(gold, trees, missing="zero"), seconds


def _greedy_figures(parser: Parser, gold: Sequence[Tree]) -> dict[str, float]:
    """The F1 without a beam, and of a model that predicts tags and reads none how many are right."""
    words, tags = [tree.words for tree in gold], [tree.tags for tree in gold]
    configs = [model.config for model in parser.models]
    predicts = any(config.tags for config in configs) and not any(config.tag_size for config in configs)
    trees = parser.parse(words, beam=1, tags=None if predicts else tags)
    figures: dict[str, float] = {}
    if predicts:
        pairs = [
            pair for row, tree in zip(tags, trees, strict=True) for pair in zip(row, tree.tags, strict=True)
        ]
        figures["predicted_tags_accuracy_test"] = 100 * fmean(tag == guess for tag, guess in pairs)
        trees = [_with_tags(tree, row) for tree, row in zip(trees, tags, strict=True)]
    return {"greedy_f1_test": parseval(gold, trees, missing="zero").f1, **figures}


def _with_tags(tree: Tree, tags: Sequence[str]) -> Tree:
    left = list(tags)  # a fold meets the last word first

    def build(node: Tree, children: list[Tree]) -> Tree:
        return Tree(node.label, tuple(children)) if children else Tree(left.pop(), word=node.word)

    return tree.fold(build)


def _left_alone(parser: Parser, gold: Sequence[Tree], beam: int) -> dict[str, float]:
    """Of the brackets that a top-down model writes without constraints."""
    if parser.models[0].config.linearization != "top-down":
        return {}
    words, tags = [tree.words for tree in gold], [tree.tags for tree in gold]
    return {
        "malformed": parser.malformed(words, beam=beam, tags=tags),
        "repaired_f1_test": _score(parser, gold, beam, constrained=False)[0].f1,
    }


def _f1(lines: Iterable[SentenceScore]) -> float:
    counts = [(line.matched, line.gold + line.predicted) for line in lines]
    matched, brackets = map(sum, zip(*counts, strict=True))
    return 200 * matched / brackets if brackets else 0.0


def _f1_by_length(lines: Sequence[SentenceScore]) -> dict[str, float]:
    """The F1 of the sentences of so many words; lengths that no sentence has are left out."""
    figures = {}
    for name, (shortest, longest) in LENGTHS.items():
        if within := [line for line in lines if shortest <= line.length <= longest]:
            figures[name] = _f1(within)
    return figures


def _describe(
    train: Mapping[str, Sequence[Tree]], gold: Mapping[str, Parts], max_length: int
) -> dict[str, Any]:
    """Numbers of trees by part and treebank, and of those scored by length."""
    lengths = [len(tree) for parts in gold.values() for trees in parts.values() for tree in trees]
    within = {
        name: [length for length in lengths if shortest <= length <= longest]
        for name, (shortest, longest) in LENGTHS.items()
    }
    longer = [tree for trees in train.values() for tree in trees if 0 < max_length < len(tree)]
    return {
        "train": {name: len(trees) for name, trees in train.items()},
        "left_out": len(longer),
        "validation": {name: len(parts["validation"]) for name, parts in gold.items()},
        "test": {name: len(parts["test"]) for name, parts in gold.items()},
        "lengths": {
            name: {"sentences": len(found), "mean": fmean(found)} for name, found in within.items() if found
        },
    }
