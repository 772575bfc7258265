"""Batches of like length, in few shapes where a processor keeps kernels for them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treeformers.tasks import batching
from treeformers.tasks.batching import MOST, TYPICAL, Batch, batches, by_tokens

LENGTHS = st.lists(st.integers(1, 400), max_size=300)
SIZES = st.integers(1, 300)


def made(lengths: list[int], size: int, kept: bool) -> list[Batch]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batching, "halves_vectors", lambda: kept)
        return batches(lengths, size)


@given(LENGTHS, SIZES, st.booleans())
def test_every_sentence_is_in_one_batch_beside_those_of_like_length(
    lengths: list[int], size: int, kept: bool
) -> None:
    rows = [row for batch in reversed(made(lengths, size, kept)) for row in batch.rows]
    assert sorted(rows) == list(range(len(lengths)))
    assert [lengths[row] for row in rows] == sorted(lengths, reverse=True)


@given(LENGTHS, SIZES, st.booleans())
def test_batches_hold_so_many_sentences_and_tokens(lengths: list[int], size: int, kept: bool) -> None:
    for batch in made(lengths, size, kept):
        longest = lengths[batch.rows[0]]
        width = batch.width(longest)
        assert longest <= width <= longest * 5 // 4
        assert len(batch.rows) <= size
        assert len(batch.rows) == 1 or len(batch.rows) * width <= TYPICAL * min(size, MOST)
        assert kept or width == longest


@given(LENGTHS, SIZES, st.booleans())
def test_only_the_rest_is_not_full(lengths: list[int], size: int, kept: bool) -> None:
    for batch in made(lengths, size, kept)[1:]:
        width = batch.width(lengths[batch.rows[0]])
        rows = len(batch.rows)
        assert rows == size or (rows + 1) * width > TYPICAL * min(size, MOST)
        assert batch.recurs == (kept and size >= batching.MANY)


def test_full_batches_have_few_shapes() -> None:
    lengths = [length for length in range(1, 97) for _ in range(100)]
    full = [batch for batch in made(lengths, 64, True) if batch.recurs]
    shapes = {(len(batch.rows), batch.width(lengths[batch.rows[0]])) for batch in full}
    tokens = {rows * width for rows, width in shapes if width >= TYPICAL}
    assert tokens == {64 * TYPICAL} and len(shapes) < 25
    shapes = {(len(batch.rows), lengths[batch.rows[0]]) for batch in made(lengths, 64, False)}
    assert len(shapes) > 75


def test_the_rest_is_not_padded() -> None:
    (batch,) = made([23, 22], 64, True)
    assert batch == Batch([0, 1]) and batch.width(23) == 23 and not batch.recurs


def test_one_sentence_at_a_time() -> None:
    assert [batch.rows for batch in made([3, 700, 2], 1, True)] == [[2], [0], [1]]


@given(LENGTHS, st.integers(1, 2000))
def test_as_many_rows_as_there_are_tokens_for(lengths: list[int], tokens: int) -> None:
    cut = by_tokens(lengths, tokens)
    rows = [row for batch in cut for row in batch]
    assert sorted(rows) == list(range(len(lengths)))
    assert [lengths[row] for row in rows] == sorted(lengths, reverse=True)
    for batch in cut:
        assert len(batch) == 1 or len(batch) * lengths[batch[0]] <= tokens
    for batch in cut[:-1]:
        assert (len(batch) + 1) * lengths[batch[0]] > tokens
