"""Short texts side by side in long rows, for training at a fixed length without padding.

A row carries the number of the text that each of its tokens belongs to, so that a model keeps them apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedTokenizerBase

from treeformers.data.text import MaskedWordCollator

__all__ = ["PackedCollator", "pack"]

OPEN_ROWS = 64
"""Rows that wait for texts that fit."""


def pack(
    features: Iterable[Mapping[str, list[int]]], max_length: int = 512
) -> Iterator[dict[str, list[int]]]:
    """Pack texts into rows of at most `max_length` tokens, each text whole and in one row.

    A text goes to the first row that has room for it, among the newest 64. One that is longer than a row is
    cut into pieces of `max_length` tokens, and its last piece packed as a text. Nothing is lost and nothing
    repeated; only the order of texts changes, and always in the same way.

    Args:
        features: of `treeformers.data.text.encode`: `input_ids`, and `word_ids` if wanted.
        max_length: tokens of a row.

    Yields:
        The lists of the texts one behind the other, and `document_ids`: the text of each token, counted from
        0 in every row.

    Raises:
        ValueError: rows of no tokens.
    """
    if max_length < 1:
        raise ValueError(f"max_length is {max_length}, expected 1 or more")
    rows: list[dict[str, list[int]]] = []
    for feature in features:
        for start in range(0, len(feature["input_ids"]), max_length):
            piece = {key: values[start : start + max_length] for key, values in feature.items()}
            room = max_length - len(piece["input_ids"])
            row = next((row for row in rows if len(row["input_ids"]) <= room), None)
            if row is None:
                row = {key: [] for key in (*piece, "document_ids")}
                rows.append(row)
            number = row["document_ids"][-1] + 1 if row["document_ids"] else 0
            row["document_ids"] += [number] * len(piece["input_ids"])
            for key, values in piece.items():
                row[key] += values
            if len(row["input_ids"]) == max_length:
                rows.remove(row)
                yield row
            elif len(rows) > OPEN_ROWS:
                yield rows.pop(0)
    yield from rows


class PackedCollator:
    """Make a padded batch of rows of `pack` of which some tokens are to be predicted.

    Args:
        tokenizer: the one the features were made with; this and the others as of `MaskedWordCollator`.
        probability: share of the tokens to predict.
        with_word_ids: whether the batch has `word_ids`.
        seed: for evaluation, masks that are the same each time.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        probability: float = 0.15,
        with_word_ids: bool = False,
        seed: int | None = None,
    ) -> None:
        self._masked = MaskedWordCollator(tokenizer, probability, with_word_ids, seed)

    def __call__(self, features: Sequence[Mapping[str, Any]]) -> dict[str, Tensor]:
        """Collate rows: the batch of `MaskedWordCollator`, and `document_ids` (B, T), -1 at padding."""
        documents = [torch.tensor(feature["document_ids"]) for feature in features]
        batch = self._masked(features)
        return {**batch, "document_ids": pad_sequence(documents, batch_first=True, padding_value=-1)}
