"""Random patterns over dependency trees, each with its meaning spelled out: every pair of words is tried.

The meaning is made together with the text, so that it shares no code with the reader or the search.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from treeformers.trees.dependency import DependencyTree

Bound: TypeAlias = dict[str, int | str]
"""Positions of named words; and the texts of named relations, with "%" before the name."""
Meaning: TypeAlias = Callable[[DependencyTree, int, Bound], Iterator[Bound]]

SYMBOLS = (
    *(">", "<", ">>", "<<", "<>", ">++", ">--", "<++", "<--", "1,1>>", "2,3>>", "1,2<<", "2,2<<", "3,9<<"),
    *(".", "..", "-", "--", "$+", "$-", "$++", "$--", "=="),
)
WORDS: dict[str, Callable[[DependencyTree, int], bool]] = {
    "{}": lambda tree, word: True,
    "{word:a}": lambda tree, word: tree.words[word] == "a",
    "{tag:/X.*/}": lambda tree, word: tree.tags[word][0] == "X",
    "{pos:/X/}": lambda tree, word: tree.tags[word] == "X",
    "!{cpos:X}": lambda tree, word: tree.tags[word] != "X",
    "{tag!:X;word:/[ab]/}": lambda tree, word: tree.tags[word] != "X" and tree.words[word] in ("a", "b"),
    "!{tag:X ; word:a}": lambda tree, word: tree.tags[word] != "X" or tree.words[word] != "a",
    "{$}": lambda tree, word: tree.heads[word] == 0,
    "!{$;word:b}": lambda tree, word: tree.heads[word] != 0 or tree.words[word] != "b",
    "{idx:2}": lambda tree, word: word == 1,
    "{idx:/1|3/}": lambda tree, word: word in (0, 2),
}
LABELS: dict[str, Callable[[str], bool]] = {
    "": lambda label: True,
    "%": lambda label: True,
    "x": lambda label: label == "x",
    "/x|y:z/": lambda label: label in ("x", "y:z"),
    "y:z": lambda label: label == "y:z",
    "/y/": lambda label: label == "y",
}


@dataclass(frozen=True)
class Part:
    """A part of a pattern."""

    text: str
    meaning: Meaning


def above(tree: DependencyTree, word: int) -> list[int]:
    """The head of a word, its head, and so on."""
    head = tree.heads[word] - 1
    return [] if head < 0 else [head, *above(tree, head)]


def related(symbol: str, tree: DependencyTree, a: int, b: int) -> str | None:
    """The name of the last relation between two words, "" if it has no names; None: no relation."""
    found: bool | str
    if distances := re.match(r"(\d),(\d)(>>|<<)", symbol):
        chain = above(tree, b if symbol.endswith(">>") else a)
        end = a if symbol.endswith(">>") else b
        if end not in chain or not int(distances[1]) <= chain.index(end) + 1 <= int(distances[2]):
            return None
        return related(distances[3], tree, a, b)
    same_head = tree.heads[a] == tree.heads[b] > 0
    match symbol:
        case ">":
            return tree.relations[b] if tree.heads[b] == a + 1 else None
        case "<":
            return related(">", tree, b, a)
        case ">>":
            return tree.relations[b] if a in above(tree, b) else None
        case "<<":
            chain = [a, *above(tree, a)]
            return tree.relations[chain[chain.index(b) - 1]] if b in chain[1:] else None
        case "<>":
            label = related(">", tree, a, b)
            return related("<", tree, a, b) if label is None else label
        case ">++" | "<++":
            return related(symbol[0], tree, a, b) if a < b else None
        case ">--" | "<--":
            return related(symbol[0], tree, a, b) if a > b else None
        case ".":
            found = b == a + 1
        case "..":
            found = a < b
        case "-":
            found = b == a - 1
        case "--":
            found = a > b
        case "$+":
            found = same_head and b == a + 1
        case "$-":
            found = same_head and b == a - 1
        case "$++":
            found = same_head and a < b
        case "$--":
            found = same_head and a > b
        case "==":
            found = a == b
    return "" if found else None


def word_part(kind: str, name: str, formula: Part | None = None) -> Part:
    """A word with a name and relations; without a name if it is ""."""

    def meaning(tree: DependencyTree, word: int, bound: Bound) -> Iterator[Bound]:
        if not WORDS[kind](tree, word) or (name and bound.get(name, word) != word):
            return
        bound = {**bound, name: word} if name else bound
        yield from [bound] if formula is None else formula.meaning(tree, word, bound)

    text = kind + f"={name}" * bool(name)
    return Part(text if formula is None else f"({text} {formula.text})", meaning)


def reference(name: str) -> Part:
    """The word that has the name."""

    def meaning(tree: DependencyTree, word: int, bound: Bound) -> Iterator[Bound]:
        if bound.get(name) == word:
            yield bound

    return Part(f"={name}", meaning)


def step(symbol: str, label: str, name: str, target: Part) -> Part:
    """A relation, its name in the pattern, the name that keeps it, and the other word."""

    def meaning(tree: DependencyTree, word: int, bound: Bound) -> Iterator[Bound]:
        for other in range(len(tree)):
            found = related(symbol, tree, word, other)
            if found is None or not LABELS[label](found):
                continue
            if name and bound.get(f"%{name}", found) != found:
                continue
            yield from target.meaning(tree, other, {**bound, f"%{name}": found} if name else bound)

    return Part(f"{symbol}{label}{f'={name}' * bool(name)} {target.text}", meaning)


def sequence(parts: list[Part]) -> Part:
    def meaning(tree: DependencyTree, word: int, bound: Bound) -> Iterator[Bound]:
        found = [bound]
        for part in parts:
            found = [after for before in found for after in part.meaning(tree, word, before)]
        yield from found

    return Part(" & ".join(part.text for part in parts), meaning)


def either(parts: list[Part]) -> Part:
    def meaning(tree: DependencyTree, word: int, bound: Bound) -> Iterator[Bound]:
        for part in parts:
            yield from part.meaning(tree, word, bound)

    return Part("[" + " | ".join(part.text for part in parts) + "]", meaning)


def absent(part: Part) -> Part:
    def meaning(tree: DependencyTree, word: int, bound: Bound) -> Iterator[Bound]:
        if next(part.meaning(tree, word, bound), None) is None:
            yield bound

    return Part(f"!{part.text}", meaning)


def maybe(part: Part) -> Part:
    def meaning(tree: DependencyTree, word: int, bound: Bound) -> Iterator[Bound]:
        yield next(part.meaning(tree, word, bound), bound)

    return Part(f"?{part.text}", meaning)


def random_word(rng: random.Random, depth: int, bound: list[str], naming: bool = True) -> Part:
    if bound and rng.random() < 0.2:
        return reference(rng.choice(bound))
    name = ""
    if naming and rng.random() < 0.4:
        name = f"n{len(bound)}"
        bound.append(name)
    formula = random_formula(rng, depth, bound, naming) if depth and rng.random() < 0.7 else None
    return word_part(rng.choice([*WORDS, "{}", "{}"]), name, formula)


def random_formula(rng: random.Random, depth: int, bound: list[str], naming: bool) -> Part:
    """One or two relations. The first words of an optional relation are not defined: these have no names."""
    parts = []
    for _ in range(rng.randint(1, 2)):
        sign = rng.choice([None, None, None, absent, maybe])
        inner = bound if sign is None else list(bound)
        named = naming and sign is not maybe
        if depth > 1 and rng.random() < 0.3:
            part = either([random_formula(rng, depth - 1, list(inner), named) for _ in range(2)])
        else:
            symbol = rng.choice(SYMBOLS)
            labels = LABELS if ">" in symbol or "<" in symbol else [""]
            name = rng.choice(["", "r", "s"]) if named and len(labels) > 1 else ""
            part = step(symbol, rng.choice([*labels]), name, random_word(rng, depth - 1, inner, named))
        parts.append(part if sign is None else sign(part))
    return sequence(parts)


def literal_matches(pattern: Part, tree: DependencyTree) -> list[tuple[int, Bound]]:
    """The first word and the names of every match."""
    return [(word, found) for word in range(len(tree)) for found in pattern.meaning(tree, word, {})]
