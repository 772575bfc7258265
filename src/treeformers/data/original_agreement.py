"""The data of Ginn (2024), Section 5, by the procedure of the released generator, its faults included.

What sets it apart from the clean data is said in `treeformers.data.agreement`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import filterfalse, islice
from random import Random

from treeformers.data.agreement_errors import (
    AgreementPair,
    AgreementSentence,
    Sampler,
    change_verbs,
    deep_productions,
    depth_of,
    find_verbs,
    follows_linear_rule,
)
from treeformers.data.grammar import Production, default_grammar

__all__ = ["original_gen", "original_id", "original_rec_gen"]

# The test part of rec-gen has the least deep ones; none is as deep as this, so that deeper draws can stop.
_MAX_DEPTH = 12


@cache
def original_id(seed: int, n: int) -> tuple[AgreementPair, ...]:
    """So many pairs of "id", in random order."""
    generator = Random(seed)
    sampler = Sampler(_as_printed(default_grammar().productions))
    valid = list(sampler.draw(generator, n))
    pairs = _paired("id", n, valid, _violate(list(sampler.draw(generator, n)), generator))
    return tuple(generator.sample(pairs, n))


@cache
def original_gen(seed: int, ruled: int, tested: int) -> tuple[tuple[AgreementPair, ...], tuple[AgreementPair, ...]]:
    """The pairs of "gen" that the linear rule tells apart, `ruled` of them, and as many as `tested` that it
    gets wrong."""
    generator = Random(seed)
    sampler = Sampler(_as_printed(default_grammar().productions))
    scale = max(ruled / 1600, tested / 400)
    valid = list(sampler.draw(generator, math.ceil(20_000 * scale)))
    drawn = list(sampler.draw(generator, math.ceil(200_000 * scale)))  # all of them before a verb is changed
    invalid = list(_violate(drawn, generator))
    told, wrong = (
        [chosen(follows_linear_rule, kind) for kind in (valid, invalid)] for chosen in (filter, filterfalse)
    )
    train = _paired("gen train and validation", ruled, *told)
    return tuple(generator.sample(train, ruled)), tuple(_paired("gen test", tested, *wrong))


@cache
def original_rec_gen(seed: int, tested: int) -> tuple[AgreementPair, ...]:
    """The pairs of the test part of "rec-gen", both kinds ascending in depth."""
    generator = Random(seed)
    sampler = Sampler(_as_printed(deep_productions()), _MAX_DEPTH)

    def draw(n: int) -> Iterator[AgreementSentence]:
        """What breaks the linear rule before a verb is changed, as nothing else can keep it afterwards."""
        return (one for one in sampler.draw(generator, n) if one.depth > 3 and not follows_linear_rule(one))

    valid = list(draw(5 * tested))
    invalid = filterfalse(follows_linear_rule, _violate(draw(750 * tested), generator))
    return tuple(_paired("rec-gen test", tested, sorted(valid, key=depth_of), sorted(invalid, key=depth_of)))


def _paired(part: str, n: int, valid: Iterable[AgreementSentence], invalid: Iterable[AgreementSentence]) -> list[AgreementPair]:
    """The first `n` of each."""
    pairs = list(islice(zip(valid, invalid, strict=False), n))
    if len(pairs) < n:
        raise ValueError(f"{part}: the released procedure gives {len(pairs)} pairs, expected {n}")
    return pairs


def _violate(sentences: Iterable[AgreementSentence], generator: Random) -> Iterator[AgreementSentence]:
    """Change the number of any number of verbs."""
    for sentence in sentences:
        verbs = find_verbs(sentence.words)
        yield change_verbs(sentence, generator.sample(verbs, generator.randint(1, len(verbs))))


def _as_printed(productions: Iterable[Production]) -> Iterator[Production]:
    """The productions with 'cat' twice among the nouns, for the random numbers to give the released nouns."""
    cats = {}
    for production in productions:
        word = production.right[0].name
        if word in ("cat", "cats"):
            production = cats[production.left] = replace(production, probability=production.probability / 2)
        elif word in ("bird", "birds"):
            yield cats[production.left]
        yield production
