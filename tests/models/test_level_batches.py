"""Mean word states over the spans of nodes."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tree_strategies import trees
from treeformers.models.level_batches import span_means
from treeformers.trees.batch import batch_trees
from treeformers.trees.tree import Tree

torch.set_num_threads(1)


def test_span_means_by_hand() -> None:
    states = torch.tensor([[[1.0, 0.0], [3.0, 6.0], [5.0, 3.0]], [[2.0, 2.0], [0.0, 0.0], [0.0, 0.0]]])
    spans = torch.tensor([[[0, 3], [1, 3], [1, 2]], [[0, 1], [0, 0], [0, 0]]])
    expected = [[[3.0, 3.0], [4.0, 4.5], [3.0, 6.0]], [[2.0, 2.0], [0.0, 0.0], [0.0, 0.0]]]
    assert span_means(states, spans).tolist() == expected


@settings(max_examples=50, deadline=None)
@given(given=st.lists(trees(), min_size=1, max_size=5), seed=st.integers(0, 99))
def test_span_means_of_any_trees(given: list[Tree], seed: int) -> None:
    """Each node gets the mean of its words. The batch does not matter. Padding gets 0."""
    spans = batch_trees(given)["spans"]
    states = torch.randn(len(given), max(map(len, given)), 3, generator=torch.Generator().manual_seed(seed))
    means = span_means(states, spans)
    assert means.shape == (len(given), spans.shape[1], 3) and means.dtype == states.dtype
    for row, tree in enumerate(given):
        nodes = tree.spans()
        for node, (start, end, _) in enumerate(nodes):
            torch.testing.assert_close(means[row, node], states[row, start:end].mean(0), rtol=1e-6, atol=1e-6)
        assert not means[row, len(nodes) :].any()
        alone = span_means(states[row, None, : len(tree)], batch_trees([tree])["spans"])
        assert torch.equal(alone[0], means[row, : len(nodes)])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_span_means_are_exact_at_the_end_of_long_texts(dtype: torch.dtype) -> None:
    states = (3 + torch.randn(1, 4000, 4, generator=torch.Generator().manual_seed(1))).to(dtype)
    starts = torch.arange(4000)
    means = span_means(states, torch.stack((starts, starts + 1), -1)[None])
    assert means.dtype == dtype
    torch.testing.assert_close(means, states, rtol=1e-6, atol=1e-6)


def test_span_means_gradients() -> None:
    states = torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True)
    spans = torch.tensor([[[0, 5], [1, 3]], [[0, 2], [0, 0]]])
    assert torch.autograd.gradcheck(lambda given: span_means(given, spans), (states,))
    span_means(states, spans).sum().backward()
    assert states.grad is not None and not states.grad[1, 2:].any()
