"""How much of what is scored also stands in the text that trains, for the corpora of the rows.

    python -m lab.overlap

The command writes benchmarks/results/overlap.json, which docs/results.md shows. It needs the corpora.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from treeformers.data.corpora import load
from treeformers.data.examples import LabeledText, TextPair
from treeformers.data.text import normalize_word
from treeformers.training.provenance import commit
from treeformers.trees.dependency import DependencyTree
from treeformers.trees.escapes import unescape_word
from treeformers.trees.files import write_json
from treeformers.trees.tree import Tree

__all__ = ["PAIRS", "Overlap", "count_overlap", "main", "texts_of"]

ROOT = Path(__file__).parents[1]
OUT = ROOT / "benchmarks" / "results" / "overlap.json"
PAIRS: tuple[tuple[str, str], ...] = (
    ("wsj-text", "wsj-sample"),
    ("wsj-sample", "wsj-sample"),
    ("craft", "craft"),
    ("genia", "genia"),
    ("gum", "gum"),
    ("masc", "masc"),
    ("masc", "wsj-sample"),
    ("masc", "gum"),
    ("sst-5", "sst-5"),
    ("sick", "sick"),
    ("msrp", "msrp"),
    ("imdb", "imdb"),
    ("multi30k", "multi30k"),
    ("tatoeba-de-en", "tatoeba-de-en"),
    ("agreement-linzen", "agreement-linzen"),
    ("agreement-ud", "agreement-ud"),
    ("agreement-id", "agreement-id"),
    ("agreement-id", "agreement-gen"),
)
"""Training corpus and scored corpus of the rows. wsj-text is scored against the whole of wsj-sample."""
NEAR = 0.8
"""Share of the word pairs of a text that one training text must hold, for the text to be near to it."""
_RARE = 5
"""Number of the rarest word pairs of a text by which near training texts are looked up."""
_WORD = re.compile(r"\w")


class Overlap(NamedTuple):
    """How many scored texts stand in the training text, exactly or nearly.

    Attributes:
        texts: number of scored texts.
        exact: number of texts that equal a training text. Case, punctuation and numbers do not count.
        near: number of texts that equal a training text, or share `NEAR` of their word pairs with one.
    """

    texts: int
    exact: int
    near: int


def texts_of(example: Any) -> list[str]:
    """The English texts of an example of any corpus."""
    match example:
        case Tree() | DependencyTree():
            return [" ".join(map(unescape_word, example.words))]
        case LabeledText():
            return texts_of(example.text)
        case TextPair():
            return [*texts_of(example.first), *texts_of(example.second)]
        case dict():
            return [example["en"]]
    return [str(example)]


def count_overlap(train: Iterable[Sequence[str]], scored: Iterable[Sequence[str]]) -> Overlap:
    """Count the scored examples whose texts all stand in the training text.

    Args:
        train: the texts of each training example. An example of two texts stands for the pair.
        scored: the texts of each scored example.
    """
    known = [_keys(texts) for texts in train]
    exact = set(known)
    holders: dict[tuple[str, str], set[int]] = defaultdict(set)
    bigrams = [set(_bigrams(texts)) for texts in known]
    for number, found in enumerate(bigrams):
        for bigram in found:
            holders[bigram].add(number)
    texts = equal = near = 0
    for example in scored:
        key = _keys(example)
        texts += 1
        if key in exact:
            equal += 1
            near += 1
            continue
        own = set(_bigrams(key))
        rare = sorted(
            (bigram for bigram in own if bigram in holders), key=lambda one: (len(holders[one]), one)
        )
        candidates = set().union(*(holders[bigram] for bigram in rare[:_RARE])) if rare else set()
        near += any(len(own & bigrams[number]) >= NEAR * len(own) for number in candidates)
    return Overlap(texts, equal, near)


def _keys(texts: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """The words of the texts of an example that count, in any order of the texts."""
    return tuple(
        sorted(tuple(normalize_word(word) for word in text.split() if _WORD.search(word)) for text in texts)
    )


def _bigrams(texts: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    for words in texts:
        yield from pairwise(words)


def main(arguments: list[str] | None = None) -> None:
    """Count the overlap of all pairs, and write the results file."""
    argparse.ArgumentParser(prog="python -m lab.overlap", description=__doc__).parse_args(arguments)
    rows = []
    for train, scored in PAIRS:
        training = map(texts_of, load(train)["train"])
        splits = load(scored)
        gold = [one for part in splits.values() for one in part] if train == "wsj-text" else splits["test"]
        rows.append(
            {"train": train, "scored": scored, **count_overlap(training, map(texts_of, gold))._asdict()}
        )
        sys.stdout.write(f"{json.dumps(rows[-1])}\n")
    write_json(OUT, {"pairs": rows, "commit": commit(), "date": datetime.now(UTC).date().isoformat()})


if __name__ == "__main__":
    main()
