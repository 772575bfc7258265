"""Scores of trees against gold trees, and how each was computed.

Figures of trees are percentages. The `signature` of a score names every choice that changes the figure,
so two scores compare exactly when their signatures are equal.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, compress
from typing import Literal, TypeVar

from treeformers.metrics.comparison import paired, percent, signature
from treeformers.trees.escapes import escape_word
from treeformers.trees.punctuation import is_word, strip_punctuation
from treeformers.trees.tree import Span, Tree

__all__ = [
    "ParsevalScore",
    "SentenceScore",
    "UnlabeledScore",
    "binary_upper_bound",
    "parseval",
    "unlabeled_f1",
]

Protocol = Literal["on-lstm", "kim", "tn"]
Guess = TypeVar("Guess", Tree, Tree | None)
PROTOCOLS = ("on-lstm", "kim", "tn")

# COLLINS.prm, the parameter file of evalb that the field reports with.
EVALB_DELETED = frozenset({"TOP", "-NONE-", ",", ":", "``", "''", "."})
EVALB_EQUAL = {"PRT": "ADVP"}


@dataclass(frozen=True, slots=True)
class UnlabeledScore:
    """Unlabelled bracketing of induced trees, in percent.

    Attributes:
        sentence_f1: mean of the F1 of the sentences, the figure papers call F1.
        corpus_f1: F1 of the counts summed over the sentences.
        recall_by_label: share of the gold constituents of each label that the predicted trees
            have; frequent labels first.
        sentences: number of sentences scored.
        spans_per_sentence: mean number of predicted constituents, trivial ones not counted.
        flat_share: share of the sentences of more than two words predicted without any
            constituent. A threshold parser over weak links returns no structure without a word.
        signature: how all this was computed.
    """

    sentence_f1: float
    corpus_f1: float
    recall_by_label: dict[str, float]
    sentences: int
    spans_per_sentence: float
    flat_share: float
    signature: str

    def __str__(self) -> str:
        return f"F1 {self.sentence_f1:.2f} (corpus {self.corpus_f1:.2f}, {self.signature})"


@dataclass(frozen=True, slots=True)
class SentenceScore:
    """One line of evalb's report.

    Attributes:
        status: 0 scored, 1 error (other words or another length), 2 skipped (no parse).
        length: words of the gold tree, punctuation included, traces not.
        matched: brackets in both trees.
        gold: brackets of the gold tree.
        predicted: brackets of the predicted tree.
        crossing: predicted brackets that cross a gold one.
        words: words compared, without punctuation.
        correct_tags: words with the same tag in both trees.
    """

    status: int
    length: int
    matched: int = 0
    gold: int = 0
    predicted: int = 0
    crossing: int = 0
    words: int = 0
    correct_tags: int = 0


@dataclass(frozen=True, slots=True)
class ParsevalScore:
    """Labelled bracketing, in percent.

    Attributes:
        recall: matched brackets of the gold brackets.
        precision: matched brackets of the predicted brackets.
        f1: their harmonic mean; nan, as evalb prints it, when nothing at all matches.
        exact_match: sentences without an error among those that count.
        tagging_accuracy: words with the right tag.
        sentences: number of sentences, within the cutoff where there is one.
        skipped: sentences that have no parse, or a parse over other words.
        signature: how all this was computed.
        by_sentence: the counts of each of the `sentences`, in order.
    """

    recall: float
    precision: float
    f1: float
    exact_match: float
    tagging_accuracy: float
    sentences: int
    skipped: int
    signature: str
    by_sentence: tuple[SentenceScore, ...]

    def __str__(self) -> str:
        return f"F1 {self.f1:.2f} (R {self.recall:.2f}, P {self.precision:.2f}, {self.signature})"


def unlabeled_f1(
    gold: Iterable[Tree],
    predicted: Iterable[Tree],
    max_length: int | None = None,
    min_length: int = 1,
    protocol: Protocol = "on-lstm",
    recall_root: bool = False,
) -> UnlabeledScore:
    """Unlabelled F1 of induced trees, by the protocol of the grammar induction literature.

    Punctuation, currency signs and traces are removed by the gold tags (see
    `treeformers.trees.punctuation.is_word`); constituents of one word and the whole sentence do
    not count; a sentence where neither tree has any other constituent has F1 100. Sentences
    without words are left out. Copies of a constituent, as where only punctuation stood beside it, count
    in gold trees alone, where a protocol says so: its own predictions are trees over the words left.

    Args:
        gold: gold trees, any tags and labels.
        predicted: trees over the same words as the gold ones, in the same order; traces, or
            traces and punctuation, may be missing from them.
        max_length: score only sentences of at most so many words, counted without punctuation
            (WSJ-10: 10).
        min_length: score only sentences of at least so many words. Sentences of one and two words
            are right by definition; 3 leaves them out.
        protocol: whose evaluation to follow where they differ.
            "on-lstm": PRPN, ON-LSTM and the Tree Transformer (Wang et al. 2019); constituents are
            sets, sentences of one word count with F1 100.
            "kim": Compound PCFG (Kim et al. 2019); sentences of one word are left out, and where
            the root of a gold tree has a single child over the whole sentence, that copy of the root
            counts, and no prediction has it.
            "tn": TN-PCFG (Yang et al. 2021); sentences of one word are left out, and in the corpus
            F1 each node of a unary chain of a gold tree counts by itself where it is missed.
        recall_root: count the whole sentence as a constituent of its label in `recall_by_label`,
            as ON-LSTM does. Off as in Compound PCFG.

    Raises:
        ValueError: different numbers of trees, something that is no tree, trees over other words (the
            message names the sentence, counted from 1), nothing to score, or an unknown protocol.
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"unknown protocol {protocol!r}: expected one of {', '.join(PROTOCOLS)}")
    shortest = max(min_length, 1 if protocol == "on-lstm" else 2)
    f1s: list[float] = []
    n_spans: list[int] = []
    flat: list[bool] = []
    hit = extra = missed = 0
    found: Counter[str] = Counter()
    wanted: Counter[str] = Counter()
    for number, (gold_tree, predicted_tree) in enumerate(paired(gold, predicted, Tree), start=1):
        keep, predicted_keep = _alignment(gold_tree, predicted_tree, number)
        n_words = sum(keep)
        if n_words < shortest or (max_length is not None and n_words > max_length):
            continue
        gold_spans = _constituents(gold_tree, keep)
        golds = _counted(gold_spans, n_words, protocol)
        gold_set = set(golds)
        guesses = _constituents(predicted_tree, predicted_keep)
        guess_set = {(start, end) for start, end, _ in guesses if end - start < n_words}
        if gold_set or guess_set:
            f1s.append(200 * len(gold_set & guess_set) / (len(gold_set) + len(guess_set)))
        else:
            f1s.append(100.0)
        if protocol != "tn":
            golds = list(gold_set)
        hit += len(guess_set & gold_set)
        extra += len(guess_set - gold_set)
        missed += sum(span not in guess_set for span in golds)

        whole = (0, n_words)
        n_spans.append(len(guess_set))
        if n_words > 2:
            flat.append(n_spans[-1] == 0)
        for start, end, label in {(start, end, _category(label)) for start, end, label in gold_spans}:
            if recall_root or (start, end) != whole:
                wanted[label] += 1
                found[label] += (start, end) == whole or (start, end) in guess_set
    if not f1s:
        within = "" if max_length is None else f" and at most {max_length}"
        raise ValueError(f"no sentences of at least {shortest}{within} words to score")
    return UnlabeledScore(
        sentence_f1=math.fsum(f1s) / len(f1s),
        corpus_f1=percent(2 * hit, 2 * hit + extra + missed, empty=100.0),
        recall_by_label={label: percent(found[label], n) for label, n in wanted.most_common()},
        sentences=len(f1s),
        spans_per_sentence=sum(n_spans) / len(n_spans),
        flat_share=percent(sum(flat), len(flat)),
        signature=signature(
            "unlabeled-f1",
            average="sentence",
            protocol=protocol,
            spans="list" if protocol == "tn" else "set",
            trivial="out",
            punct="out",
            root="first-out" if protocol == "kim" else "out",
            recall_root="in" if recall_root else "out",
            min_length=shortest,
            max_length=max_length,
        ),
    )


