"""Packing: several short texts share one long row, for training at a fixed length without padding.

Each token of a row carries the index of its text, so a model can keep the texts apart.
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
"""Number of rows that wait for a text that fits."""


def pack(
    features: Iterable[Mapping[str, list[int]]], max_length: int = 512
) -> Iterator[dict[str, list[int]]]:
    """Pack texts into rows of at most `max_length` tokens. A text is never split across rows.

    Each text goes to the first of the newest 64 open rows that has room. A text that is longer than a row is
    split into chunks of `max_length` tokens, and the last chunk is packed like a text. No token is lost or
    repeated. The order of texts changes, deterministically.

    Args:
        features: features of `treeformers.data.text.encode`: `input_ids`, and optionally `word_ids`.
        max_length: maximum number of tokens in a row.

    Yields:
        The concatenated lists of the texts, and `document_ids`: the text index of each token, from 0 in each
        row.

    Raises:
        ValueError: `max_length` is below 1.
    """
    if max_length < 1:
        raise ValueError(f"max_length is {max_length}, expected 1 or more")
    rows: list[dict[str, list[int]]] = []
    for feature in features:
        for start in range(0, len(feature["input_ids"]), max_length):
            chunk = {key: values[start : start + max_length] for key, values in feature.items()}
            room = max_length - len(chunk["input_ids"])
            row = next((row for row in rows if len(row["input_ids"]) <= room), None)
            if row is None:
                row = {key: [] for key in (*chunk, "document_ids")}
                rows.append(row)
            number = row["document_ids"][-1] + 1 if row["document_ids"] else 0
            row["document_ids"] += [number] * len(chunk["input_ids"])
            for key, values in chunk.items():
                row[key] += values
            if len(row["input_ids"]) == max_length:
                rows.remove(row)
                yield row
            elif len(rows) > OPEN_ROWS:
                yield rows.pop(0)
    yield from rows


class PackedCollator:
    """Build a padded batch of rows of `pack` for masked language modelling.

    Args:
        tokenizer: the tokenizer of the features. This and the other arguments are those of
            `MaskedWordCollator`.
        probability: probability that a token is selected.
        with_word_ids: add `word_ids` to the batch.
        seed: for evaluation, fixes the masks.
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
        """Collate rows: the batch of `MaskedWordCollator`, and `document_ids` (B, T), which are -1 at
        padding.
        """
        documents = [torch.tensor(feature["document_ids"]) for feature in features]
        batch = self._masked(features)
        return {**batch, "document_ids": pad_sequence(documents, batch_first=True, padding_value=-1)}
