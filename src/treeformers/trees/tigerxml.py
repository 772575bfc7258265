"""Trees in TIGER XML (Mengel and Lezius 2000), read sentence by sentence.

A document type declaration is refused, because it could define entities that grow without limit.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from typing import IO
from xml.parsers import expat

from treeformers.trees.discontinuous import NO_VALUE, DiscontinuousTree
from treeformers.trees.svg import NOT_IN_XML

__all__ = ["TIGER_END", "TIGER_START", "format_tigerxml", "parse_tigerxml"]

TIGER_START = '<?xml version="1.0" encoding="UTF-8"?>\n<corpus id="treeformers">\n<body>\n'
TIGER_END = "</body>\n</corpus>\n"

_CHUNK = 1 << 16
_NEEDED = {"t": ("id", "word"), "nt": ("id", "cat"), "edge": ("idref",)}


class _Sentence:
    """The elements of one sentence, as the parser meets them."""

    def __init__(self, name: str, line: int) -> None:
        self.name = name
        self.line = line
        self.words: dict[str, dict[str, str]] = {}  # by identifier: the attributes
        self.labels: dict[str, str] = {}
        self.edges: dict[str, tuple[str, str]] = {}  # by identifier of the child: parent, label

    def start(self, element: str, attributes: dict[str, str]) -> None:
        """Take one element.

        Raises:
            ValueError: an attribute is missing, an identifier stands twice, or a node has two parents.
        """
        for attribute in _NEEDED.get(element, ()):
            if attribute not in attributes:
                raise ValueError(f"<{element}> without {attribute}=")
        if element == "edge":
            if not self.labels:
                raise ValueError("<edge> outside <nt>")
            child = attributes["idref"]
            if child in self.edges:
                raise ValueError(f"node {child!r} has two parents")
            self.edges[child] = next(reversed(self.labels)), attributes.get("label", NO_VALUE)
        elif element in _NEEDED:
            name = attributes["id"]
            if name in self.words or name in self.labels:
                raise ValueError(f"two nodes have the identifier {name!r}")
            if element == "t":
                self.words[name] = attributes
            else:
                self.labels[name] = attributes["cat"]

    def tree(self) -> DiscontinuousTree:
        """The tree of the sentence.

        Raises:
            ValueError: an edge leads to a node that does not exist, or the nodes are not a tree.
        """
        if lost := self.edges.keys() - self.words.keys() - self.labels.keys():
            raise ValueError(f"an edge leads to {min(lost)!r}, which is no node of the sentence")
        places = {name: place for place, name in enumerate(self.labels)}
        above = [self.edges.get(name, ("", NO_VALUE)) for name in (*self.words, *self.labels)]
        words = self.words.values()
        return DiscontinuousTree(
            words=[word["word"] for word in words],
            tags=[word.get("pos", NO_VALUE) for word in words],
            labels=self.labels.values(),
            parents=[places.get(parent, -1) for parent, _ in above],
            edges=[label for _, label in above],
            lemmas=[word.get("lemma", NO_VALUE) for word in words],
            morphology=[word.get("morph", NO_VALUE) for word in words],
        )


def parse_tigerxml(stream: IO[bytes] | IO[str], name: str) -> Iterator[DiscontinuousTree]:
    """Read the sentences of a document one by one; the document itself is never in memory.

    Secondary edges, identifiers, the header, and attributes of words other than word, pos, lemma and morph
    are skipped.

    Args:
        stream: the document. Bytes have the encoding that the document declares.
        name: the file, for error messages.

    Raises:
        ValueError: the document is not well-formed, has a document type declaration, or a sentence is not a
            tree. The message opens with file:line, and names the sentence.
    """
    done: list[DiscontinuousTree] = []
    current: _Sentence | None = None
    parser = expat.ParserCreate()

    def start(element: str, attributes: dict[str, str]) -> None:
        nonlocal current
        if element == "s":
            current = _Sentence(attributes.get("id", "without id"), parser.CurrentLineNumber)
        elif current is not None:
            try:
                current.start(element, attributes)
            except ValueError as error:
                raise ValueError(
                    f"{name}:{parser.CurrentLineNumber}: sentence {current.name}: {error}"
                ) from None

    def end(element: str) -> None:
        nonlocal current
        if element == "s" and current is not None:
            try:
                if current.words:
                    done.append(current.tree())
            except ValueError as error:
                raise ValueError(f"{name}:{current.line}: sentence {current.name}: {error}") from None
            current = None

    def refuse(*_: object) -> None:
        raise ValueError(f"{name}:{parser.CurrentLineNumber}: a document type declaration, expected none")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    while True:
        try:
            data = stream.read(_CHUNK)
            parser.Parse(data, not data)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{name}:{parser.CurrentLineNumber}: damaged gzip file: {error}") from None
        except expat.ExpatError as error:
            raise ValueError(f"{name}:{error.lineno}: not XML: {expat.ErrorString(error.code)}") from None
        yield from done
        done.clear()
        if not data:
            return


def format_tigerxml(tree: DiscontinuousTree, number: int) -> str:
    """Write a sentence as an element <s>, to stand between `TIGER_START` and `TIGER_END`.

    Args:
        tree: the tree.
        number: the number of the sentence; its identifier is s1 and so on.

    Raises:
        ValueError: a text holds a character that XML forbids.
    """
    n_words = len(tree)
    names = [f"s{number}_{word + 1}" for word in range(n_words)]
    names += [f"s{number}_{max(500, n_words + 1) + place}" for place in range(len(tree.labels))]
    lines = [f'<s id="s{number}">']
    discontinuous = "" if tree.is_continuous else ' discontinuous="true"'
    lines += [f'<graph root="{names[n_words if tree.labels else 0]}"{discontinuous}>', "<terminals>"]
    for word, name in enumerate(names[:n_words]):
        values = zip(
            ("word", "lemma", "pos", "morph"),
            (tree.words[word], tree.lemmas[word], tree.tags[word], tree.morphology[word]),
            strict=True,
        )
        lines.append(f'<t id="{name}" {" ".join(f"{key}={_quoted(value)}" for key, value in values)}/>')
    lines += ["</terminals>", "<nonterminals>"]
    for name, label, children in zip(names[n_words:], tree.labels, tree.children, strict=True):
        lines.append(f'<nt id="{name}" cat={_quoted(label)}>')
        for child in children:
            lines.append(f'<edge label={_quoted(tree.edges[child])} idref="{names[child]}"/>')
        lines.append("</nt>")
    return "\n".join([*lines, "</nonterminals>", "</graph>", "</s>\n"])


def _quoted(text: str) -> str:
    if NOT_IN_XML.search(text):
        raise ValueError(f"{text!r} cannot be written in XML: it holds a control character")
    from xml.sax.saxutils import quoteattr  # takes long to import, because it imports urllib

    return quoteattr(text)
