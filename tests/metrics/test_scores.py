"""Perplexity, and scores of classes, numbers and translations."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treeformers.metrics import (
    accuracy,
    bleu,
    mean_squared_error,
    pearson,
    perplexity,
    precision_recall,
    spearman,
)


def test_perplexity() -> None:
    assert perplexity([math.log(0.25)] * 3) == pytest.approx(4)
    assert perplexity(math.log(p) for p in (0.5, 0.125)) == pytest.approx(4)
    assert perplexity([-math.inf, -1.0]) == math.inf
    assert perplexity([-1e5]) == math.inf
    with pytest.raises(ValueError, match="at least one"):
        perplexity([])


class TestExamples:
    SCORES = ((1.0, 2.0, 3.0, 4.0), (2.0, 2.0, 5.0, 3.0))

    def test_accuracy(self) -> None:
        assert accuracy(["a", "b", "a", "c"], ["a", "b", "c", "a"]) == 50
        assert accuracy(["a"], ["a"]) == 100 and accuracy(["a"], ["b"]) == 0

    def test_precision_recall_by_hand(self) -> None:
        score = precision_recall(["a", "a", "a", "b"], ["a", "a", "b", "b"])
        # Precisions 2/2 and 1/2, recalls 2/3 and 1/1.
        assert score.precision == pytest.approx(75) and score.recall == pytest.approx(100 * 5 / 6)
        assert score.f1 == pytest.approx(2 * 75 * (100 * 5 / 6) / (75 + 100 * 5 / 6))
        never = precision_recall(["a", "b"], ["a", "a"])
        assert (never.precision, never.recall) == (25, 50)
        assert precision_recall(["a", "b"], ["b", "a"]).f1 == 0

    def test_pearson_by_hand(self) -> None:
        # Deviations (-1.5, -0.5, 0.5, 1.5) and (-1, -1, 2, 0): 3 / sqrt(5 * 6).
        assert pearson(*self.SCORES) == pytest.approx(3 / math.sqrt(30))
        assert pearson((1, 2, 3), (5, 7, 9)) == pytest.approx(1)
        assert pearson((1, 2, 3), (3, 2, 1)) == pytest.approx(-1)

    def test_spearman_by_hand(self) -> None:
        # Ranks (1, 2, 3, 4) and (1.5, 1.5, 4, 3): deviations (-1, -1, 1.5, 0.5), 3.5 / sqrt(5 * 4.5).
        assert spearman(*self.SCORES) == pytest.approx(3.5 / math.sqrt(5 * 4.5))
        assert spearman((1, 2, 3), (1, 100, 10000)) == pytest.approx(1)

    def test_mean_squared_error_by_hand(self) -> None:
        assert mean_squared_error(*self.SCORES) == pytest.approx((1 + 0 + 4 + 1) / 4)

    @settings(max_examples=50, deadline=None)
    @given(
        pairs=st.lists(st.tuples(st.integers(10, 50), st.integers(10, 50)), min_size=2, max_size=20),
        scale=st.sampled_from([0.1, 3.0]),
    )
    def test_correlations(self, pairs: list[tuple[int, int]], scale: float) -> None:
        gold, predicted = zip(*pairs, strict=True)
        for correlation in (pearson, spearman):
            found = correlation(gold, predicted)
            if len(set(gold)) == 1 or len(set(predicted)) == 1:
                assert math.isnan(found)
                continue
            assert -1 - 1e-9 <= found <= 1 + 1e-9
            assert correlation(predicted, gold) == pytest.approx(found)
            assert correlation(gold[::-1], predicted[::-1]) == pytest.approx(found)
            assert correlation([scale * one + 7 for one in gold], predicted) == pytest.approx(found)
        assert mean_squared_error(gold, predicted) == mean_squared_error(predicted, gold) >= 0
        assert (mean_squared_error(gold, predicted) == 0) == (gold == predicted)

    def test_one_example_has_no_correlation(self) -> None:
        assert math.isnan(pearson([2], [3])) and math.isnan(spearman([2], [3]))

    def test_bleu(self) -> None:
        gold = ["the owl hoots at night", "mice hide"]
        assert bleu(gold, gold).bleu == pytest.approx(100)
        assert bleu(gold, ["no such thing", "at all"]).bleu == 0
        score = bleu(["the owl hoots at night ."], ["the owl hoots at noon ."])
        # Precisions 5/6, 3/5, 2/4 and 1/3; of the same length.
        assert score.bleu == pytest.approx(100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25)
        assert score.signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
        # One word less costs the brevity penalty; words are cut off their punctuation.
        shorter = bleu(["the owl hoots at night"], ["the owl hoots at"])
        assert shorter.bleu == pytest.approx(100 * math.exp(1 - 5 / 4))
        assert bleu(["the owl hoots at night."], ["the owl hoots at night ."]).bleu == pytest.approx(100)

    @pytest.mark.parametrize("metric", [accuracy, pearson, spearman, mean_squared_error, bleu])
    def test_as_many_predictions_as_examples(self, metric: Any) -> None:
        a, b = ("a", "b") if metric in (accuracy, bleu) else (1.0, 2.0)
        for gold, predicted in (([], []), ([a], []), ([], [a]), ([a, b], [a]), ([a], [a, b])):
            message = f"{len(predicted)} predictions for {len(gold)} examples, expected one for each"
            with pytest.raises(ValueError, match=message):
                metric(gold, predicted)
