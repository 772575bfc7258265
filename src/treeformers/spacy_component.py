"""A spaCy pipeline component that parses documents with a treeformers model (extra `spacy`).

    nlp.add_pipe("treeformers", config={"model": "runs/parser"})

The component parses the sentences of `doc.sents`. Their words are spaCy's tokens, except white space. Spans
and tokens get the extensions `_.labels`, `_.constituents`, `_.children`, `_.parent`, `_.parse_string` (the
names that benepar uses, Kitaev and Klein 2018) and `_.tree`.
"""

from __future__ import annotations

import os
import tempfile
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import srsly
from spacy.language import Language
from spacy.tokens import Doc, Span, Token
from spacy.util import minibatch, raise_error

from treeformers.data.checks import check_positive
from treeformers.tasks.tree_predictors import TreePredictor, load_tree_predictor
from treeformers.training.model_folder import model_files
from treeformers.training.model_names import find_model
from treeformers.trees.tree import Tree

__all__ = ["Component", "NotAConstituent", "make_component"]

KEY = "treeformers"
"""Key of `doc.user_data` that holds the constituents of a document."""
_PROCESS = os.getpid()

ErrorHandler = Callable[[str, Any, list[Doc], Exception], Any]


class NotAConstituent(ValueError):
    """The span is not a constituent of the tree of its sentence."""


@Language.factory("treeformers", default_config={"model": "", "batch_size": 64, "beam": None, "layer": None})
def make_component(
    nlp: Language, name: str, model: str, batch_size: int, beam: int | None, layer: int | None
) -> Component:
    """Create the component for `nlp.add_pipe("treeformers", config={"model": FOLDER})`; see `Component`.

    Raises:
        ValueError: no model was given.
    """
    if not model:
        raise ValueError('no model was given; expected nlp.add_pipe("treeformers", config={"model": FOLDER})')
    return Component(model, name, batch_size, beam, layer)


