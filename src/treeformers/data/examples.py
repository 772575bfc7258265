"""Examples of the tasks of tree encoders: a text with its class, and two texts with what joins them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from treeformers.trees.dependency import DependencyTree
from treeformers.trees.tree import Tree

__all__ = ["LabeledText", "TextPair", "Text", "kind_of"]

Text: TypeAlias = Tree | DependencyTree | str


@dataclass(frozen=True, slots=True)
class LabeledText:
    """A text and its class.

    Attributes:
        text: a tree or a string.
        label: the class.
        group: the subset that it is reported with, such as the number of attractors; "" for none.
    """

    text: Text
    label: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class TextPair:
    """Two texts and how they relate.

    Attributes:
        first: a tree or a string.
        second: one of the same kind.
        label: the class of the pair; "" where there is none.
        score: how alike they are, from 1 to 5; None where it is not known.
    """

    first: Text
    second: Text
    label: str = ""
    score: float | None = None


def kind_of(entry: Any) -> str:
    """What an entry of a corpus of `treeformers.data.corpora.load` is, for messages."""
    match entry:
        case LabeledText():
            return "sentences with classes"
        case TextPair():
            return "pairs of sentences"
        case Tree():
            return "constituency trees"
        case DependencyTree():
            return "dependency trees"
        case dict():
            return "sentences with translations"
        case str():
            return "plain text (the name of a table ends in .tsv)"
    return "minimal pairs"
