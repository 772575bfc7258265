"""A component for spaCy pipelines: the trees of a treeformers model on documents (extra `spacy`).

    nlp.add_pipe("treeformers", config={"model": "runs/parser"})

A sentence is what `doc.sents` gives, and its words are spaCy's tokens; tokens of white space are no words.
Spans and tokens then have `_.labels`, `_.constituents`, `_.children`, `_.parent`, `_.parse_string` (the names
that benepar made known, Kitaev and Klein 2018) and `_.tree`.
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
from treeformers.tasks.load import Engine, load_engine
from treeformers.training.model_folder import model_files
from treeformers.trees.tree import Tree

__all__ = ["Component", "NotAConstituent", "make_component"]

KEY = "treeformers"
"""Of `doc.user_data`, where the constituents of a document are kept."""
_PROCESS = os.getpid()

ErrorHandler = Callable[[str, Any, list[Doc], Exception], Any]


class NotAConstituent(ValueError):
    """The span that was asked about is no constituent of its sentence's tree."""


@Language.factory("treeformers", default_config={"model": "", "batch_size": 64, "beam": None, "layer": None})
def make_component(
    nlp: Language, name: str, model: str, batch_size: int, beam: int | None, layer: int | None
) -> Component:
    """What `nlp.add_pipe("treeformers", config={"model": FOLDER})` calls; the arguments are `Component`'s.

    Raises:
        ValueError: no model was given.
    """
    if not model:
        raise ValueError('no model was given; expected nlp.add_pipe("treeformers", config={"model": FOLDER})')
    return Component(model, name, batch_size, beam, layer)


class Component:
    """Puts trees on documents.

    The model is loaded when the first document comes, so that each process of `nlp.pipe(n_process=...)` loads
    its own. Pipelines that are pickled or saved hold the model: they can be read where its folder is not.

    Args:
        model: folder of a trained parser or inducer.
        name: of the component in the pipeline.
        batch_size: sentences computed at once, across documents.
        beam: of a parser: hypotheses kept; those of its recipe by default.
        layer: of an inducer: read trees from this layer alone.

    Raises:
        ValueError: a batch or beam below 1.
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
        self._engine: Engine | None = None
        self._error_handler: ErrorHandler = raise_error

    def __call__(self, doc: Doc) -> Doc:
        """Put trees on one document.

        Raises:
            FileNotFoundError: no model in the folder.
            ValueError: the document has no sentence boundaries, or a damaged model.
        """
        return next(self.pipe([doc]), doc)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Put trees on documents, `batch_size` documents held at once; errors go to the error handler."""
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
        """Set what is called with the name, the component, the documents that fail and the error."""
        self._error_handler = error_handler

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the files of the model to a folder."""
        _write(self._contents(), Path(path))

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Load the model that `to_disk` wrote."""
        self._source = Path(path)
        self._engine = None
        self._loaded()
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The files of the model as one message."""
        return srsly.msgpack_dumps(self._contents())

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Load the model that `to_bytes` packed.

        Raises:
            ValueError: the bytes are not those of a model.
        """
        self._source = srsly.msgpack_loads(data)
        self._engine = None
        self._loaded()
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_source": self._contents(), "_engine": None}

    def _contents(self) -> dict[str, bytes]:
        if isinstance(self._source, dict):
            return self._source
        return {name: path.read_bytes() for name, path in model_files(self._source)}

    def _loaded(self) -> Engine:
        if os.getpid() != _PROCESS:
            import torch

            torch.set_num_threads(1)  # this process was forked, and torch's threads were not
        if self._engine is None:
            if isinstance(self._source, Path):
                self._engine = load_engine(self._source, self.layer, self.beam)
            else:
                with tempfile.TemporaryDirectory() as folder:
                    _write(self._source, Path(folder))
                    self._engine = load_engine(folder, self.layer, self.beam)
        return self._engine

    def _annotate(self, docs: list[tuple[Doc, list[list[int]]]]) -> None:
        """Parse the sentences of all documents, each the numbers of its words, and keep their trees."""
        words = [[doc[i].text for i in places] for doc, sentences in docs for places in sentences]
        trees = iter(self._loaded().parse(words, self.batch_size) if words else [])
        for doc, sentences in docs:
            found = Constituents.of(len(doc), [(places, next(trees)) for places in sentences])
            doc.user_data[KEY] = found.to_message()


