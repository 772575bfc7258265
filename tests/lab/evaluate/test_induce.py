from __future__ import annotations

import pytest

from lab.evaluate.induce import _perplexity_lines
from treeformers.tasks.induce.score import score_baselines, score_trees
from treeformers.trees.tree import Tree

GOLD = [
    Tree.from_brackets("(S (NP (DT the) (JJ old) (NN dog)) (VP (VBZ sees) (NP (NNP Ann))))"),
    Tree.from_brackets("(S (NP (NNP Ann)) (VP (VBZ runs)))"),
]


def test_scores_of_trees() -> None:
    right = [
        Tree.from_brackets("(X (W the) (X (W old) (X (W dog) (X (W sees) (W Ann)))))"),
        Tree.from_brackets("(X (W Ann) (W runs))"),
    ]
    score = score_trees(GOLD, right)
    # Gold spans that count are 0-3 and 3-5, predicted ones 1-5, 2-5 and 3-5: one is right of 2 and of 3.
    assert score["sentence_f1_from_3"] == pytest.approx(40)
    assert score["sentence_f1"] == score["sentence_f1_10"] == pytest.approx((40 + 100) / 2)
    assert score["recall_by_label"] == {"NP": 0.0, "VP": 100.0}
    assert score["flat_share"] == 0 and score["spans_per_sentence"] == 1.5
    short = score_trees(GOLD[1:], right[1:])
    assert short["sentence_f1_from_3"] is None and short["sentence_f1"] == 100
    baselines = score_baselines(GOLD)
    assert baselines["right"]["sentence_f1"] == score["sentence_f1"]
    assert baselines["best binary"]["sentence_f1_from_3"] == pytest.approx(80)
    assert baselines["random"]["sentence_f1"] <= baselines["random"]["sentence_f1_max"]


def test_perplexity_is_limited_to_the_first_lines() -> None:
    assert _perplexity_lines(["a b"] * 600) == ["a b"] * 500
    assert [len(_perplexity_lines(["word " * size] * 4)) for size in (5000, 50_000)] == [2, 1]
    assert _perplexity_lines([]) == []
