"""The answers of the playground: engines asked in batches, in one thread beside the server's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from statistics import fmean
from typing import Any, NoReturn, TypeVar

from treeformers.data.penn_tokenizer import word_tokenize
from treeformers.drawing import tree_latex
from treeformers.metrics import unlabeled_f1
from treeformers.trees.tree import Tree
from treeformers.web.batching import Batcher
from treeformers.web.engines import (
    GOLD,
    ClassifierEngine,
    Engine,
    InducerEngine,
    Made,
    ParserEngine,
    TreeMaker,
)
from treeformers.web.limits import Limits
from treeformers.web.messages import Class, Classes, Latex, Layers, Parsed, ParsedSentence, ParsedTree, Score
from treeformers.web.messages import Steps as StepsMessage
from treeformers.web.reading import Given, check_words, read_text, read_tree
from treeformers.web.watching import watch_inducer, watch_parser

__all__ = ["Service", "compare"]

T = TypeVar("T")
E = TypeVar("E", bound=Engine)

SMALL = 1000
"""Characters of text, times engines, that are dealt with sooner than handed to another thread."""


class Service:
    """What the API calls. Models are used by one thread only; answers that need none come from others.

    Args:
        engines: with different names.
        limits: what a request may ask for.
    """

    def __init__(self, engines: Sequence[Engine], limits: Limits) -> None:
        self.engines: Mapping[str, Engine] = {engine.name: engine for engine in engines}
        self.limits = limits
        self.executor = ThreadPoolExecutor(1, "treeformers-model")
        self._makers = {
            engine.name: Batcher(
                engine.make,
                self.executor,
                limits.batch_sentences,
                limits.gather_seconds,
                lambda words: sum(map(len, words)),
                limits.batch_characters,
            )
            for engine in engines
            if isinstance(engine, TreeMaker)
        }

    def close(self) -> None:
        """Let what is being computed end, and drop what waits."""
        self.executor.shutdown(wait=True, cancel_futures=True)

    async def parse(self, text: str, engines: Sequence[str]) -> Parsed:
        """Trees of all sentences by all engines, and how alike they are.

        Raises:
            ValueError: a text that cannot be read, no such engine, or more than the limits allow.
        """
        if len(engines) > self.limits.engines:
            raise ValueError(f"{len(engines)} engines, expected at most {self.limits.engines}")
        names = [name for name in dict.fromkeys(engines) if name != GOLD]
        for name in names:
            if name not in self._makers:
                self._unknown(name, self._makers)
        given = await _beside(len(text) > SMALL, lambda: read_text(text, self.limits, self._split(names)))
        if not names and not any(one.gold for one in given):
            raise ValueError("no engine was named, expected at least one")
        words = [one.words for one in given]
        made = await _all([self._makers[name].submit(words) for name in names])
        found = dict(zip(names, made, strict=True))
        return await _beside(len(text) * len(names) > SMALL, lambda: _parsed(given, found))

    async def layers(self, engine: str, words: Sequence[str]) -> Layers:
        """All layers of an inducer.

        Raises:
            ValueError: no such inducer, or words that cannot be read.
        """
        inducer = self._engine(engine, InducerEngine)
        check_words([words], self.limits)
        return await self._in_model_thread(lambda: watch_inducer(inducer.load(), words))

    async def steps(self, engine: str, words: Sequence[str]) -> StepsMessage:
        """The steps of a parser.

        Raises:
            ValueError: no such parser, or words that cannot be read.
        """
        parser = self._engine(engine, ParserEngine)
        check_words([words], self.limits)
        return await self._in_model_thread(lambda: watch_parser(parser.load(), words))

    async def classify(self, engine: str, brackets: Sequence[str]) -> Classes:
        """Classes of trees, and where attention lies.

        Raises:
            ValueError: no such classifier, or trees that cannot be read.
        """
        classifier = self._engine(engine, ClassifierEngine)
        if not brackets:
            raise ValueError("no trees, expected at least one")
        if len(brackets) > self.limits.sentences:
            raise ValueError(f"{len(brackets)} trees, expected at most {self.limits.sentences}")
        trees = [read_tree(one, self.limits) for one in brackets]
        check_words([tree.words for tree in trees], self.limits)
        return await self._in_model_thread(lambda: _classes(classifier, trees))

    async def latex(self, brackets: str) -> Latex:
        """A tree as LaTeX.

        Raises:
            ValueError: a tree that cannot be read.
        """
        return Latex(latex=tree_latex(read_tree(brackets, self.limits)))

    def _engine(self, name: str, kind: type[E]) -> E:
        engine = self.engines.get(name)
        if isinstance(engine, kind):
            return engine
        self._unknown(name, [other for other, found in self.engines.items() if isinstance(found, kind)])

    def _split(self, names: Iterable[str]) -> Callable[[str], Sequence[str]]:
        """How a sentence is cut: for inducers at white space, for parsers, and whoever stands beside one, as
        the Penn Treebank does. All trees are over the same words, or nothing could be compared.
        """
        kinds = {self.engines[name].kind for name in names}
        return str.split if "inducer" in kinds and "parser" not in kinds else word_tokenize

    def _unknown(self, name: str, known: Iterable[str]) -> NoReturn:
        known = list(known)
        expected = f"expected {', '.join(known)}" if known else "there are none"
        raise ValueError(f"{name[:40]!r} is no engine for this: {expected}")

    async def _in_model_thread(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.executor, function)


def compare(trees: Mapping[str, Tree]) -> list[Score]:
    """Unlabelled F1 between any two trees over the same words.

    Args:
        trees: by engine. Of two the first decides by its tags what counts as a word: gold trees should stand
            first, and those without tags last.
    """
    return [
        Score(first=first, second=second, f1=_f1(trees[first], trees[second]))
        for first, second in combinations(trees, 2)
    ]


def _f1(gold: Tree, other: Tree) -> float | None:
    try:
        return round(unlabeled_f1([gold], [other]).sentence_f1, 2)
    except ValueError:  # no words but punctuation
        return None


def _parsed(given: Sequence[Given], made: Mapping[str, Sequence[Made]]) -> Parsed:
    sentences = []
    for number, one in enumerate(given):
        found = {name: answers[number] for name, answers in made.items()}
        if one.gold:
            found = {GOLD: Made(one.gold), **found}
        tagged = sorted(found, key=lambda name: (name != GOLD, set(found[name].tree.tags) == {"X"}))
        sentences.append(
            ParsedSentence(
                words=list(one.words),
                trees={
                    name: ParsedTree(
                        brackets=str(answer.tree),
                        links=answer.links and [round(link, 4) for link in answer.links],
                        score=answer.score,
                    )
                    for name, answer in found.items()
                },
                f1=compare({name: found[name].tree for name in tagged}),
            )
        )
    return Parsed(engines=list(sentences[0].trees), sentences=sentences, f1=_means(sentences))


def _means(sentences: Sequence[ParsedSentence]) -> list[Score]:
    """Mean F1 of each pair, whichever of the two was taken for gold."""
    values: dict[frozenset[str], list[float]] = {}
    for sentence in sentences:
        for score in sentence.f1:
            found = values.setdefault(frozenset((score.first, score.second)), [])
            found += [score.f1] if score.f1 is not None else []
    return [
        Score(first=first, second=second, f1=round(fmean(found), 2) if found else None)
        for pair, found in values.items()
        for first, second in [sorted(pair)]
    ]


def _classes(engine: ClassifierEngine, trees: Sequence[Tree]) -> Classes:
    classifier = engine.load()
    classes = []
    for tree, found in zip(trees, classifier.classify(trees), strict=True):
        try:
            shares = [round(share, 4) for share in classifier.attention(tree)]
        except ValueError:  # an encoder without attention over the tree
            shares = None
        classes.append(
            Class(
                label=found.label,
                confidence=found.probabilities[found.label],
                probabilities=dict(found.probabilities),
                shares=shares,
            )
        )
    return Classes(classes=classes)


async def _beside(large: bool, function: Callable[[], T]) -> T:
    """What a function gives; a large task does not hold up the other requests."""
    return await asyncio.to_thread(function) if large else function()


async def _all(tasks: Sequence[Coroutine[Any, Any, list[Made]]]) -> list[list[Made]]:
    """What all engines answer; where one fails the others are given up."""
    running = [asyncio.ensure_future(task) for task in tasks]
    try:
        return list(await asyncio.gather(*running))
    finally:
        for task in running:
            task.cancel()