@dataclass(frozen=True, slots=True)
class Constituents:
    """The constituents of a document in pre-order, those of one word too; a unary chain is one of them.

    Attributes:
        length: of the document, in tokens.
        starts: the first token of each constituent, ascending.
        ends: the token behind its last one.
        labels: from the top of the unary chain down; none for a word under its tag alone.
        parents: number of the constituent around it, -1 for none.
        tags: of every token; "" for white space.
    """

    length: int
    starts: list[int]
    ends: list[int]
    labels: list[list[str]]
    parents: list[int]
    tags: list[str]

    @classmethod
    def of(cls, length: int, trees: Iterable[tuple[list[int], Tree]]) -> Self:
        """Those of trees over the words with these numbers."""
        made = cls(length, [], [], [], [], [""] * length)
        for places, tree in trees:
            opened: list[int] = []
            spans = [*tree.spans(), *((i, i + 1, None) for i in range(len(places)))]
            # Stable: of equal spans the outer comes first, and the word itself last.
            for start, end, label in sorted(spans, key=lambda span: (span[0], -span[1])):
                first, last = places[start], places[end - 1] + 1
                while opened and made.ends[opened[-1]] <= first:
                    opened.pop()
                if not opened or (made.starts[opened[-1]], made.ends[opened[-1]]) != (first, last):
                    made.starts.append(first)
                    made.ends.append(last)
                    made.labels.append([])
                    made.parents.append(opened[-1] if opened else -1)
                    opened.append(len(made.starts) - 1)
                if label is not None:
                    made.labels[opened[-1]].append(label)
            for place, tag in zip(places, tree.tags, strict=True):
                made.tags[place] = tag
        return made

    def to_message(self) -> dict[str, Any]:
        """Plain lists, which documents can be saved with."""
        return {name: getattr(self, name) for name in self.__slots__}

    def find(self, start: int, end: int) -> int | None:
        """The number of the constituent over exactly these tokens."""
        number = bisect_left(self.starts, start)
        while number < len(self.starts) and self.starts[number] == start:
            if self.ends[number] == end:
                return number
            number += 1
        return None

    def within(self, number: int) -> range:
        """The numbers of a constituent and of those inside."""
        return range(number, bisect_left(self.starts, self.ends[number]))

    def children(self, number: int) -> Iterator[int]:
        """The numbers of those just below, from left to right."""
        inner = number + 1
        while inner in self.within(number):
            yield inner
            inner = bisect_left(self.starts, self.ends[inner])


def get_labels(item: Span | Token) -> tuple[str, ...]:
    """The labels of a constituent from the top of its unary chain down; none for a word under its tag."""
    found, number = _find(item)
    return tuple(found.labels[number])


def get_constituents(item: Span | Token) -> Iterator[Span]:
    """The constituent and all inside, words too, in pre-order."""
    found, number = _find(item)
    return (item.doc[found.starts[inner] : found.ends[inner]] for inner in found.within(number))


def get_children(item: Span | Token) -> Iterator[Span]:
    """The constituents just below, words too, from left to right."""
    found, number = _find(item)
    return (item.doc[found.starts[inner] : found.ends[inner]] for inner in found.children(number))


def get_parent(item: Span | Token) -> Span | None:
    """The constituent just above; None for that of a whole sentence."""
    found, number = _find(item)
    parent = found.parents[number]
    return None if parent < 0 else item.doc[found.starts[parent] : found.ends[parent]]


def get_tree(item: Span | Token) -> Tree:
    """The tree over a constituent, as the model gave it."""
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
    """The constituents of a document and the number of one; white space around it does not count."""
    doc = item.doc
    message = doc.user_data.get(KEY)
    if message is None:
        raise ValueError("the document has no trees; expected one that a pipeline with treeformers made")
    found = Constituents(**message)
    if found.length != len(doc):
        raise ValueError(f"the trees are over {found.length} tokens, the document has {len(doc)} by now")
    start, end = (item.start, item.end) if isinstance(item, Span) else (item.i, item.i + 1)
    while start < end and doc[start].is_space:
        start += 1
    while start < end and doc[end - 1].is_space:
        end -= 1
    number = found.find(start, end)
    if number is None:
        raise NotAConstituent(f"tokens {start} to {end} are no constituent: {doc[start:end].text!r}")
    return found, number


def _sentences(doc: Doc) -> list[list[int]]:
    """The numbers of the words of every sentence that has any.

    Raises:
        ValueError: the document has no sentence boundaries.
    """
    if not len(doc):
        return []
    if not doc.has_annotation("SENT_START"):
        raise ValueError(
            "the document has no sentence boundaries; expected a component before this one to set them, as "
            'nlp.add_pipe("sentencizer") does'
        )
    sentences = ([token.i for token in sentence if not token.is_space] for sentence in doc.sents)
    return [places for places in sentences if places]


def _write(contents: dict[str, bytes], folder: Path) -> None:
    for name, content in contents.items():
        path = folder / name
        if ".." in path.parts or not path.is_relative_to(folder):
            raise ValueError(f"{name!r} is no file of a model")
        path.parent.mkdir(parents=True, exist_ok=True)
        written = path.with_name(f".{path.name}.tmp")  # weights that are in use are read from their file
        written.write_bytes(content)
        os.replace(written, path)
