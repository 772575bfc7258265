from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tree_strategies import all_trees, trees
from treeformers.induction import trivial_tree
from treeformers.probing import Question, Target, find_constituents, span_chance
from treeformers.probing.constituents import inner_spans, look_for
from treeformers.trees.tree import Tree

Shape = frozenset[tuple[int, int]]


@cache
def binary_shapes(start: int, end: int) -> tuple[tuple[Shape, Fraction], ...]:
    """Every binary tree over a span, as its spans, with its probability where splits are uniform."""
    if end - start == 1:
        return ((frozenset(), Fraction(1)),)
    return tuple(
        (left | right | {(start, end)}, p * q / (end - start - 1))
        for middle in range(start + 1, end)
        for left, p in binary_shapes(start, middle)
        for right, q in binary_shapes(middle, end)
    )


@pytest.mark.parametrize("n_words", [1, 2, 5, 7])
def test_chance_is_that_of_all_binary_trees(n_words: int) -> None:
    shapes = binary_shapes(0, n_words)
    assert len(shapes) == comb(2 * n_words - 2, n_words - 1) // n_words  # Catalan
    assert sum(probability for _, probability in shapes) == 1
    for start, end in combinations(range(n_words + 1), 2):
        expected = sum(probability for spans, probability in shapes if (start, end) in spans)
        if end - start == 1:
            expected = Fraction(1)
        assert span_chance(start, end, n_words) == pytest.approx(float(expected))


def test_chance_of_the_random_trees_themselves() -> None:
    words = ["a", "b", "c", "d", "e", "f"]
    drawn = [inner_spans(trivial_tree(words, "random", seed=seed)) for seed in range(4000)]
    for span in ((0, 2), (1, 3), (2, 5), (3, 6)):
        fraction = sum(span in spans for spans in drawn) / len(drawn)
        assert fraction == pytest.approx(span_chance(*span, 6), abs=0.03)


@pytest.mark.parametrize("span", [(1, 1), (-1, 2), (0, 4)])
def test_spans_outside_the_sentence(span: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="is not within a sentence of 3 words"):
        span_chance(*span, 3)


def test_two_first_words_are_the_null_hypothesis_of_the_paper() -> None:
    assert {span_chance(0, 2, n) for n in range(3, 9)} == {0.5}
    assert {span_chance(1, 3, n) for n in range(4, 9)} == {1 / 3}


@given(trees())
def test_found_crossed_or_flat(tree: Tree) -> None:
    n_words, spans = len(tree), inner_spans(tree)
    for start, end in combinations(range(n_words + 1), 2):
        if not 1 < end - start < n_words:
            continue
        trial = look_for(spans, start, end, n_words)
        assert trial.found == ((start, end) in {span[:2] for span in tree.spans()})
        try:  # it fits into the tree unless a constituent crosses it
            Tree.from_spans(tree.words, [*tree.spans(), (start, end)])
            assert not trial.crossed
        except ValueError:
            assert trial.crossed and not trial.found
        assert 0 <= trial.chance <= span_chance(start, end, n_words)


def test_in_a_binary_tree_what_is_not_found_is_crossed() -> None:
    for spans, _ in binary_shapes(0, 6):
        inner = spans - {(0, 6)}
        for start, end in combinations(range(7), 2):
            if 1 < end - start < 6:
                trial = look_for(inner, start, end, 6)
                assert trial.found != trial.crossed
                assert trial.chance == pytest.approx(span_chance(start, end, 6))


@pytest.mark.parametrize("n_words", [3, 4])
def test_equal_arity_is_the_mean_over_thinned_binary_trees(n_words: int) -> None:
    for tree in all_trees(n_words):
        spans = inner_spans(tree)
        thinned: dict[tuple[int, int], Fraction] = {}
        for shape, probability in binary_shapes(0, n_words):
            inner = shape - {(0, n_words)}
            kept = list(combinations(sorted(inner), len(spans)))
            for choice in kept:
                for span in choice:
                    thinned[span] = thinned.get(span, Fraction(0)) + probability / len(kept)
        for start, end in combinations(range(n_words + 1), 2):
            if 1 < end - start < n_words:
                expected = float(thinned.get((start, end), 0))
                assert look_for(spans, start, end, n_words).chance == pytest.approx(expected)


def test_findings_are_counts() -> None:
    gold = Tree.from_brackets("(S (NP (D the) (N dog)) (VP (V bites) (NP (D the) (N cat))))")
    question = Question(
        gold,
        (Target("d", "all", "[Det N]", 0, 2), Target("d", "object", "[Det N]", 3, 5)),
        gold,
    )
    flat = Tree.from_spans(gold.words, [(0, 5)])
    right, left = trivial_tree(gold.words, "right"), trivial_tree(gold.words, "left")
    found = find_constituents([question] * 4, [gold, flat, right, left])
    assert [(one.case, one.trials, one.found, one.crossed) for one in found] == [
        ("object", 4, 2, 1),
        ("all", 4, 2, 1),
    ]
    (thing, subject) = found
    assert (thing.percent, thing.right, thing.left) == (50.0, 75.0, 0.0)
    assert (subject.right, subject.left, subject.balanced) == (0.0, 75.0, 75.0)
    assert thing.chance == subject.chance == pytest.approx(37.5)  # three binary trees and a flat one
    assert thing.low < 50 < thing.high
    # Three trials at 1/2 and one at 0: two successes are as probable as one.
    assert thing.p_value == pytest.approx(1.0)


@given(st.integers(3, 9), st.sampled_from(["right", "left", "balanced"]))
def test_a_shape_reads_as_its_own_baseline(n_words: int, kind: str) -> None:
    tree = trivial_tree(["w"] * n_words, kind)  # type: ignore[arg-type]
    asked = tuple(
        Target("p", "c", "t", start, end)
        for start, end in combinations(range(n_words + 1), 2)
        if 1 < end - start < n_words
    )
    (finding,) = find_constituents([Question(tree, asked, tree)], [tree])
    assert finding.percent == pytest.approx(getattr(finding, kind))
