"""Batches by token budget, and collators whose draws a resumed run repeats."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from zlib import crc32

import torch
from torch.utils.data import BatchSampler
from transformers import TrainerCallback

Features = list[dict[str, Any]]
Collator = Callable[[Features], Mapping[str, torch.Tensor]]
Length = int | tuple[int, ...]


class TokenBatchSampler(BatchSampler):
    """Batches of sentences of like length, within a budget of tokens with their padding.

    Args:
        lengths: tokens of every example; of each of its parts where these are padded apart, as source and
            target.
        tokens: budget of a batch. A longer example makes a batch of its own.
        seed: of the order; None keeps the batches in order of length.
        together: batches of a step; those that are too few for one are left out, unless they are all.
    """

    batch_size = None  # type: ignore[assignment]  # what accelerate asks: batches differ in size
    drop_last = True  # over several processes, an incomplete round

    def __init__(
        self, lengths: Sequence[Length], tokens: int, seed: int | None = None, together: int = 1
    ) -> None:
        self.lengths = [(length,) if isinstance(length, int) else length for length in lengths]
        self.tokens, self.seed = tokens, seed
        self.epoch = 0
        count = len(self._batches())
        self._count = count // together * together or count

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[list[int]]:
        batches = self._batches()
        if self.seed is not None:
            random.Random(f"{self.seed} {self.epoch}").shuffle(batches)
        return iter(batches[: self._count])

    def _batches(self) -> list[list[int]]:
        order = list(range(len(self.lengths)))
        if self.seed is not None:  # other neighbours in every run, the same number of batches in every epoch
            random.Random(self.seed).shuffle(order)
        order.sort(key=self.lengths.__getitem__)
        batches: list[list[int]] = []
        longest: tuple[int, ...] = ()
        for index in order:
            length = self.lengths[index]
            longest = tuple(map(max, longest, length))
            if not batches or (len(batches[-1]) + 1) * sum(longest) > self.tokens:
                batches.append([])
                longest = length
            batches[-1].append(index)
        return batches


class Masking(TrainerCallback):
    """A collator whose masks depend on seed, epoch and batch alone, so that a resumed run has the same.

    It tells the sampler the epoch: of several processes, accelerate does not reach it in a resumed one.

    Args:
        collator: draws masks from torch's generator.
        sampler: of the batches.
    """

    def __init__(self, collator: Collator, sampler: TokenBatchSampler) -> None:
        self.collator, self.sampler = collator, sampler

    def __call__(self, numbered: Sequence[tuple[int, dict[str, Any]]]) -> Mapping[str, torch.Tensor]:
        """Collate examples that come with their places in the data, which tell those without tokens apart."""
        batch = [feature.get("input_ids", number) for number, feature in numbered]
        with torch.random.fork_rng(devices=[]):
            seed = crc32(repr((self.sampler.seed, self.sampler.epoch, batch)).encode())
            torch.default_generator.manual_seed(seed)
            return self.collator([feature for _, feature in numbered])

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.sampler.set_epoch(int(state.epoch))
