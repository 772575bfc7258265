"""What can be probed: whatever gives trees over the sentences asked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from treeformers.induction import trivial_tree
from treeformers.probing.constructions import Question
from treeformers.trees.files import read_lines, suffix_of
from treeformers.trees.formats import JSON, read_trees
from treeformers.trees.punctuation import is_word
from treeformers.trees.tree import Tree, parse_brackets

__all__ = ["Answer", "System", "TreeFile", "ask"]

MANY_UNKNOWN = 0.1
"""The share of unknown words above which a note says so."""

Shape: TypeAlias = Literal["gold", "right", "left", "balanced", "random"]


@runtime_checkable
class Parses(Protocol):
    """What yields trees: `treeformers.Inducer`, `treeformers.Parser` and others like them."""

    def parse(self, sentences: list[list[str]], /) -> Sequence[Tree]: ...


@runtime_checkable
class Linked(Protocol):
    """What has links between words: `treeformers.Inducer`."""

    model: Any
    decoding: Any

    def links(self, sentences: list[list[str]], /) -> list[NDArray[np.float64]]: ...

    def subword_links(self, sentences: list[list[str]], /) -> list[Any]: ...


@runtime_checkable
class HasVocabulary(Protocol):
    """What has a vocabulary: `treeformers.Inducer`."""

    def unknown_words(self, sentences: list[list[str]], /) -> list[tuple[str, ...]]: ...


@dataclass(frozen=True, slots=True)
class TreeFile:
    """Trees, and where they stand.

    Attributes:
        trees: the trees.
        places: for each, "file:line" of where it ends.
    """

    trees: tuple[Tree, ...]
    places: tuple[str, ...]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> TreeFile:
        """Read a file of trees, in brackets or as JSON lines by its name.

        Raises:
            FileNotFoundError: no such file.
            ValueError: malformed text, with file:line, or no trees.
        """
        name = os.fspath(path)
        if suffix_of(name) in JSON:
            filled = [where for where, line in read_lines(path) if line.strip()]
            pairs = list(zip(read_trees(path), filled, strict=True))
        else:
            pairs = list(_placed_trees(name))
        if not pairs:
            raise ValueError(f"{name}: no trees in it")
        trees, places = zip(*pairs, strict=True)
        return cls(trees, places)


System: TypeAlias = (
    Parses | TreeFile | Callable[[Sequence[Sequence[str]]], Sequence[Tree]] | Sequence[Tree] | Shape
)


@dataclass(frozen=True)
class Answer:
    """What a system gives.

    Attributes:
        trees: one for each question.
        links: (L, T-1) of each, of a model that has links between words.
        words: of a model with links between tokens, the word of every token, of the sentences in which a
            word has several.
        word_trees: trees over their tokens.
        notes: what could not be asked, and why.
    """

    trees: list[Tree]
    links: Sequence[NDArray[np.float64]] = ()
    words: Sequence[Sequence[int]] = ()
    word_trees: Sequence[Tree] = ()
    notes: Sequence[str] = ()


def ask(system: System, questions: Sequence[Question], seed: int = 0) -> Answer:
    """The trees of a system over the sentences of the questions.

    Trees that were given may be over the sentence with its punctuation: that is taken out by the gold tags.

    Args:
        system: as of `treeformers.probing.probe`.
        questions: with the sentences.
        seed: of random trees.

    Raises:
        ValueError: trees over other words than the sentences, or another number of them; an unknown shape; a
            model without trees.
    """
    sentences = [list(question.tree.words) for question in questions]
    if isinstance(system, str):
        if system == "gold":
            return Answer([question.tree for question in questions])
        return Answer([trivial_tree(words, system, seed + n) for n, words in enumerate(sentences)])
    if isinstance(system, Linked):
        answer = _ask_links(system, sentences)
        return replace(answer, notes=[*_unknown(system, sentences), *answer.notes])
    places: Sequence[str] = ()
    if isinstance(system, Parses):
        given = system.parse(sentences)
    elif isinstance(system, TreeFile):
        given, places = system.trees, system.places
    else:
        given = system(sentences) if callable(system) else system
    trees = []
    for number, (question, tree) in enumerate(zip(questions, given, strict=False), start=1):
        where = places[number - 1] if places else f"tree {number}"
        trees.append(_over_words(tree, question, where))
    if len(given) != len(questions):
        raise ValueError(f"{len(given)} trees for {len(questions)} sentences, expected one each")
    return Answer(trees)


def _unknown(system: Linked, sentences: list[list[str]]) -> list[str]:
    """A note where the system cannot tell many of the words: what it finds is then found of positions."""
    if not isinstance(system, HasVocabulary):
        return []
    share = sum(map(len, system.unknown_words(sentences))) / max(1, sum(map(len, sentences)))
    return [f"{100 * share:.0f} % of the words are not in the vocabulary"] if share > MANY_UNKNOWN else []


def _ask_links(system: Linked, sentences: list[list[str]]) -> Answer:
    """One forward pass for trees, links and pieces of words."""
    from treeformers.tasks.induce.decoding import decode_trees

    if system.model.config.link_level == "word":
        links = system.links(sentences)
        note = "subwords: the model links whole words, whose tokens belong together by construction"
        return Answer(decode_trees(links, sentences, system.decoding), links, notes=[note])
    pieces = system.subword_links(sentences)
    links = [piece.links[:, np.diff(piece.word_ids) > 0] for piece in pieces]
    cut = [piece for piece in pieces if len(set(piece.word_ids)) < len(piece.word_ids)]
    return Answer(
        decode_trees(links, sentences, system.decoding),
        links,
        [piece.word_ids for piece in cut],
        decode_trees([piece.links for piece in cut], [piece.subwords for piece in cut], system.decoding),
        [] if cut else ["subwords: every word is one token"],
    )


def _over_words(tree: Tree, question: Question, where: str) -> Tree:
    """The tree over the words of the question, without punctuation that it may have."""
    if tree.words == question.tree.words:
        return tree
    if tree.words != question.whole.words:
        found, wanted = " ".join(tree.words)[:80], " ".join(question.whole.words)[:80]
        raise ValueError(f"{where}: a tree over {found!r}, expected {wanted!r}")
    position = list(accumulate(map(is_word, question.whole.leaves), initial=0))
    moved = [(position[start], position[end], label) for start, end, label in tree.spans()]
    return Tree.from_spans(question.tree.words, [span for span in moved if span[0] < span[1]])


def _placed_trees(name: str) -> Iterator[tuple[Tree, str]]:
    """The trees of a file of brackets, each with the place where it ends."""
    place = ""

    def lines() -> Iterator[tuple[str, str]]:
        nonlocal place
        for where, line in read_lines(name):
            place = where
            yield where, line

    for tree in parse_brackets(lines()):
        yield tree, place
