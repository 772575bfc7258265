"""Accuracy of classes and of their groups, by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from treeformers.tasks.classify.examples import Example
from treeformers.tasks.classify.score import score
from treeformers.trees.tree import Tree


def examples(labels: Sequence[str]) -> list[Example]:
    return [Example((Tree("X", word="w"),), label) for label in labels]


class TestScore:
    FOUND = torch.tensor(
        [
            [0.4, 0.0, 0.35, 0.25],  # "0" alone, but "3" and "4" together
            [0.3, 0.6, 0.1, 0.0],
            [0.2, 0.5, 0.2, 0.1],
            [0.1, 0.0, 0.2, 0.7],
        ]
    )
    CLASSES = ("0", "2", "3", "4")
    GROUPS = {"0": "negative", "1": "negative", "3": "positive", "4": "positive"}  # noqa: RUF012

    def test_accuracy_by_hand(self) -> None:
        gold = examples(["0", "2", "0", "4"])
        assert score(self.FOUND, gold, self.CLASSES, {}) == {"accuracy": 75.0}

    def test_accuracy_of_groups_by_hand(self) -> None:
        """Neutral sentences are left out, and the probability of a group is the sum over its classes."""
        gold = examples(["3", "2", "0", "3"])
        found = score(self.FOUND, gold, self.CLASSES, self.GROUPS)
        # Positive, left out, positive (0.3 to 0.2), positive.
        assert found == {"accuracy": 25.0, "coarse_accuracy": pytest.approx(200 / 3)}
        gold = examples(["0", "2", "0", "0"])
        assert score(self.FOUND, gold, self.CLASSES, self.GROUPS)["coarse_accuracy"] == pytest.approx(0)

    def test_classes_that_training_lacks(self) -> None:
        """They count as errors, but their group may still be right."""
        gold = examples(["1", "1", "9", "1"])
        found = score(self.FOUND.flip(1), gold, self.CLASSES, self.GROUPS)
        assert found == {"accuracy": 0.0, "coarse_accuracy": pytest.approx(100 / 3)}

    def test_no_groups(self) -> None:
        gold = examples(["2", "2", "2", "2"])
        assert score(self.FOUND, gold, self.CLASSES, self.GROUPS) == {"accuracy": 50.0}
        found = score(self.FOUND, examples("0234"), self.CLASSES, {"7": "negative"})
        assert found.keys() == {"accuracy"}
