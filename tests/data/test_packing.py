from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from treeformers.data import packing
from treeformers.data.packing import PackedCollator, pack
from treeformers.data.text import MaskedWordCollator, encode, train_tokenizer
from treeformers.models.treebert import TreeBertConfig, TreeBertForMaskedLM

LINES = [
    "the old owl sleeps", "two owls sleep", "an owl that the dog saw sleeps", "dogs bark", "the dog barks",
]  # fmt: skip


def texts(lengths: list[int]) -> Iterator[dict[str, list[int]]]:
    """Texts with disjoint tokens: the second is 1000, 1001, ..."""
    for number, length in enumerate(lengths):
        ids = [1000 * number + place for place in range(length)]
        yield {"input_ids": ids, "word_ids": [-token for token in ids]}


def chunks(row: dict[str, list[int]]) -> list[list[int]]:
    found: dict[int, list[int]] = {}
    for token, document in zip(row["input_ids"], row["document_ids"], strict=True):
        found.setdefault(document, []).append(token)
    assert list(found) == list(range(len(found))) and row["document_ids"] == sorted(row["document_ids"])
    return list(found.values())


@given(st.lists(st.integers(1, 25), max_size=30), st.integers(1, 12))
def test_nothing_is_lost_and_texts_stay_whole(lengths: list[int], max_length: int) -> None:
    rows = list(pack(texts(lengths), max_length))
    assert all(0 < len(row["input_ids"]) <= max_length for row in rows)
    assert all([-token for token in row["input_ids"]] == row["word_ids"] for row in rows)
    expected = [
        feature["input_ids"][start : start + max_length]
        for feature in texts(lengths)
        for start in range(0, len(feature["input_ids"]), max_length)
    ]
    assert sorted(chunk for row in rows for chunk in chunks(row)) == expected
    # First fit opens a row only where no other has room: no two rows fit into one.
    half_empty = sum(2 * len(row["input_ids"]) <= max_length for row in rows)
    assert half_empty <= 1


def test_few_rows_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "OPEN_ROWS", 2)
    rows = pack(texts([6, 7, 8, 9, 2]), 10)
    assert [len(row["input_ids"]) for row in rows] == [6, 7, 10, 9]  # 6 and 7 left before 2 came


def test_rows_train_as_if_every_text_stood_alone() -> None:
    tokenizer = train_tokenizer(LINES, min_frequency=1)
    features = list(encode(tokenizer, LINES))
    rows = list(pack(features, 16))
    assert len(rows) < len(features)
    packed = PackedCollator(tokenizer, 0.4, with_word_ids=True, seed=1)(rows)
    assert packed["document_ids"].shape == packed["input_ids"].shape == packed["word_ids"].shape
    assert (packed["document_ids"] == -1).equal(packed["attention_mask"] == 0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = TreeBertConfig(vocab_size=len(tokenizer), **sizes)
    model = TreeBertForMaskedLM(config).eval()
    labels = packed.pop("labels")
    together = model(**packed)
    apart = []
    for row in range(len(rows)):
        for document in range(int(packed["document_ids"][row].max()) + 1):
            chosen = packed["document_ids"][row] == document
            alone = model(packed["input_ids"][row : row + 1, chosen])
            torch.testing.assert_close(together.logits[row, chosen], alone.logits[0], rtol=1e-4, atol=1e-5)
            apart.append(chosen.sum())
    assert len(apart) == len(LINES)
    model(**packed, labels=labels).loss.backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_masks_are_those_of_the_masked_word_collator() -> None:
    tokenizer = train_tokenizer(LINES, min_frequency=1)
    rows = list(pack(encode(tokenizer, LINES), 16))
    plain = MaskedWordCollator(tokenizer, seed=3)(rows)
    packed = PackedCollator(tokenizer, seed=3)(rows)
    assert set(packed) - set(plain) == {"document_ids"}
    assert all(torch.equal(packed[key], value) for key, value in plain.items())


def test_bad_max_length() -> None:
    with pytest.raises(ValueError, match="max_length is 0"):
        list(pack(texts([3]), 0))
