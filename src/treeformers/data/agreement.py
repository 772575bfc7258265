"""Sentences to be judged for agreement: the data of the experiments of Ginn (2024), Section 5.

Every sentence comes from the grammar of Appendix A; an invalid one has a verb in the wrong number. Depth is
the number of relative clauses in one another. There are three sets:

- "id": training and test sentences of one kind;
- "gen": in training the linear rule, that a verb agrees with the nearest noun or pronoun to its left, gives
  every label; in the test part it gives none;
- "rec-gen": the training and validation parts of "gen", and a test part of far deeper sentences.

Of each there is a clean version and one as published.

Clean: an invalid sentence has one verb in the other number, as the paper says; the grammar confirms every
label; no sentence stands twice in a set; and in every part valid and invalid sentences come in pairs of one
depth and one length, so that neither tells the label. In the test parts of "gen" and "rec-gen" both are made
of sentences in which just one verb breaks the linear rule; the invalid ones have it in the other number.
"id" and "gen" are as deep as the grammar makes them and at most 4 deep (means 0.2 and, in the test part of
"gen", 0.9, as the paper says); without repetitions they are a word longer. The test part of "rec-gen" has as
many pairs of each depth from 5 to 12, of which the mean is the paper's 8.5. No sentence has more than 98
words.

As published: what the released generator does, which is not quite what the paper says. An invalid sentence
has any number of its verbs changed, which at times makes another sentence of the grammar; sentences repeat,
within parts and between them; the test part of "rec-gen" has the least deep, ascending, of those that are
more than 3 deep, which makes valid sentences longer than invalid ones, and its mean depth 5, not 8.5.
Sentences are whole: the released training script cut what goes into the model at 100 tokens, [CLS] and [SEP]
included, and whoever wants its figures has to do so too. The random numbers of "id" and "gen" are those of
the released generator, but how its sentences were divided into parts is not known.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import chain, cycle, islice
from pathlib import Path
from random import Random
from typing import Literal, TypeAlias, get_args

from treeformers.data.agreement_errors import (
    Judged,
    Pair,
    Sampler,
    change_verbs,
    deep_productions,
    depth_of,
    find_verbs,
    follows_linear_rule,
    linear_failures,
)
from treeformers.data.grammar import default_grammar
from treeformers.data.original_agreement import released_gen, released_id, released_rec_gen
from treeformers.data.recognizer import Recognizer
from treeformers.data.tables import read_rows
from treeformers.trees.files import atomic_write

__all__ = [
    "RELEASED_WORDS",
    "SETS",
    "SIZES",
    "Judged",
    "PartSummary",
    "SetName",
    "is_grammatical",
    "make_set",
    "make_sets",
    "read_judged",
    "summarise",
    "write_sets",
]

SetName: TypeAlias = Literal["id", "gen", "rec-gen"]
SETS: tuple[SetName, ...] = get_args(SetName)

SIZES = (2400, 800, 800)
"""Sentences of the training, validation and test parts."""

RELEASED_WORDS = 98
"""Words of which the released training script saw no more: 100 tokens with [CLS] and [SEP]."""

_Part: TypeAlias = Literal["id", "gen train and validation", "gen test", "rec-gen test"]

_SPLITS = ("train", "validation", "test")
_COLUMNS = ("label", "text", "group")
_USUAL_DEPTH = 4  # one sentence in 100,000 is deeper
_DEPTHS = range(5, 13)  # of the clean test part of rec-gen
_DRAWS = 1_000_000


@dataclass(frozen=True, slots=True)
class PartSummary:
    """What a part of a set holds, and what other than agreement gives its labels away.

    Attributes:
        sentences: number of sentences.
        valid: how many are labelled valid.
        depth: mean depth.
        depths: mean depth of the valid and of the invalid ones.
        words: mean length of the valid and of the invalid ones.
        repeated: sentences that stand in the training part too; of that part itself, that stand in it before.
        mislabelled: sentences whose label the grammar contradicts.
        over_limit: sentences of more than `RELEASED_WORDS` words.
        linear: per cent of the labels that the linear rule gives.
        length: per cent, over both labels alike, that the best limit on the number of words gives.
    """

    sentences: int
    valid: int
    depth: float
    depths: tuple[float, float]
    words: tuple[float, float]
    repeated: int
    mislabelled: int
    over_limit: int
    linear: float
    length: float


def is_grammatical(words: Sequence[str]) -> bool:
    """Whether words are a sentence of the agreement grammar (`default_grammar`), by `Recognizer`."""
    return _recognizer().accepts(words)


def make_set(
    name: SetName, seed: int = 1, clean: bool = True, sizes: Sequence[int] = SIZES
) -> dict[str, list[Judged]]:
    """Make one set; what it takes is kept, so that a second call costs nothing.

    Args:
        name: "id", "gen" or "rec-gen".
        seed: of the samples. With 1, a set as published has the released generator's own sentences.
        clean: the clean version rather than the one as published; see the head of this module.
        sizes: sentences of the training, validation and test parts, each even, half of them valid. As
            published, what is drawn to choose from grows and shrinks with them.

    Returns:
        By part ("train", "validation", "test") the sentences, shuffled, but for the test part of "rec-gen" as
        published, which ascends in depth.

    Raises:
        ValueError: another name; sizes that are not three even numbers above 0; or a part for which there are
            not enough sentences within the bounds on depth, length and number of samples.
    """
    if name not in SETS:
        raise ValueError(f"unknown set {name!r}: expected one of {', '.join(SETS)}")
    if len(sizes) != 3 or any(size < 2 or size % 2 for size in sizes):
        given = ", ".join(map(str, sizes))
        raise ValueError(f"expected three even sizes above 0 (train, validation, test), got {given}")
    train, validation, test = (size // 2 for size in sizes)
    ruled, tested = (_clean if clean else _released)(name, seed, train + validation, test)
    parts: dict[str, list[Judged]] = {}
    for split, pairs in zip(_SPLITS, (ruled[:train], ruled[train:], tested), strict=True):
        parts[split] = list(chain.from_iterable(pairs))
        Random(f"order {seed}").shuffle(parts[split])
    if name == "rec-gen" and not clean:
        parts["test"].sort(key=depth_of)
    return parts


def make_sets(
    seed: int = 1, clean: bool = True, sizes: Sequence[int] = SIZES
) -> dict[str, dict[str, list[Judged]]]:
    """Make all three sets; arguments, parts and errors as in `make_set`."""
    return {name: make_set(name, seed, clean, sizes) for name in SETS}


def summarise(parts: Mapping[str, Sequence[Judged]]) -> dict[str, PartSummary]:
    """Count what the parts of a set from `make_set` hold."""
    return {split: _summarise(part, parts["train"]) for split, part in parts.items()}


def write_sets(
    folder: str | os.PathLike[str], seed: int = 1, clean: bool = True, sizes: Sequence[int] = SIZES
) -> dict[str, dict[str, PartSummary]]:
    """Make the sets and write each into a folder of its own, as `treeformers.data.corpora.load` reads them.

    A set has the files train.tsv, validation.tsv and test.tsv, with the columns label, text and group, which
    is the depth. summary.json has the seed, the version, and what the parts hold.

    Args:
        folder: is made if need be, and so are id, gen and rec-gen below it.
        seed: as in `make_set`.
        clean: as in `make_set`.
        sizes: as in `make_set`.

    Returns:
        By set and part, what summary.json has.

    Raises:
        ValueError: as `make_set`.
        OSError: a file cannot be written.
    """
    sets = make_sets(seed, clean, sizes)
    for name, parts in sets.items():
        place = Path(folder) / name
        place.mkdir(parents=True, exist_ok=True)
        for split, part in parts.items():
            with atomic_write(place / f"{split}.tsv") as file:
                file.write("\t".join(_COLUMNS) + "\n")
                file.writelines(f"{one.label}\t{' '.join(one.words)}\t{one.depth}\n" for one in part)
    summaries = {name: summarise(parts) for name, parts in sets.items()}
    figures = {name: {split: asdict(one) for split, one in of.items()} for name, of in summaries.items()}
    with atomic_write(Path(folder) / "summary.json") as file:
        file.write(json.dumps({"seed": seed, "clean": clean, "sets": figures}, indent=2) + "\n")
    return summaries


def read_judged(path: str | os.PathLike[str]) -> list[Judged]:
    """Read a file of `write_sets`.

    Args:
        path: columns label ("valid" or "invalid"), text (words with spaces between) and group (the depth),
            named in the first line; gzipped if it ends in .gz.

    Raises:
        FileNotFoundError: no such file.
        ValueError: other columns, another label, a depth that is no whole number, or no sentence at all, with
            file:line.
    """
    sentences = []
    for where, (label, text, depth) in read_rows(path, _COLUMNS):
        if label not in ("valid", "invalid"):
            raise ValueError(f"{where}: expected the label valid or invalid, got {label[:20]!r}")
        if not (depth.isascii() and depth.isdecimal()):
            raise ValueError(f"{where}: expected the depth, a whole number, got {depth[:20]!r}")
        sentences.append(Judged(tuple(text.split()), label == "valid", int(depth)))
    if not sentences:
        raise ValueError(
            f"{os.fspath(path)}: nothing in it, expected sentences below the names of the columns"
        )
    return sentences


@cache
def _recognizer() -> Recognizer:
    return Recognizer(default_grammar())


def _clean(name: SetName, seed: int, ruled: int, tested: int) -> tuple[Sequence[Pair], Sequence[Pair]]:
    """The pairs of training and validation, and those of the test part."""
    if name == "id":
        pairs = _matched("id", seed, ruled + tested)
        return pairs[:ruled], pairs[ruled:]
    return (
        _matched("gen train and validation", seed, ruled),
        _matched("gen test" if name == "gen" else "rec-gen test", seed, tested),
    )


@cache
def _matched(part: _Part, seed: int, n: int) -> tuple[Pair, ...]:
    """Pairs of one depth and one length, in random order."""
    generator = Random(f"{part} {seed}")
    linear = {"id": None, "gen train and validation": True}.get(part, False)
    if part == "rec-gen test":
        sampler = Sampler(deep_productions(), _DEPTHS[-1], RELEASED_WORDS)
        middle = (_DEPTHS[0] + _DEPTHS[-1]) / 2
        by_depth = Counter(islice(cycle(sorted(_DEPTHS, key=lambda depth: abs(depth - middle))), n))
    else:
        sampler = Sampler(default_grammar().productions, _USUAL_DEPTH, RELEASED_WORDS)
        by_depth = _depths_as_drawn(sampler, generator, linear, n)  # sentences that differ would be deeper
    waiting: dict[tuple[int, int], Judged] = {}  # valid ones, by depth and length
    seen: set[tuple[str, ...]] = set()
    pairs: list[Pair] = []
    for sentence in sampler.draw(generator, _DRAWS):
        if not by_depth[sentence.depth]:
            continue
        kind = sentence.depth, len(sentence.words)
        partner = waiting.get(kind)
        one = _judged(sentence, partner is None, linear, generator)
        if one is None or one.words in seen:
            continue
        seen.add(one.words)
        if partner is None:
            waiting[kind] = one
            continue
        pairs.append((waiting.pop(kind), one))
        by_depth[one.depth] -= 1
        if len(pairs) == n:
            generator.shuffle(pairs)
            return tuple(pairs)
    raise ValueError(
        f"{part}: {_DRAWS:,} samples of at most {RELEASED_WORDS} words hold {len(pairs)} pairs of a valid "
        f"and an invalid sentence of one depth and length, expected {n}: ask for fewer"
    )


def _depths_as_drawn(sampler: Sampler, generator: Random, linear: bool | None, n: int) -> Counter[int]:
    """The depths of so many sentences, every other one invalid."""
    depths: Counter[int] = Counter()
    valid = True
    for sentence in sampler.draw(generator, _DRAWS):
        if _judged(sentence, valid, linear, generator) is not None:
            depths[sentence.depth] += 1
            valid = not valid
            if depths.total() == n:
                break
    return depths


def _judged(sentence: Judged, valid: bool, linear: bool | None, generator: Random) -> Judged | None:
    """A sample as a valid sentence, or as an invalid one by one of its verbs.

    Args:
        sentence: the sample.
        valid: what it is to be.
        linear: whether the linear rule has to give the label, or must not; None: either.
        generator: chooses the verb.

    Returns:
        None where the linear rule or the grammar stands against it.
    """
    failures = linear_failures(sentence.words)
    if valid:
        fits = linear is None or len(failures) == (0 if linear else 1)
        return sentence if fits and is_grammatical(sentence.words) else None
    verbs = find_verbs(sentence.words)
    if linear is not None:
        verbs = [verb for verb in verbs if linear is (failures != [verb])]
    if not verbs:
        return None
    changed = change_verbs(sentence, [generator.choice(verbs)])
    return None if is_grammatical(changed.words) else changed


def _released(name: SetName, seed: int, ruled: int, tested: int) -> tuple[Sequence[Pair], Sequence[Pair]]:
    """As `_clean`, of the released procedure."""
    if name == "id":
        pairs = released_id(seed, ruled + tested)
        return pairs[:ruled], pairs[ruled:]
    train, test = released_gen(seed, ruled, tested)
    return train, test if name == "gen" else released_rec_gen(seed, tested)


def _summarise(part: Sequence[Judged], train: Sequence[Judged]) -> PartSummary:
    kinds = [[one for one in part if one.valid is valid] for valid in (True, False)]
    lengths = [Counter(len(one.words) for one in kind) for kind in kinds]
    gap, widest = 0.0, 0.0  # between the shares of both kinds that are no longer
    for n_words in sorted(lengths[0] | lengths[1]):
        gap += lengths[0][n_words] / len(kinds[0]) - lengths[1][n_words] / len(kinds[1])
        widest = max(widest, abs(gap))
    if part is train:
        repeated = len(part) - len({one.words for one in part})
    else:
        known = {one.words for one in train}
        repeated = sum(one.words in known for one in part)
    return PartSummary(
        sentences=len(part),
        valid=len(kinds[0]),
        depth=_mean(map(depth_of, part)),
        depths=(_mean(map(depth_of, kinds[0])), _mean(map(depth_of, kinds[1]))),
        words=(_mean(len(one.words) for one in kinds[0]), _mean(len(one.words) for one in kinds[1])),
        repeated=repeated,
        mislabelled=sum(is_grammatical(one.words) is not one.valid for one in part),
        over_limit=sum(len(one.words) > RELEASED_WORDS for one in part),
        linear=100 * _mean(map(follows_linear_rule, part)),
        length=50 + 50 * widest,
    )


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return sum(known) / len(known)
