"""Are these words a constituent? Counts, and what trees that do not look at the words would give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
from typing import NamedTuple

from treeformers.induction import trivial_tree
from treeformers.metrics.statistics import binomial_interval, binomial_test
from treeformers.probing.constructions import Question
from treeformers.trees.tree import Tree

__all__ = ["Finding", "find_constituents", "inner_spans", "span_chance", "summarise_trials"]

Spans = frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Finding:
    """How often words form a constituent; shares in per cent.

    Attributes:
        probe: such as "determiners".
        case: the kind of sentence, or the label.
        target: the words asked for, such as "[Det N]".
        trials: how often it was asked.
        found: how often the words are a constituent.
        crossed: how often a constituent of the tree holds only some of them and others beside; in what is
            left, the words stand flat beside others.
        share: found, of the trials.
        low: lower end of the 95 % interval of the share (Clopper and Pearson).
        high: its upper end.
        chance: what random trees of the same arity give on average, see `span_chance`.
        right: what right-branching trees of the same arity give.
        left: left-branching ones.
        balanced: balanced ones.
        p_value: of as many found if the trees were random (exact, two-sided, every trial with its own
            chance). Trials in one sentence count as independent, which they are not quite.
    """

    probe: str
    case: str
    target: str
    trials: int
    found: int
    crossed: int
    share: float
    low: float
    high: float
    chance: float
    right: float
    left: float
    balanced: float
    p_value: float


class Trial(NamedTuple):
    """One span looked for in one tree.

    Attributes:
        found: the tree has it.
        crossed: the tree has one that crosses it.
        chance: probability that a random tree of the same arity has it.
        right: of a right-branching one.
        left: of a left-branching one.
        balanced: of a balanced one.
    """

    found: bool
    crossed: bool
    chance: float
    right: float
    left: float
    balanced: float


def span_chance(start: int, end: int, n_words: int) -> float:
    """The probability that a random binary tree has the constituent of the words `start` to `end - 1`.

    The random tree is that of `treeformers.induction.trivial_tree`: every split is drawn uniformly, from the
    root down. That is a random order of the gaps between words in which the sentence is cut, and the words
    are a constituent if the gaps at their borders are cut before all m gaps inside: with two borders within
    the sentence at 2 / ((m + 1)(m + 2)), with one at 1 / (m + 1). So two words at the beginning are a
    constituent in every second tree, as Ginn (2024, Section 4.3) assumes for [Det N]; two words inside only
    in every third. (Were all binary trees equally probable, this would depend on the length of the sentence.)

    Raises:
        ValueError: no span of a sentence.
    """
    if not 0 <= start < end <= n_words:
        raise ValueError(f"span ({start}, {end}) is not within a sentence of {n_words} words")
    inside = end - start - 1
    borders = (start > 0) + (end < n_words)
    if borders == 2:
        return 2 / ((inside + 1) * (inside + 2))
    return 1 / (inside + 1) if borders else 1.0


def inner_spans(tree: Tree) -> Spans:
    """The constituents of a tree without labels, without the whole and those of one word."""
    spans = [(start, end) for start, end, _ in tree.spans()]
    n_words = spans[0][1] if spans else 1
    return frozenset((start, end) for start, end in spans if 1 < end - start < n_words)


def look_for(spans: Spans, start: int, end: int, n_words: int) -> Trial:
    """Look for one span in a tree.

    Trees of the same arity: a binary tree over T words has T - 2 inner constituents. Where the tree at hand
    has only k of them, what it is compared with is a binary tree of which k are kept, drawn at random, so
    that each chance is that of the binary tree times k / (T - 2).

    Args:
        spans: `inner_spans` of the tree.
        start: first word.
        end: after the last one; at least two words, not all.
        n_words: T.
    """
    found = (start, end) in spans
    crossed = not found and any(a < start < b < end or start < a < end < b for a, b in spans)
    arity = len(spans) / (n_words - 2)
    shapes = (arity * ((start, end) in _shape(kind, n_words)) for kind in ("right", "left", "balanced"))
    return Trial(found, crossed, arity * span_chance(start, end, n_words), *shapes)


def find_constituents(questions: Sequence[Question], trees: Sequence[Tree]) -> list[Finding]:
    """Look for the targets of the questions in trees over their sentences.

    Args:
        questions: sentences with what to look for.
        trees: one for each.

    Returns:
        One finding for each probe, case and name, in the order in which they are first asked for, the case
        "all" last.
    """
    trials: dict[tuple[str, str, str], list[Trial]] = {}
    for question, tree in zip(questions, trees, strict=True):
        spans, n_words = inner_spans(tree), len(question.tree)
        for probe, case, name, start, end in question.targets:
            trials.setdefault((probe, case, name), []).append(look_for(spans, start, end, n_words))
    probes = list(dict.fromkeys(probe for probe, _, _ in trials))
    ordered = sorted(trials, key=lambda key: (probes.index(key[0]), key[1] == "all"))
    return [summarise_trials(*key, trials[key]) for key in ordered]


def summarise_trials(probe: str, case: str, target: str, trials: Sequence[Trial]) -> Finding:
    """The finding of some trials, of which there is at least one."""
    found = sum(trial.found for trial in trials)
    low, high = binomial_interval(found, len(trials))
    return Finding(
        probe,
        case,
        target,
        trials=len(trials),
        found=found,
        crossed=sum(trial.crossed for trial in trials),
        share=100 * found / len(trials),
        low=100 * low,
        high=100 * high,
        chance=100 * fmean(trial.chance for trial in trials),
        right=100 * fmean(trial.right for trial in trials),
        left=100 * fmean(trial.left for trial in trials),
        balanced=100 * fmean(trial.balanced for trial in trials),
        p_value=binomial_test(found, [trial.chance for trial in trials]),
    )


@lru_cache(maxsize=1024)
def _shape(kind: str, n_words: int) -> Spans:
    return inner_spans(trivial_tree(["w"] * n_words, kind))  # type: ignore[arg-type]
