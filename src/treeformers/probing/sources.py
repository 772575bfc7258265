"""Where systems, treebanks and pairs come from: names to what the probes take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from treeformers.data import corpora
from treeformers.data.examples import Labelled
from treeformers.data.minimal_pairs import PAIRS, MinimalPair, load_pairs
from treeformers.probing.minimal_pairs import choose
from treeformers.probing.systems import System, TreeFile
from treeformers.tasks.tree_predictors import load_parser_or_inducer
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
    return load_parser_or_inducer(path)


def find_treebank(corpus: str, split: str, root: str | None = None) -> list[Tree]:
    """A part of a treebank; of a corpus of one part, that one.

    Args:
        corpus: the name of a corpus, or a file.
        split: the part.
        root: as of `treeformers.data.corpora.load`.

    Raises:
        ValueError: an unknown part, or no constituency trees.
        OSError: a corpus that cannot be read.
    """
    parts = corpora.load(corpus, root=root)
    if len(parts) > 1 and split not in parts:
        raise ValueError(f"{corpus} has no part {split!r}: expected {', '.join(parts)}")
    trees = parts[split] if split in parts else next(iter(parts.values()))
    if not all(isinstance(tree, Tree) for tree in trees):
        raise ValueError(f"{corpus}: no constituency trees in it")
    return trees


def find_pairs(
    names: Sequence[str], each: int, seed: int, root: str | None = None
) -> tuple[dict[str, list[MinimalPair]], dict[str, list[Labelled]]]:
    """Minimal pairs, and prefixes of verbs, by name.

    Args:
        names: of `treeformers.data.minimal_pairs.PAIRS` or `AGREEMENT`.
        each: pairs of each paradigm, and prefixes by number of attractors; 0 for all.
        seed: of the choice.
        root: as of `treeformers.data.corpora.load`.

    Raises:
        ValueError: an unknown name.
        OSError: a corpus that cannot be read.
    """
    minimal: dict[str, list[MinimalPair]] = {}
    agreement: dict[str, list[Labelled]] = {}
    for name in names:
        if name in PAIRS:
            minimal[name] = choose(load_pairs(name, root), lambda pair: pair.paradigm, each, seed)
        elif name not in AGREEMENT:
            raise ValueError(f"no pairs {name!r}: expected {', '.join((*PAIRS, *AGREEMENT))}")
        else:
            agreement[name] = choose(
                corpora.load(name, root=root)["test"], lambda prefix: prefix.group, each, seed
            )
    return minimal, agreement