def binary_upper_bound(
    gold: Iterable[Tree],
    max_length: int | None = None,
    min_length: int = 1,
    protocol: Protocol = "on-lstm",
) -> UnlabeledScore:
    """The best `unlabeled_f1` that binary trees can reach.

    A binary tree over T words has T - 2 constituents that count; the best one has all the gold
    ones among them, and how it fills the rest makes no difference.
    """
    trees = list(gold)
    best = [(strip_punctuation(tree) or tree).fold(_binarize) for tree in trees]
    return unlabeled_f1(trees, best, max_length=max_length, min_length=min_length, protocol=protocol)


def parseval(
    gold: Iterable[Tree],
    predicted: Iterable[Tree | None],
    cutoff: int | None = None,
    missing: Literal["out", "zero"] = "out",
) -> ParsevalScore:
    """Labelled recall, precision and F1 as the program evalb gives them with COLLINS.prm.

    Leaves tagged TOP, -NONE- or as punctuation go with their words, constituents left empty go
    too; labels are cut at the first "-" or "="; TOP does not count (ROOT, S1 and an empty label
    do); ADVP and PRT are one label; equal constituents match one to one; counts are summed over
    sentences. A sentence with another number of words, with other words (an error) or without a
    parse (skipped) drops out of all totals. Deletion goes by tag: a parser that predicts no tags
    must copy given ones, or every sentence with punctuation is an error.

    Different from evalb: no stop after the eleventh error, no limits on words, brackets or line
    length, and two files of different length are an error instead of a warning.

    Args:
        gold: gold trees as they stand in the treebank, traces and function tags included.
        predicted: predicted trees; None where there is no parse.
        cutoff: score only sentences of at most so many words, punctuation included (evalb's second
            table: 40).
        missing: "out" as evalb does; "zero" keeps the gold brackets and words of a sentence with
            an error or without a parse, so that it costs recall and tagging accuracy, and gives an
            F1 of 0 instead of nan.

    Raises:
        ValueError: different numbers of trees, something that is no tree, or another value of `missing`.
    """
    if missing not in ("out", "zero"):
        raise ValueError(f"unknown value {missing!r} of missing: expected 'out' or 'zero'")
    scores = [
        score
        for gold_tree, predicted_tree in paired(gold, predicted, Tree, missing=True)
        if (score := _evalb_sentence(gold_tree, predicted_tree, missing == "zero")).length
        <= (math.inf if cutoff is None else cutoff)
    ]
    counted = [score for score in scores if missing == "zero" or not score.status]
    matched = sum(score.matched for score in counted)
    recall = percent(matched, sum(score.gold for score in counted))
    precision = percent(matched, sum(score.predicted for score in counted))
    no_match = 0.0 if missing == "zero" else math.nan
    return ParsevalScore(
        recall=recall,
        precision=precision,
        f1=2 * precision * recall / (precision + recall) if matched else no_match,
        exact_match=percent(
            sum(not s.status and s.gold == s.predicted == s.matched for s in counted), len(counted)
        ),
        tagging_accuracy=percent(sum(s.correct_tags for s in counted), sum(s.words for s in counted)),
        sentences=len(scores),
        skipped=sum(score.status > 0 for score in scores),
        signature=signature(
            "parseval",
            labels="collins",
            average="corpus",
            missing=missing,
            max_errors=None,
            max_length=cutoff,
        ),
        by_sentence=tuple(scores),
    )


