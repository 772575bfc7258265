"""Universal Dependencies of English from constituency trees.

The conversion reads labels, tags, words and, where a tree has them, function tags. Content words are heads, so
that copulas, auxiliaries, prepositions and complementizers depend on them (de Marneffe et al. 2014, Universal
Stanford Dependencies; de Marneffe et al. 2021, Universal Dependencies). The table `ud-english` of
`treeformers.trees.head_rules` finds the heads; what depends on words is added here.

Unlike the basic dependencies of Universal Dependencies, the result is projective.
"""

from __future__ import annotations

from collections.abc import Sequence

from treeformers.trees.conjuncts import find_conjuncts
from treeformers.trees.dependency import DependencyTree
from treeformers.trees.english_words import FIXED, POSTMODIFYING
from treeformers.trees.escapes import unescape_word
from treeformers.trees.phrases import CLAUSES, PUNCTUATION, Phrase, read_phrases
from treeformers.trees.tree import Tree
from treeformers.trees.universal_punctuation import attach_punctuation
from treeformers.trees.universal_relations import relation_of
from treeformers.trees.universal_tags import universal_tags

__all__ = ["to_universal_dependencies"]

_FUNCTION_WORDS = frozenset({"aux", "aux:pass", "cop", "mark", "case", "compound:prt", "punct"})


def to_universal_dependencies(tree: Tree) -> DependencyTree:
    """Convert an English constituency tree to dependencies with the relations of Universal Dependencies.

    Args:
        tree: a tree with labels and tags of the Penn Treebank, from a treebank or a parser. Function tags
            help. Traces (tag -NONE-) are left out. A tree with other labels gets the relation `dep`.

    Returns:
        The dependency tree over the words of the tree that are not traces. Its tags are the universal tags.

    Raises:
        ValueError: the tree has no words but traces.
    """
    clean = tree.without_traces()
    if clean is None:
        raise ValueError("the tree has no words, only traces")
    phrases = read_phrases(clean)
    size = len(clean)
    heads, relations = [-1] * size, ["root"] * size
    for phrase in phrases:
        for child, governor, relation in _dependents(phrase):
            heads[child.position] = governor.position
            relations[child.position] = relation
    _raise_subjects(phrases, heads, relations)
    _lift(heads, relations)
    words = [unescape_word(word).lower() for word in clean.words]
    _join_fixed(words, heads, relations)
    attach_punctuation(words, heads, relations)
    tags = universal_tags(words, clean.tags, [head + 1 for head in heads], relations)
    return DependencyTree(clean.words, [head + 1 for head in heads], relations, tags)


def _dependents(phrase: Phrase) -> list[tuple[Phrase, Phrase, str]]:
    """The children of a phrase that are not its head, each with its governor and relation."""
    children, head = phrase.children, phrase.head
    if head is None or len(children) < 2:
        return []
    conjuncts = find_conjuncts(phrase)
    found: list[tuple[Phrase, Phrase, str]] = []
    for place, child in enumerate(children):
        if child is head:
            continue
        if place in conjuncts:
            found.append((child, *conjuncts[place]))
        elif child.category in PUNCTUATION:
            found.append((child, _neighbour(phrase, place), "punct"))
        else:
            found.append((child, head, relation_of(phrase, place)))
    return found


def _neighbour(phrase: Phrase, place: int) -> Phrase:
    """The governor of a punctuation mark: the clause or apposition that it sets off, or the head."""
    head = phrase.head
    assert head is not None
    at = next(i for i, child in enumerate(phrase.children) if child is head)
    if phrase.category in {"NP", "NML", "NX"} and place > at:
        after = phrase.children[place + 1 : place + 2]
        before = phrase.children[place - 1]
        for near in (*after, before):
            if near is not head and near.category in {"NP", "SBAR", "VP", "PRN", *POSTMODIFYING}:
                return near
        return head
    if phrase.category in CLAUSES or phrase.category == "VP":
        near = (
            phrase.children[place - 1]
            if place < at
            else (phrase.children[place + 1 : place + 2] or [head])[0]
        )
        if place and near.children and near.category not in {"NP"}:
            return near
    return head


def _raise_subjects(phrases: Sequence[Phrase], heads: list[int], relations: list[str]) -> None:
    """The subject of an open complement becomes the object above: "want him to go"."""
    for phrase in phrases:
        if phrase.category != "S" or phrase.parent is None or relations[phrase.position] != "xcomp":
            continue
        if phrase.parent.position == phrase.position:
            continue
        for child in phrase.children:
            if child.parent is phrase and relations[child.position].startswith("nsubj"):
                if heads[child.position] == phrase.position:
                    heads[child.position], relations[child.position] = heads[phrase.position], "obj"


def _lift(heads: list[int], relations: list[str]) -> None:
    """Words below a copula or an auxiliary depend on its content word: "what it is"."""
    for word, relation in enumerate(relations):
        above = heads[word]
        if relation in {"fixed", "conj", "cc", "goeswith"} or above < 0:
            continue
        seen = 0
        while above >= 0 and relations[above] in _FUNCTION_WORDS and seen < 3:
            if relations[above] in {"case", "mark"} and relation in {
                "advmod",
                "case",
                "mark",
                "obl:unmarked",
            }:
                break
            above, seen = heads[above], seen + 1
        if above >= 0 and above != word:
            heads[word] = above


def _join_fixed(words: Sequence[str], heads: list[int], relations: list[str]) -> None:
    """Fixed expressions such as "because of": the first word governs the others."""
    for first in range(len(words) - 1):
        for expression in FIXED.get(words[first], ()):
            end = first + len(expression)
            if tuple(words[first:end]) != expression:
                continue
            inside = range(first, end)
            outside = [word for word in inside if heads[word] not in inside]
            if any(head in inside and place not in inside for place, head in enumerate(heads)):
                continue
            if len({heads[word] for word in outside}) != 1:
                continue
            top = outside[0]
            relation = relations[top]
            heads[first], relations[first] = heads[top], _of_fixed(words[first], relation)
            for word in inside[1:]:
                heads[word], relations[word] = first, "fixed"
            break


def _of_fixed(word: str, relation: str) -> str:
    return relation if relation != "fixed" else "advmod"
