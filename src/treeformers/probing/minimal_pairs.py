"""What a masked language model finds grammatical: minimal pairs, and agreement across attractors."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

import numpy as np

from treeformers.data.examples import LabeledText
from treeformers.data.minimal_pairs import MinimalPair
from treeformers.data.penn_tokenizer import word_tokenize
from treeformers.metrics.statistics import binomial_interval, binomial_test

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["VERBS", "Accuracy", "MaskedModel", "choose", "score_agreement", "score_minimal_pairs"]

VERBS = (
    *(("is", "are"), ("has", "have"), ("does", "do"), ("says", "say"), ("goes", "go"), ("makes", "make")),
    *(("takes", "take"), ("comes", "come"), ("gets", "get"), ("gives", "give"), ("runs", "run")),
    *(("lives", "live"), ("works", "work"), ("includes", "include"), ("contains", "contain")),
    *(("remains", "remain"), ("becomes", "become"), ("appears", "appear"), ("consists", "consist")),
)
"""Frequent verbs, in the singular and in the plural."""
T = TypeVar("T")

MOST_ATTRACTORS = 5  # reported apart
TOTAL = "all"


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How often a model is right; shares in per cent.

    Attributes:
        test: what was asked, such as "blimp".
        case: the phenomenon, "PHENOMENON: PARADIGM", the number of attractors, or "all".
        trials: how often it was asked.
        correct: how often it was right.
        share: correct, of the trials.
        low: lower end of the 95 % interval of the share (Clopper and Pearson).
        high: its upper end.
        p_value: of as many if the model guessed (exact, two-sided).
        skipped: what is left out of the trials: pairs whose sentences are the same (BLiMP has seven such), or
            differ in words that the vocabulary does not have, and what the model finds equally probable, as
            it does where it knows none of the words that tell.
    """

    test: str
    case: str
    trials: int
    correct: int
    share: float
    low: float
    high: float
    p_value: float
    skipped: int = 0


@runtime_checkable
class MaskedModel(Protocol):
    """What can be asked: `treeformers.tasks.induce.predictor.Inducer` can."""

    def pseudo_log_likelihoods(
        self, sentences: Sequence[Sequence[str]], batch_size: int = 64
    ) -> list[tuple[float, tuple[str, ...]]]: ...

    def token_id(self, word: str) -> int | None: ...

    def next_words(
        self, prefixes: Sequence[Sequence[str]], words: Sequence[str], batch_size: int = 64
    ) -> NDArray[np.float64]: ...


def choose(items: Iterable[T], group: Callable[[T], str], each: int, seed: int = 0) -> list[T]:
    """At most so many of each group, drawn without replacement; 0 for all.

    A minimal pair takes a forward pass for each word of both sentences: all 67,000 of BLiMP are a million.
    """
    generator = random.Random(seed)
    groups: dict[str, list[T]] = {}
    for item in items:
        groups.setdefault(group(item), []).append(item)
    return [
        item
        for items in groups.values()
        for item in (items if not each or len(items) <= each else generator.sample(items, each))
    ]


def score_minimal_pairs(
    model: MaskedModel, pairs: Sequence[MinimalPair], test: str, batch_size: int = 64
) -> list[Accuracy]:
    """Ask which sentence of each pair is more probable.

    Sentences compare by pseudo-log-likelihood (Salazar et al. 2020): the sum of the log-probabilities of
    their words, each masked alone, a word of several tokens as one. They are cut into words as the Penn
    Treebank cuts them. Words that the vocabulary does not have are left out of the sum; if those of the two
    sentences differ, the pair is skipped: one sum would have more terms. So is one whose sums are equal.

    Args:
        model: of masked words.
        pairs: the pairs.
        test: what they are called.
        batch_size: words computed at once.

    Returns:
        All pairs together, then each phenomenon, then each paradigm.
    """
    sentences: dict[str, int] = {}
    for pair in pairs:
        for sentence in pair[:2]:
            sentences.setdefault(sentence, len(sentences))
    cut = [word_tokenize(sentence) for sentence in sentences]
    found = model.pseudo_log_likelihoods(cut, batch_size)
    outcomes: dict[str, list[bool | None]] = {TOTAL: []}
    for phenomenon in sorted({pair.phenomenon for pair in pairs}):
        outcomes[phenomenon] = []
    for pair in sorted(pairs, key=lambda pair: (pair.phenomenon, pair.paradigm)):
        good, bad = (found[sentences[sentence]] for sentence in pair[:2])
        comparable = good[0] != bad[0] and sorted(good[1]) == sorted(bad[1])
        for case in (TOTAL, pair.phenomenon, f"{pair.phenomenon}: {pair.paradigm}"):
            outcomes.setdefault(case, []).append(good[0] > bad[0] if comparable else None)
    return [_accuracy(test, case, answers) for case, answers in outcomes.items() if answers]


def score_agreement(
    model: MaskedModel, examples: Sequence[LabeledText], test: str, batch_size: int = 64
) -> list[Accuracy]:
    """Ask for the number of the verb after a prefix, by the nouns of the other number before it.

    A masked word stands at the end of the prefix, and nothing follows. The model says singular (VBZ) where
    the singular forms of `VERBS` together are more probable there than the plural ones; verbs count whose
    forms are both one token of its vocabulary. (Linzen et al. (2016) train a classifier; this asks the
    language model itself.)

    Args:
        model: of masked words.
        examples: prefixes labelled VBZ or VBP, in groups by the number of attractors; those without a group
            are left out.
        test: what they are called.
        batch_size: prefixes computed at once.

    Returns:
        All together, then by attractors; more than five are one group.

    Raises:
        ValueError: no example has a number of attractors, or the vocabulary has no verb with both forms.
    """
    asked = [example for example in examples if example.group.isdecimal() and isinstance(example.text, str)]
    if not asked:
        raise ValueError(f"{test}: no prefixes with a number of attractors")
    verbs = [pair for pair in VERBS if all(model.token_id(verb) is not None for verb in pair)]
    if not verbs:
        raise ValueError(f"{test}: the model's vocabulary has no verb in both numbers, such as is and are")
    words = [form for pair in verbs for form in pair]
    prefixes = [str(example.text).split() for example in asked]
    scores = np.exp(model.next_words(prefixes, words, batch_size))
    singular = scores[:, ::2].sum(1) - scores[:, 1::2].sum(1)
    cases = {name: name for name in map(str, range(MOST_ATTRACTORS + 1))}
    outcomes: dict[str, list[bool | None]] = {TOTAL: [], **{name: [] for name in cases}}
    for example, difference in zip(asked, singular, strict=True):
        right = bool((difference > 0) == (example.label == "VBZ")) if difference else None
        outcomes[TOTAL].append(right)
        case = cases.get(str(int(example.group)), f"more than {MOST_ATTRACTORS}")
        outcomes.setdefault(case, []).append(right)
    return [_accuracy(test, case, answers) for case, answers in outcomes.items() if answers]


def _accuracy(test: str, case: str, outcomes: Sequence[bool | None]) -> Accuracy:
    answers = [outcome for outcome in outcomes if outcome is not None]
    skipped = len(outcomes) - len(answers)
    if not answers:
        return Accuracy(test, case, 0, 0, 0.0, 0.0, 100.0, 1.0, skipped)
    correct = sum(answers)
    low, high = binomial_interval(correct, len(answers))
    p_value = binomial_test(correct, [0.5] * len(answers))
    share = 100 * correct / len(answers)
    return Accuracy(test, case, len(answers), correct, share, 100 * low, 100 * high, p_value, skipped)