def _alignment(gold: Tree, predicted: Tree, number: int) -> tuple[list[bool], list[bool]]:
    """Which leaves of the gold tree count, and which of the predicted tree."""
    leaves, guessed = gold.leaves, predicted.leaves
    keep = [is_word(leaf) for leaf in leaves]
    if [leaf.word for leaf in leaves] == [leaf.word for leaf in guessed]:
        return keep, keep
    words = _words(guessed)
    untraced = [leaf.label != "-NONE-" for leaf in leaves]
    readings = [[True] * len(leaves), untraced, keep]
    for present in readings:
        if words == _words(compress(leaves, present)):
            return keep, list(compress(keep, present))
    wanted = max(
        (_words(compress(leaves, present)) for present in readings),
        key=lambda reading: (_alike(words, reading), len(words) == len(reading)),
    )
    first = _alike(words, wanted)
    given, expected = (repr(row[first]) if first < len(row) else "nothing" for row in (words, wanted))
    raise ValueError(
        f"sentence {number}: the predicted tree has other words than the gold tree: "
        f"{len(words)} for {len(leaves)} ({sum(keep)} without punctuation), first {given} for {expected}"
    )


def _words(leaves: Iterable[Tree]) -> list[str]:
    """Words as brackets write them: a file of JSON lines has "(" where one of brackets has "-LRB-"."""
    return [escape_word(leaf.word or "") for leaf in leaves]


