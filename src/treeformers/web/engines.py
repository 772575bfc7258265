"""What makes trees or reads them: shapes, inducers, parsers, classifiers. Models load when first used."""

from __future__ import annotations

import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

from treeformers.induction import trivial_tree
from treeformers.tasks.classify.predictor import Classifier
from treeformers.tasks.induce.decoding import decode_trees
from treeformers.tasks.induce.predictor import Inducer
from treeformers.tasks.load import check_positive
from treeformers.tasks.parse.predictor import Parser
from treeformers.training.model_folder import read_recipe
from treeformers.trees.tree import Tree

__all__ = [
    "GOLD",
    "ClassifierEngine",
    "Engine",
    "InducerEngine",
    "Made",
    "NotLoaded",
    "ParserEngine",
    "ShapeEngine",
    "TreeMaker",
    "find_engines",
]

logger = logging.getLogger(__name__)

GOLD = "gold"
Kind = Literal["shape", "inducer", "parser", "classifier"]
Words = Sequence[str]


@dataclass(frozen=True, slots=True)
class Made:
    """A tree that an engine made.

    Attributes:
        tree: over the words given.
        links: of an inducer, the (T-1,) links of the layer that was read.
        score: of a parser, the log-probability in nats.
    """

    tree: Tree
    links: list[float] | None = None
    score: float | None = None


class NotLoaded(ValueError):
    """A model of the service cannot be loaded: no fault of the request."""


class Engine(ABC):
    """Something that can be asked by name; what it needs is loaded with the first question."""

    kind: ClassVar[Kind]

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def state(self) -> Literal["ready", "not loaded", "failed"]:
        """How far it is."""
        return "ready"


class TreeMaker(Engine):
    """An engine that parses."""

    @abstractmethod
    def make(self, sentences: Sequence[Words]) -> list[Made]:
        """Trees of sentences, in their order.

        Raises:
            ValueError: a sentence that cannot be parsed, or a model that cannot be loaded.
        """


class ShapeEngine(TreeMaker):
    """Right-branching, left-branching or balanced trees."""

    kind = "shape"

    def __init__(self, name: Literal["right", "left", "balanced"]) -> None:
        super().__init__(name)
        self.shape = name

    def make(self, sentences: Sequence[Words]) -> list[Made]:
        """The trees of this shape."""
        return [Made(trivial_tree(words, self.shape)) for words in sentences]


class _Loaded(Engine):
    """An engine with a model.

    Args:
        name: what requests call it.
        model: a folder, or the model itself.
    """

    loads: ClassVar[Any]

    def __init__(self, name: str, model: Any) -> None:
        super().__init__(name)
        self._folder = Path(model) if isinstance(model, str | Path) else None
        self._model = None if self._folder else model
        self._problem = ""

    @property
    def state(self) -> Literal["ready", "not loaded", "failed"]:
        """How far it is."""
        if self._problem:
            return "failed"
        return "not loaded" if self._model is None else "ready"

    def load(self) -> Any:
        """The model.

        Raises:
            NotLoaded: it cannot be loaded.
        """
        if self._problem:
            raise NotLoaded(self._problem)
        if self._model is None:
            try:
                self._model = self.loads.from_pretrained(self._folder)
            except (OSError, ValueError) as error:
                logger.error("engine %s: %s", self.name, error)
                self._problem = f"the engine {self.name} cannot be loaded; the log says why"
                raise NotLoaded(self._problem) from None
            logger.info("engine %s is loaded from %s", self.name, self._folder)
        return self._model


class InducerEngine(_Loaded, TreeMaker):
    """A Tree Transformer trained on raw text."""

    kind = "inducer"
    loads = Inducer

    def make(self, sentences: Sequence[Words]) -> list[Made]:
        """Trees by the model's own decoding, and the links of the layer that it reads first."""
        inducer = cast(Inducer, self.load())
        links = inducer.links(sentences, batch_size=len(sentences))
        trees = decode_trees(links, sentences, inducer.decoding)
        layer = -1 if inducer.decoding.method == "algorithm1" else inducer.decoding.layer
        return [Made(tree, link[layer].tolist()) for tree, link in zip(trees, links, strict=True)]


class ParserEngine(_Loaded, TreeMaker):
    """A parser trained on a treebank.

    Args:
        name: what requests call it.
        model: a folder, or the model itself.
        beam: hypotheses kept; those of the model's recipe by default.
    """

    kind = "parser"
    loads = Parser

    def __init__(self, name: str, model: Any, beam: int | None = None) -> None:
        super().__init__(name, model)
        self.beam = beam

    def load(self) -> Parser:
        """The parser.

        Raises:
            ValueError: it cannot be loaded.
        """
        parser = cast(Parser, super().load())
        parser.beam = self.beam or parser.beam
        return parser

    def make(self, sentences: Sequence[Words]) -> list[Made]:
        """The best trees."""
        parser = self.load()
        found = parser.parse_best(sentences, 1, batch_size=len(sentences))
        return [Made(best.tree, score=best.score) for best, *_ in found]


class ClassifierEngine(_Loaded):
    """A classifier of trees."""

    kind = "classifier"
    loads = Classifier

    def load(self) -> Classifier:
        """The classifier.

        Raises:
            ValueError: it cannot be loaded, or reads dependency trees.
        """
        classifier = cast(Classifier, super().load())
        if classifier.reader.structure == "dependencies":
            raise ValueError(f"the engine {self.name} reads dependency trees, expected one of constituents")
        return classifier


_KINDS: dict[str, type[_Loaded]] = {
    "induce": InducerEngine,
    "parse": ParserEngine,
    "classify": ClassifierEngine,
}


def find_engines(models: Iterable[str | Path] = (), beam: int | None = None) -> list[Engine]:
    """Engines of model folders and of the three plain shapes.

    A model is named as its folder, or as that of its several seeds.

    Args:
        models: folders that `treeformers train` wrote: of an inducer, a parser (or of its several seeds), or
            a classifier.
        beam: hypotheses that parsers keep; those of their recipes by default.

    Raises:
        FileNotFoundError: no such folder, or one without a model.
        ValueError: a damaged recipe, a model of another kind, several seeds of one that is no parser, or a
            beam below 1.
    """
    check_positive(beam=1 if beam is None else beam)
    engines: list[Engine] = []
    taken = {GOLD, "right", "left", "balanced"}
    for model in models:
        folder = Path(model)
        task = read_recipe(folder).task
        if task not in _KINDS:
            raise ValueError(f"{folder}: a model of the task {task!r}, expected {', '.join(_KINDS)}")
        place = folder.resolve()
        title = place.parent.name if re.fullmatch(r"seed-\d+", place.name) else place.name
        name = base = re.sub(r"[^\w.-]+", "-", title) or "model"
        number = 1
        while name in taken:
            number += 1
            name = f"{base}-{number}"
        taken.add(name)
        kind = _KINDS[task]
        engines.append(ParserEngine(name, folder, beam) if kind is ParserEngine else kind(name, folder))
    return [*engines, ShapeEngine("right"), ShapeEngine("left"), ShapeEngine("balanced")]
