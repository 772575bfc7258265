"""The training, validation and test part of a corpus, of one without parts too, and of the grammar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from treeformers.data.grammar import Sample, default_grammar

__all__ = ["GRAMMAR_SPLIT_SIZES", "VALIDATION_STEP", "check_split", "choose_split", "sample_split", "evenly_spaced"]

VALIDATION_STEP = 10
"""Of a corpus of one part every so many-th example validates."""
GRAMMAR_SPLIT_SIZES = {"train": 600, "validation": 100, "test": 200}
"""Sentences of the parts of the embedded grammar."""
_GRAMMAR_SEEDS = {"train": 1, "validation": 3, "test": 2}
_LONGEST = 40

T = TypeVar("T")


def choose_split(parts: Mapping[str, Sequence[T]], split: str, corpus: str) -> list[T]:
    """A part of a corpus.

    Of a corpus of one part, such as a file, every tenth example validates and does not train, and all of them
    are its test part.

    Args:
        parts: of the corpus, by name.
        split: "train", "validation" or "test".
        corpus: its name.

    Raises:
        ValueError: none of this name, or a single example of which none is left to train with.
    """
    if len(parts) == 1:
        check_split(split, corpus)
        (found,) = parts.values()
        if split == "test":
            return list(found)
        if len(found) == 1 and split == "train":
            raise ValueError(
                f"{corpus}: 1 example, expected at least 2: every tenth validates and does not train"
            )
        return [one for n, one in enumerate(found) if (n % VALIDATION_STEP == 0) == (split == "validation")]
    if split not in parts:
        raise ValueError(f"{corpus} has no part {split!r}: expected {', '.join(parts)}")
    return list(parts[split])


def evenly_spaced(examples: Sequence[T], limit: int) -> list[T]:
    """So many examples of a part, evenly spaced: corpora stand in the order of classes or of sources.

    Args:
        examples: of the part.
        limit: the most; 0 for all.
    """
    count = len(examples)
    if not limit or limit >= count:
        return list(examples)
    return [examples[number * count // limit] for number in range(limit)]


def sample_split(split: str, limit: int = 0, sizes: Mapping[str, int] = GRAMMAR_SPLIT_SIZES) -> list[Sample]:
    """Sentences of at most 40 words from the embedded grammar, other ones for each part.

    Args:
        split: "train", "validation" or "test".
        limit: how many; 0 for the size of the part.
        sizes: of the parts.

    Raises:
        ValueError: none of this name.
    """
    check_split(split, "grammar")
    grammar = default_grammar()
    return list(grammar.sample(limit or sizes[split], seed=_GRAMMAR_SEEDS[split], max_length=_LONGEST))


def check_split(split: str, corpus: str) -> None:
    """Refuse a name that is none of "train", "validation" and "test".

    Raises:
        ValueError: such a name.
    """
    if split not in GRAMMAR_SPLIT_SIZES:
        raise ValueError(f"{corpus} has no part {split!r}: expected {', '.join(GRAMMAR_SPLIT_SIZES)}")