def _alike(words: Sequence[str], others: Sequence[str]) -> int:
    """How many words are the same before the first that is not."""
    pairs = enumerate(zip(words, others, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(words), len(others)))


def _renumbered(tree: Tree, keep: Sequence[bool]) -> list[Span]:
    """The spans of a tree, in pre-order, over the leaves kept; they may be empty."""
    position = list(accumulate(keep, initial=0))
    return [Span(position[start], position[end], label) for start, end, label in tree.spans()]


def _constituents(tree: Tree, keep: Sequence[bool]) -> list[Span]:
    return [span for span in _renumbered(tree.unwrap_root(), keep) if span.end - span.start > 1]


def _counted(spans: list[Span], n_words: int, protocol: Protocol) -> list[tuple[int, int]]:
    """The gold spans that count, by protocol: not the whole sentence, or not its first copy."""
    if protocol == "kim":
        return [(start, end) for start, end, _ in spans[1:]]
    return [(start, end) for start, end, _ in spans if end - start < n_words]


def _binarize(node: Tree, children: list[Tree]) -> Tree:
    while len(children) > 2:
        children[-2:] = [Tree("X", tuple(children[-2:]))]
    if len(children) == 2:
        return Tree(node.label, tuple(children))
    return children[0] if children else node


def _evalb_sentence(gold: Tree, predicted: Tree | None, keep_gold: bool) -> SentenceScore:
    length = sum(tag != "-NONE-" for tag in gold.tags)
    brackets, leaves = _evalb_brackets(gold)
    failed = SentenceScore(1, length)
    if keep_gold:
        failed = SentenceScore(1, length, gold=len(brackets), words=len(leaves))
    guesses, guessed_leaves = _evalb_brackets(predicted) if predicted is not None else ([], [])
    if not guessed_leaves:
        return SentenceScore(2, length, gold=failed.gold, words=failed.words)
    if _words(leaves) != _words(guessed_leaves):
        return failed
    return SentenceScore(
        status=0,
        length=length,
        matched=(Counter(brackets) & Counter(guesses)).total(),
        gold=len(brackets),
        predicted=len(guesses),
        crossing=sum(any(_cross(guess, bracket) for bracket in brackets) for guess in guesses),
        words=len(leaves),
        correct_tags=sum(
            EVALB_EQUAL.get(a.label, a.label) == EVALB_EQUAL.get(b.label, b.label)
            for a, b in zip(leaves, guessed_leaves, strict=True)
        ),
    )


def _evalb_brackets(tree: Tree) -> tuple[list[Span], list[Tree]]:
    """The brackets and the leaves that evalb compares."""
    leaves = tree.leaves
    keep = [leaf.label not in EVALB_DELETED for leaf in leaves]
    brackets = []
    for start, end, label in _renumbered(tree, keep):
        label = _category(label)
        if start < end and label not in EVALB_DELETED:
            brackets.append(Span(start, end, EVALB_EQUAL.get(label, label)))
    return brackets, [leaf for leaf, kept in zip(leaves, keep, strict=True) if kept]


def _cross(a: Span, b: Span) -> bool:
    return a.start < b.start < a.end < b.end or b.start < a.start < b.end < a.end


def _category(label: str) -> str:
    """NP-SBJ-1 and NP=2 are NP; a label that begins with "-" is empty, as in evalb."""
    return label.partition("-")[0].partition("=")[0]
