"""Probe systems that yield trees, side by side, and say what each instrument reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from treeformers.data.examples import LabeledText
from treeformers.data.minimal_pairs import MinimalPair
from treeformers.induction import summarise_structure
from treeformers.probing.constituents import (
    Finding,
    find_constituents,
    inner_spans,
    look_for,
    summarise_trials,
)
from treeformers.probing.constructions import Question, construction_questions, treebank_questions
from treeformers.probing.minimal_pairs import Accuracy, MaskedModel, score_agreement, score_minimal_pairs
from treeformers.probing.systems import System, ask
from treeformers.trees.tree import Tree

__all__ = [
    "Example",
    "LayerLinks",
    "ProbeReport",
    "SystemReport",
    "find_words",
    "probe",
    "summarise_links",
]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
NEAR = 0.01  # of the value that links begin at
READABLE = range(4, 13)  # words of a sentence worth drawing


@dataclass(frozen=True, slots=True)
class LayerLinks:
    """The links of one layer over all sentences.

    Attributes:
        layer: from 0, the lowest.
        mean: of the links.
        sd: their standard deviation.
        quantiles: at 5, 25, 50, 75 and 95 %.
        initial: what links are at before training, if neighbours are equally strong on both sides:
            1 - 0.5^(layer + 1), the 50, 75, 87.5 % that Ginn (2024, Section 4.3) observes.
        near_initial: share of the links within 0.01 of it, in per cent.
    """

    layer: int
    mean: float
    sd: float
    quantiles: tuple[float, ...]
    initial: float
    near_initial: float


@dataclass(frozen=True, slots=True)
class SystemReport:
    """What the probes found of one system.

    Attributes:
        findings: of the constructions, the treebank, and the pieces of words.
        spans_per_sentence: mean number of constituents, without the whole and those of one word; None where
            no trees were asked for.
        flat_share: percentage of the trees over more than two words that have none.
        links: by layer, of a model that has links.
        accuracies: minimal pairs and agreement, of a masked language model.
        notes: what was not asked, and why.
    """

    findings: tuple[Finding, ...] = ()
    spans_per_sentence: float | None = None
    flat_share: float | None = None
    links: tuple[LayerLinks, ...] = ()
    accuracies: tuple[Accuracy, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence as every system has it.

    Attributes:
        probe: for which it stands.
        target: the words asked for.
        gold: the gold tree.
        trees: by system.
    """

    probe: str
    target: str
    gold: Tree
    trees: dict[str, Tree]


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """What the probes found.

    Attributes:
        systems: by name, in the order given.
        examples: sentences to draw: for each probe one where the first system has the words asked for as a
            constituent and one where it has not, as far as there are such.
        settings: what was asked: numbers of sentences, the treebank, the seed.
    """

    systems: dict[str, SystemReport]
    examples: tuple[Example, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON can hold it; trees as in the JSON lines of `treeformers.trees.formats`."""
        return {
            "settings": self.settings,
            "systems": {name: asdict(system) for name, system in self.systems.items()},
            "examples": [
                {
                    "probe": example.probe,
                    "target": example.target,
                    "gold": _tree_fields(example.gold),
                    "trees": {name: _tree_fields(tree) for name, tree in example.trees.items()},
                }
                for example in self.examples
            ],
        }


def probe(
    systems: Mapping[str, System] | System,
    sentences: int = 5000,
    treebank: Iterable[Tree] = (),
    pairs: Mapping[str, Sequence[MinimalPair]] | None = None,
    agreement: Mapping[str, Sequence[LabeledText]] | None = None,
    treebank_name: str = "",
    batch_size: int = 64,
    seed: int = 0,
) -> ProbeReport:
    """Ask systems for constituents that are known, and what their figures are worth.

    Args:
        systems: by name, or one alone: an inducer, a parser or whatever has `parse`; a function from
            sentences (lists of words) to trees; trees, one for each generated sentence, or, where there are
            none, for each of the treebank; "gold", or a shape that sees no words.
        sentences: generated ones, see `treeformers.probing.construction_questions`; 0 for none.
        treebank: gold trees whose constituents are asked for too, see `treebank_questions`.
        pairs: minimal pairs by name, for those systems that are masked language models.
        agreement: examples of `score_agreement` by name, for the same.
        treebank_name: to be named in the report.
        batch_size: words of pairs computed at once.
        seed: of the sentences and of random trees.

    Raises:
        ValueError: trees over other words than the sentences, a system without trees, nothing to ask, or
            pairs without a system that could be asked for them. The message names the system.
    """
    named = systems if isinstance(systems, Mapping) else {"trees": systems}
    if not named:
        raise ValueError("no system to probe")
    generated = construction_questions(sentences, seed) if sentences else []
    asked = treebank_questions(treebank)
    questions = [*generated, *asked]
    judged = [*(pairs or ()), *(agreement or ())]
    if not questions and not judged:
        raise ValueError("nothing to ask: expected sentences, a treebank or minimal pairs")
    models = {name: cast(MaskedModel, one) for name, one in named.items() if isinstance(one, MaskedModel)}
    if judged and not models:
        raise ValueError(f"{', '.join(named)}: no model of masked words, which {', '.join(judged)} asks for")
    reports, trees = {}, {}
    for name, system in named.items():
        accuracies: list[Accuracy] = []
        try:
            if name in models:
                for test, given in (pairs or {}).items():
                    accuracies += score_minimal_pairs(models[name], given, test, batch_size)
                for test, examples in (agreement or {}).items():
                    accuracies += score_agreement(models[name], examples, test, batch_size)
            answer = ask(system, questions, seed) if questions else None
        except ValueError as error:
            problem = str(error)  # of a file of trees it opens with the place
            raise ValueError(problem if problem.startswith(f"{name}:") else f"{name}: {problem}") from None
        if answer is None:
            reports[name] = SystemReport(accuracies=tuple(accuracies))
            continue
        trees[name] = answer.trees
        words = find_words(answer.words, answer.word_trees)
        structure = summarise_structure(trees[name])
        reports[name] = SystemReport(
            findings=(*find_constituents(questions, trees[name]), *([words] if words else [])),
            spans_per_sentence=structure.spans_per_sentence,
            flat_share=structure.flat_share,
            links=tuple(summarise_links(answer.links)) if answer.links else (),
            accuracies=tuple(accuracies),
            notes=tuple(answer.notes),
        )
    settings = {
        "sentences": len(generated),
        "treebank": treebank_name or ("treebank" if asked else ""),
        "treebank_sentences": len(asked),
        "seed": seed,
    }
    return ProbeReport(reports, tuple(_examples(questions, trees)), settings)


def summarise_links(links: Sequence[ArrayLike]) -> list[LayerLinks]:
    """How far the links of each layer have gone from where they begin.

    Args:
        links: (L, T-1) of each sentence, as `Inducer.links` gives them.

    Returns:
        One a layer, the lowest first; none where no sentence has two words.
    """
    joined = np.concatenate([np.asarray(link, dtype=np.float64) for link in links], axis=1)
    summaries = []
    for layer, values in enumerate(joined if joined.size else []):
        initial = 1 - 0.5 ** (layer + 1)
        summaries.append(
            LayerLinks(
                layer=layer,
                mean=float(values.mean()),
                sd=float(values.std()),
                quantiles=tuple(np.quantile(values, QUANTILES).tolist()),
                initial=initial,
                near_initial=float(100 * (abs(values - initial) <= NEAR).mean()),
            )
        )
    return summaries


def find_words(words: Sequence[Sequence[int]], trees: Sequence[Tree]) -> Finding | None:
    """How often the tokens of a word form a constituent, in trees over tokens.

    Args:
        words: the word of every token, by sentence.
        trees: over the tokens.

    Returns:
        The finding; None where no word has several tokens, or is not the whole sentence.
    """
    trials = []
    for of, tree in zip(words, trees, strict=True):
        spans = inner_spans(tree)
        for word, count in Counter(of).items():
            if 1 < count < len(of):
                start = of.index(word)
                trials.append(look_for(spans, start, start + count, len(of)))
    return summarise_trials("subwords", "all", "[tokens of a word]", trials) if trials else None


def _examples(questions: Sequence[Question], trees: Mapping[str, Sequence[Tree]]) -> Iterator[Example]:
    """For each probe a sentence with and one without what was asked for, by the first system."""
    if not trees:
        return
    first = next(iter(trees.values()))
    wanted: set[tuple[str, str, bool]] = set()
    for number, question in enumerate(questions):
        if len(question.tree) not in READABLE:
            continue
        spans = inner_spans(first[number])
        for target in question.targets:
            key = (target.probe, target.name, (target.start, target.end) in spans)
            if key not in wanted:
                wanted.add(key)
                of = {name: system[number] for name, system in trees.items()}
                yield Example(target.probe, target.name, question.tree, of)


def _tree_fields(tree: Tree) -> dict[str, Any]:
    return {"words": tree.words, "tags": tree.tags, "spans": tree.spans()}