class Component:
    """Adds trees to documents.

    The component loads the model when it gets the first document, so each process of
    `nlp.pipe(n_process=...)` loads its own copy. A pickled or saved pipeline contains the files of the model
    and does not need its folder.

    Args:
        model: folder of a trained parser or inducer.
        name: name of the component in the pipeline.
        batch_size: maximum number of sentences in a batch; a batch may hold sentences of several documents.
        beam: for a parser, the beam size; by default the one in its recipe.
        layer: for an inducer, the only layer to read trees from.

    Raises:
        ValueError: the batch size or the beam size is below 1.
    """

    def __init__(
        self,
        model: str | Path,
        name: str = "treeformers",
        batch_size: int = 64,
        beam: int | None = None,
        layer: int | None = None,
    ) -> None:
        check_positive(batch_size=batch_size, beam=1 if beam is None else beam)
        self.name = name
        self.batch_size = batch_size
        self.beam = beam
        self.layer = layer
        self._source: Path | dict[str, bytes] = Path(model)
        self._predictor: TreePredictor | None = None
        self._error_handler: ErrorHandler = raise_error

    def __call__(self, doc: Doc) -> Doc:
        """Add trees to one document.

        Raises:
            FileNotFoundError: the folder holds no model.
            ValueError: the document has no sentence boundaries, or the model is damaged.
        """
        return next(self.pipe([doc]), doc)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Add trees to documents, `batch_size` documents at a time. Errors go to the error handler."""
        for docs in minibatch(stream, batch_size):
            sentences: list[tuple[Doc, list[list[int]]]] = []
            for doc in docs:
                try:
                    sentences.append((doc, _sentences(doc)))
                except ValueError as error:
                    self._error_handler(self.name, self, [doc], error)
            try:
                self._annotate(sentences)
            except Exception as error:
                self._error_handler(self.name, self, [doc for doc, _ in sentences], error)
            else:
                yield from (doc for doc, _ in sentences)

    def set_error_handler(self, error_handler: ErrorHandler) -> None:
        """Set the function to call with the name, the component, the failed documents and the error."""
        self._error_handler = error_handler

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the files of the model to a folder."""
        _write(self._contents(), Path(path))

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Load a model that `to_disk` wrote."""
        self._source = Path(path)
        self._predictor = None
        self._loaded()
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Pack the files of the model into bytes."""
        return srsly.msgpack_dumps(self._contents())

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Load a model that `to_bytes` packed.

        Raises:
            ValueError: the bytes do not hold a model.
        """
        self._source = srsly.msgpack_loads(data)
        self._predictor = None
        self._loaded()
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_source": self._contents(), "_predictor": None}

    def _contents(self) -> dict[str, bytes]:
        if isinstance(self._source, dict):
            return self._source
        return {name: path.read_bytes() for name, path in model_files(find_model(self._source))}

    def _loaded(self) -> TreePredictor:
        if os.getpid() != _PROCESS:
            import torch

            torch.set_num_threads(1)  # a fork does not copy torch's threads: waiting for them would hang
        if self._predictor is None:
            if isinstance(self._source, Path):
                self._predictor = load_tree_predictor(self._source, self.layer, self.beam)
            else:
                with tempfile.TemporaryDirectory() as folder:
                    _write(self._source, Path(folder))
                    self._predictor = load_tree_predictor(folder, self.layer, self.beam)
        return self._predictor

    def _annotate(self, docs: list[tuple[Doc, list[list[int]]]]) -> None:
        """Parse the sentences of all documents, given as token positions, and store their trees."""
        words = [[doc[i].text for i in places] for doc, sentences in docs for places in sentences]
        trees = iter(self._loaded().parse(words, self.batch_size) if words else [])
        for doc, sentences in docs:
            found = Constituents.from_trees(len(doc), [(places, next(trees)) for places in sentences])
            doc.user_data[KEY] = found.to_message()


@dataclass(frozen=True, slots=True)
class Constituents:
    """The constituents of a document in pre-order, single words included; a unary chain is one constituent.

    Attributes:
        length: number of tokens of the document.
        starts: position of the first token of each constituent, in ascending order.
        ends: position after the last token of each constituent.
        labels: labels of each constituent, from the top of the unary chain down; empty for a bare word.
        parents: index of the parent of each constituent; -1 for the root of a sentence.
        tags: tag of each token; "" for white space.
    """

    length: int
    starts: list[int]
    ends: list[int]
    labels: list[list[str]]
    parents: list[int]
    tags: list[str]

    @classmethod
    def from_trees(cls, length: int, trees: Iterable[tuple[list[int], Tree]]) -> Self:
        """Collect the constituents of trees; each tree comes with the token positions of its words."""
        result = cls(length, [], [], [], [], [""] * length)
        for places, tree in trees:
            opened: list[int] = []
            spans = [*tree.spans(), *((i, i + 1, None) for i in range(len(places)))]
            # The sort is stable: among equal spans the outer one stays first and the word itself last.
            for start, end, label in sorted(spans, key=lambda span: (span[0], -span[1])):
                first, last = places[start], places[end - 1] + 1
                while opened and result.ends[opened[-1]] <= first:
                    opened.pop()
                if not opened or (result.starts[opened[-1]], result.ends[opened[-1]]) != (first, last):
                    result.starts.append(first)
                    result.ends.append(last)
                    result.labels.append([])
                    result.parents.append(opened[-1] if opened else -1)
                    opened.append(len(result.starts) - 1)
                if label is not None:
                    result.labels[opened[-1]].append(label)
            for place, tag in zip(places, tree.tags, strict=True):
                result.tags[place] = tag
        return result

    def to_message(self) -> dict[str, Any]:
        """Plain lists, which spaCy can serialize with a document."""
        return {name: getattr(self, name) for name in self.__slots__}

    def find(self, start: int, end: int) -> int | None:
        """The index of the constituent over exactly these tokens; None if there is none."""
        number = bisect_left(self.starts, start)
        while number < len(self.starts) and self.starts[number] == start:
            if self.ends[number] == end:
                return number
            number += 1
        return None

    def within(self, number: int) -> range:
        """The indices of a constituent and its descendants."""
        return range(number, bisect_left(self.starts, self.ends[number]))

    def children(self, number: int) -> Iterator[int]:
        """The indices of the children of a constituent, from left to right."""
        inner = number + 1
        while inner in self.within(number):
            yield inner
            inner = bisect_left(self.starts, self.ends[inner])


def get_labels(item: Span | Token) -> tuple[str, ...]:
    """The labels of a constituent, from the top of its unary chain down; empty for a bare word."""
    found, number = _find(item)
    return tuple(found.labels[number])


def get_constituents(item: Span | Token) -> Iterator[Span]:
    """The constituent and its descendants, words included, in pre-order."""
    found, number = _find(item)
    return (item.doc[found.starts[inner] : found.ends[inner]] for inner in found.within(number))


def get_children(item: Span | Token) -> Iterator[Span]:
    """The children of a constituent, words included, from left to right."""
    found, number = _find(item)
    return (item.doc[found.starts[inner] : found.ends[inner]] for inner in found.children(number))


def get_parent(item: Span | Token) -> Span | None:
    """The parent of a constituent; None for a whole sentence."""
    found, number = _find(item)
    parent = found.parents[number]
    return None if parent < 0 else item.doc[found.starts[parent] : found.ends[parent]]


def get_tree(item: Span | Token) -> Tree:
    """The tree over a constituent, as the model returned it."""
    found, number = _find(item)
    start, end = found.starts[number], found.ends[number]
    places = [i for i in range(start, end) if not item.doc[i].is_space]
    word = {place: i for i, place in enumerate(places)}
    spans = [
        (word[found.starts[inner]], word[found.ends[inner] - 1] + 1, label)
        for inner in found.within(number)
        for label in found.labels[inner]
    ]
    return Tree.from_spans([item.doc[i].text for i in places], spans, [found.tags[i] for i in places])


def get_parse_string(item: Span | Token) -> str:
    """The tree over a constituent in brackets, on one line."""
    return str(get_tree(item))


for _name, _getter in (
    ("labels", get_labels),
    ("constituents", get_constituents),
    ("children", get_children),
    ("parent", get_parent),
    ("parse_string", get_parse_string),
    ("tree", get_tree),
):
    for _kind in (Span, Token):
        _kind.set_extension(_name, getter=_getter, force=True)


def _find(item: Span | Token) -> tuple[Constituents, int]:
    """The constituents of a document and the index of one; surrounding white space is ignored."""
    doc = item.doc
    message = doc.user_data.get(KEY)
    if message is None:
        raise ValueError("the document has no trees; expected one from a pipeline with treeformers")
    found = Constituents(**message)
    if found.length != len(doc):
        raise ValueError(f"the trees are over {found.length} tokens, the document now has {len(doc)}")
    start, end = (item.start, item.end) if isinstance(item, Span) else (item.i, item.i + 1)
    while start < end and doc[start].is_space:
        start += 1
    while start < end and doc[end - 1].is_space:
        end -= 1
    number = found.find(start, end)
    if number is None:
        raise NotAConstituent(f"tokens {start} to {end} are not a constituent: {doc[start:end].text!r}")
    return found, number


def _sentences(doc: Doc) -> list[list[int]]:
    """The token positions of the words of each sentence; sentences without words are skipped.

    Raises:
        ValueError: the document has no sentence boundaries.
    """
    if not len(doc):
        return []
    if not doc.has_annotation("SENT_START"):
        raise ValueError(
            "the document has no sentence boundaries; expected a component before this one that sets them, "
            'such as nlp.add_pipe("sentencizer")'
        )
    sentences = ([token.i for token in sentence if not token.is_space] for sentence in doc.sents)
    return [places for places in sentences if places]


def _write(contents: dict[str, bytes], folder: Path) -> None:
    for name, content in contents.items():
        path = folder / name
        if ".." in path.parts or not path.is_relative_to(folder):
            raise ValueError(f"{name!r} is not a file of a model")
        path.parent.mkdir(parents=True, exist_ok=True)
        written = path.with_name(f".{path.name}.tmp")  # a loaded model still maps the old weights file
        written.write_bytes(content)
        os.replace(written, path)
