"""Several inducers as one: the average of the trees of all their layers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from treeformers.induction import average_trees
from treeformers.recipes import Decoding
from treeformers.tasks.induce.predictor import Inducer, read_trees
from treeformers.tasks.load import Sentence, check_positive, words_of
from treeformers.training.model_folder import seed_folders
from treeformers.trees.tree import Tree

__all__ = ["LOWEST", "AveragedInducer", "trees_of_layers"]

LOWEST = 2
"""The lowest layer with a vote: those below link what stands together, whatever the phrase."""

CHUNK = 1000
"""Sentences whose trees of all layers and members are held at once."""


class AveragedInducer:
    """Parses with the seeds of one recipe together, one vote for each layer from `LOWEST` up of each.

    Seeds err in different places, and so do layers: what most of them find is right more often than what one
    finds (Shayegh et al. 2024, for parsers of several kinds). A folder with one seed averages its layers.

    Args:
        members: inducers; each reads its links with the right bias of its own recipe.

    Raises:
        ValueError: no members.
    """

    def __init__(self, members: Sequence[Inducer]) -> None:
        if not members:
            raise ValueError("averaging needs at least one inducer")
        self.members = tuple(members)

    @classmethod
    def from_pretrained(cls, folder: str | Path, device: str | None = None) -> Self:
        """Load all seeds in a folder that `treeformers train` wrote, or its only one.

        Args:
            folder: with `seed-1` and so on, or of one model.
            device: "cuda" where there is one by default, else "cpu".

        Raises:
            FileNotFoundError: no such folder, or one without a model.
            ValueError: a model of another kind, or a damaged file.
        """
        return cls([Inducer.from_pretrained(home, device) for home in seed_folders(Path(folder))])

    def parse(
        self, sentences: Iterable[Sentence], batch_size: int = 64, layer: int | None = None
    ) -> list[Tree]:
        """Trees of the sentences, in their order, over their words as given.

        Args:
            sentences: strings, split at white space, or lists of words.
            batch_size: sentences computed at once.
            layer: this layer of every member alone has a vote; negative ones count from the top.

        Raises:
            ValueError: a sentence without words, a batch below 1, a layer that is not there, or a model
                without a prior.
        """
        split = words_of(sentences)
        check_positive(batch_size=batch_size)
        chunks = (split[start : start + CHUNK] for start in range(0, len(split), CHUNK))
        return [tree for chunk in chunks for tree in self._average(chunk, batch_size, layer)]

    def _average(self, split: Sequence[Sequence[str]], batch_size: int, layer: int | None) -> list[Tree]:
        forests: list[list[Tree]] = []
        for member in self.members:
            links = member.links(split, batch_size)
            if layer is None:
                forests += trees_of_layers(links, split, member.decoding)
            else:
                forests.append(read_trees(links, split, replace(_cky(member.decoding), layer=layer)))
        return [average_trees(trees) for trees in zip(*forests, strict=True)]


def trees_of_layers(
    links: Sequence[NDArray[np.float64]], sentences: Sequence[Sequence[str]], decoding: Decoding
) -> list[list[Tree]]:
    """The best trees of each layer from `LOWEST` up, of a model of fewer layers those of all.

    Args:
        links: (L, T-1) of every sentence.
        sentences: their words.
        decoding: its right bias counts alone.
    """
    layers = range(len(links[0])) if links else range(0)
    return [
        read_trees(links, sentences, replace(_cky(decoding), layer=layer))
        for layer in layers[LOWEST:] or layers
    ]


def _cky(decoding: Decoding) -> Decoding:
    return Decoding(method="cky", right_bias=decoding.right_bias)
