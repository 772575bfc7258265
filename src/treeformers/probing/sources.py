"""Where systems, treebanks and pairs come from: names to what the probes take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from treeformers.data import corpora
from treeformers.data.examples import LabeledText
from treeformers.data.minimal_pairs import MINIMAL_PAIRS, MinimalPair, load_minimal_pairs
from treeformers.probing.minimal_pairs import choose
from treeformers.probing.systems import System, TreeFile
from treeformers.tasks.load import load_model
from treeformers.trees.tree import Tree

__all__ = ["AGREEMENT", "SHAPES", "find_pairs", "find_system", "find_treebank"]

SHAPES = ("gold", "right", "left", "balanced", "random")
AGREEMENT = ("agreement-linzen", "agreement-ud")


def find_system(name: str) -> System:
    """What a name on the command line stands for.

    Raises:
        FileNotFoundError: neither a shape, a file nor the folder of a model.
        ValueError: a file or a model that cannot be read, or a model that neither parses nor induces trees.
    """
    for shape in SHAPES:
        if name == shape:
            return shape  # type: ignore[return-value]
    path = Path(name)
    if path.is_file():
        return TreeFile.read(name)
    if not path.is_dir():
        raise FileNotFoundError(
            f"{name}: neither {', '.join(SHAPES)}, nor a file of trees, nor the folder of a parser or inducer"
        )
    return load_model(path)


def find_treebank(corpus: str, split: str, data_dir: str | None = None) -> list[Tree]:
    """A part of a treebank; of a corpus of one part, that one.

    Args:
        corpus: the name of a corpus, or a file.
        split: the part.
        data_dir: as of `treeformers.data.corpora.load`.

    Raises:
        ValueError: an unknown part, or no constituency trees.
        OSError: a corpus that cannot be read.
    """
    parts = corpora.load(corpus, data_dir=data_dir)
    if len(parts) > 1 and split not in parts:
        raise ValueError(f"{corpus} has no part {split!r}: expected {', '.join(parts)}")
    trees = parts[split] if split in parts else next(iter(parts.values()))
    if not all(isinstance(tree, Tree) for tree in trees):
        raise ValueError(f"{corpus}: no constituency trees in it")
    return trees


def find_pairs(
    names: Sequence[str], each: int, seed: int, data_dir: str | None = None
) -> tuple[dict[str, list[MinimalPair]], dict[str, list[LabeledText]]]:
    """Minimal pairs, and prefixes of verbs, by name.

    Args:
        names: of `treeformers.data.minimal_pairs.MINIMAL_PAIRS` or `AGREEMENT`.
        each: pairs of each paradigm, and prefixes by number of attractors; 0 for all.
        seed: of the choice.
        data_dir: as of `treeformers.data.corpora.load`.

    Raises:
        ValueError: an unknown name.
        OSError: a corpus that cannot be read.
    """
    minimal: dict[str, list[MinimalPair]] = {}
    agreement: dict[str, list[LabeledText]] = {}
    for name in names:
        if name in MINIMAL_PAIRS:
            minimal[name] = choose(load_minimal_pairs(name, data_dir), lambda pair: pair.paradigm, each, seed)
        elif name not in AGREEMENT:
            raise ValueError(f"no pairs {name!r}: expected {', '.join((*MINIMAL_PAIRS, *AGREEMENT))}")
        else:
            agreement[name] = choose(
                corpora.load(name, data_dir=data_dir)["test"], lambda prefix: prefix.group, each, seed
            )
    return minimal, agreement
