"""Batches of inputs of similar length: order, limits on sentences and tokens, no space left unused."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treeformers.tasks.batching import MAX_SENTENCES, TYPICAL_LENGTH, batches, by_tokens

LENGTHS = st.lists(st.integers(1, 400), max_size=300)


@given(LENGTHS, st.integers(1, 300))
def test_batches_are_sorted_and_full(lengths: list[int], size: int) -> None:
    found = batches(lengths, size)
    order = [index for batch in reversed(found) for index in batch]
    assert sorted(order) == list(range(len(lengths)))
    assert [lengths[index] for index in order] == sorted(lengths, reverse=True)
    budget = TYPICAL_LENGTH * min(size, MAX_SENTENCES)
    for number, batch in enumerate(found):
        longest = lengths[batch[0]]
        assert len(batch) == 1 or (len(batch) <= size and len(batch) * longest <= budget)
        assert number == 0 or len(batch) == size or (len(batch) + 1) * longest > budget


def test_size_one_gives_single_sentences() -> None:
    assert batches([3, 700, 2], 1) == [[2], [0], [1]]


@given(LENGTHS, st.integers(1, 2000))
def test_by_tokens_fills_the_budget(lengths: list[int], tokens: int) -> None:
    found = by_tokens(lengths, tokens)
    order = [index for batch in found for index in batch]
    assert sorted(order) == list(range(len(lengths)))
    assert [lengths[index] for index in order] == sorted(lengths, reverse=True)
    for batch in found:
        assert len(batch) == 1 or len(batch) * lengths[batch[0]] <= tokens
    for batch in found[:-1]:
        assert (len(batch) + 1) * lengths[batch[0]] > tokens
