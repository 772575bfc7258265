"""Sentences of the agreement grammar with and without agreement, and the rule of a linear reader.

The grammar is `treeformers.data.grammar.default_grammar`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from random import Random
from typing import NamedTuple, TypeAlias

from treeformers.data.grammar import Production, default_grammar

__all__ = [
    "AgreementSentence",
    "AgreementPair",
    "Sampler",
    "change_verbs",
    "deep_productions",
    "depth_of",
    "find_verbs",
    "follows_linear_rule",
    "linear_failures",
]

_RELATIVE = frozenset({"Rel_Sg", "Rel_Pl"})
_CLAUSE_END = ""

# The weights of the released generator where it makes deep sentences, in the order of the productions.
_DEEP = {
    "VP": (0.8, 0.1, 0.1),
    "VP_3Sg": (0.8, 0.1, 0.1),
    "NP_3Sg_nom": (0.05, 0.05, 0.9),
    "NP_nom": (0.025, 0.025, 0.025, 0.025, 0.9),
    "NP_acc": (0.025, 0.025, 0.025, 0.025, 0.45, 0.45),
    "N_bar_common_Sg": (0.05, 0.8, 0.15),
    "N_bar_common_Pl": (0.05, 0.8, 0.15),
}


@dataclass(frozen=True, slots=True)
class AgreementSentence:
    """A sentence and whether it is one of the grammar.

    Attributes:
        words: the words.
        valid: no verb is in the wrong number.
        depth: relative clauses in one another, at the deepest place; 0 for none.
    """

    words: tuple[str, ...]
    valid: bool
    depth: int

    @property
    def label(self) -> str:
        """The class as it is written: "valid" or "invalid"."""
        return "valid" if self.valid else "invalid"


AgreementPair: TypeAlias = tuple[AgreementSentence, AgreementSentence]
"""A valid and an invalid sentence."""


class Sampler:
    """Draws sentences with their depths. Trees are not built, for most draws are thrown away.

    Every rewriting takes one random number, those without a choice too, leftmost first, as the generator that
    Ginn (2024) released does: equal seeds give its sentences.

    Args:
        productions: of a grammar of relative clauses Rel_Sg and Rel_Pl, those of the start symbol first.
            Equal ones may repeat.
        max_depth: deeper sentences are given up.
        max_words: longer sentences are given up.
    """

    def __init__(
        self, productions: Iterable[Production], max_depth: float = math.inf, max_words: float = math.inf
    ) -> None:
        groups: dict[str, list[Production]] = defaultdict(list)
        for production in productions:
            groups[production.left].append(production)
        self._start = next(iter(groups))
        self._rules: dict[str, tuple[list[float], float, list[list[str]]]] = {}
        for left, group in groups.items():
            *limits, total = accumulate(production.probability for production in group)
            right_sides = [[symbol.name for symbol in reversed(production.right)] for production in group]
            if left in _RELATIVE:
                right_sides = [[_CLAUSE_END, *right] for right in right_sides]
            self._rules[left] = limits, total, right_sides
        self._max_depth, self._max_words = max_depth, max_words

    def draw(self, generator: Random, n: int) -> Iterator[AgreementSentence]:
        """The sentences of `n` draws, without those that were given up."""
        return (drawn for _ in range(n) if (drawn := self._draw(generator.random)) is not None)

    def _draw(self, uniform: Callable[[], float]) -> AgreementSentence | None:
        words: list[str] = []
        pending = [self._start]
        depth = deepest = 0
        while pending:
            name = pending.pop()
            rule = self._rules.get(name)
            if rule is None:
                if name == _CLAUSE_END:
                    depth -= 1
                else:
                    words.append(name)
                continue
            if name in _RELATIVE:
                depth += 1
                deepest = max(deepest, depth)
                if depth > self._max_depth or len(words) > self._max_words:
                    return None
            limits, total, right_sides = rule
            pending += right_sides[bisect_right(limits, uniform() * total)]
        return AgreementSentence(tuple(words), True, deepest) if len(words) <= self._max_words else None


def deep_productions() -> Iterator[Production]:
    """The productions of the agreement grammar with weights that make many relative clauses (REC-GEN)."""
    weights = {left: iter(values) for left, values in _DEEP.items()}
    for production in default_grammar().productions:
        if production.left in weights:
            production = replace(production, probability=next(weights[production.left]))
        yield production


def depth_of(sentence: AgreementSentence) -> int:
    """The depth, to sort by."""
    return sentence.depth


def find_verbs(words: Sequence[str]) -> list[int]:
    """The places of the verbs."""
    verbs = _lexicon().verbs
    return [place for place, word in enumerate(words) if word in verbs]


def change_verbs(sentence: AgreementSentence, places: Iterable[int]) -> AgreementSentence:
    """Put the verbs at some places into the other number and call the sentence invalid.

    It may be a sentence of the grammar nevertheless, for the verb may find another subject: with "thinks",
    "they kick the boy that laughs and think" says what the boy does.
    """
    words = list(sentence.words)
    for place in places:
        words[place] = _lexicon().other_number[words[place]]
    return AgreementSentence(tuple(words), False, sentence.depth)


def linear_failures(words: Sequence[str]) -> list[int]:
    """The verbs that break the linear rule, by their places (Ginn 2024, Section 2.2).

    The rule is that a verb agrees with the nearest noun or pronoun to its left, whatever its subject is. I
    and you, me and us count as plural, as what goes with a verb without -s.
    """
    nouns, verbs, _ = _lexicon()
    nearest = None
    failures = []
    for place, word in enumerate(words):
        if word in nouns:
            nearest = nouns[word]
        elif word in verbs and verbs[word] != nearest:
            failures.append(place)
    return failures


def follows_linear_rule(sentence: AgreementSentence) -> bool:
    """Whether the linear rule, a sentence is valid if no verb breaks it, gives the label."""
    return sentence.valid is not bool(linear_failures(sentence.words))


class _Lexicon(NamedTuple):
    """Words of the agreement grammar; numbers are True for singular."""

    nouns: dict[str, bool]  # and pronouns
    verbs: dict[str, bool]
    other_number: dict[str, str]  # of a verb


@cache
def _lexicon() -> _Lexicon:
    words: dict[str, list[str]] = defaultdict(list)
    for production in default_grammar().productions:
        if production.right[0].is_terminal:
            words[production.left].append(production.right[0].name)
    one, many = words["VI_s"] + words["VT_s"], words["VI"] + words["VT"]
    return _Lexicon(
        nouns=dict.fromkeys(words["N_common"] + words["NP_3Sg_nom"], True)
        | dict.fromkeys(words["N_common_s"] + words["NP_nom"] + words["NP_acc"], False),
        verbs=dict.fromkeys(one, True) | dict.fromkeys(many, False),
        other_number=dict(zip(one + many, many + one, strict=True)),
    )
