"""Files of constituency trees: brackets (Penn Treebank, SST) and JSON lines, plain or gzipped.

`treeformers.trees.conll` reads dependency trees; its functions for trees alone have their names here too.
Readers are iterators that hold one tree at a time. A malformed file raises a ValueError with a one-line
message that opens with file:line. Writers replace a path only when all trees are written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias

from treeformers.trees.conll import CONLL, read_dependencies, write_dependencies
from treeformers.trees.discbracket import looks_like_discbracket
from treeformers.trees.files import Source, Target, check_kind, file_name, open_target, read_lines, suffix_of
from treeformers.trees.tree import Tree, parse_brackets

__all__ = [
    "CONLL",
    "JSON",
    "holds_trees",
    "is_bare",
    "opens_tree",
    "read_brackets",
    "read_dependencies",
    "read_parses",
    "read_trees",
    "tree_to_json",
    "write_dependencies",
    "write_trees",
]

TreeFormat: TypeAlias = Literal["brackets", "json"]

JSON = frozenset({".json", ".jsonl"})
"""Suffixes of JSON lines files."""

_CHUNK = 1 << 16
_LEAF = re.compile(r"\(\s*([^\s()]+)\s+[^\s()]+\s*\)")
_BARE = re.compile(r"\([^\sa-z()]+\s[^()]*\)")
_OPENS_NODE = re.compile(r"\(\s*[^\s()]*")
_NESTED = re.compile(r"\(\s*([^\s()]*)\s*\(")
_WITHOUT_WORDS = re.compile(r"\s*(\([\s(]*[^\s()]*[\s)]*)?")


def read_trees(source: Source, format: TreeFormat | None = None) -> Iterator[Tree]:
    """Read constituency trees one by one.

    For brackets, see `treeformers.trees.tree.parse_brackets`. Discbracket is an error, because its words are
    not in order; `treeformers.trees.discontinuous_formats` reads it. A line of JSON lines holds one tree:
    {"words": [...], "tags": [...], "spans": [[start, end, label], ...]}. The half-open spans are in
    pre-order, as in `Tree.from_spans`. "tags" is optional; other keys are ignored.

    Args:
        source: a path (gzipped if it ends in .gz), "-" for standard input, or a file object.
        format: "brackets" or "json"; by default JSON if the path ends in .json or .jsonl, otherwise brackets.

    Yields:
        The trees; none for an empty file.

    Raises:
        FileNotFoundError: the file does not exist. The first `next` raises this.
        ValueError: the text is malformed; the message opens with file:line.
    """
    if _tree_format(source, format) == "brackets":
        yield from read_brackets(read_lines(source, chunk=_CHUNK))
        return
    for where, line in read_lines(source):
        if line.strip():
            yield _tree_from_json(where, line)


def read_parses(source: Source, sentences: int, format: TreeFormat | None = None) -> list[Tree | None]:
    """Read a parser's output, which may have no tree for some sentences.

    Some parsers write one tree on each line. If they find no tree, they write a blank line or brackets
    without a word, such as "(())" or "(TOP )". If the file has one line for each sentence, such a line means
    "no parse". Any other file is read as in `read_trees`.

    Args:
        source: as in `read_trees`.
        sentences: number of sentences that were parsed.
        format: as in `read_trees`.

    Returns:
        The trees; None for a sentence without a parse.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: the text is malformed; the message opens with file:line.
    """
    lines = list(read_lines(source))
    brackets = _tree_format(source, format) == "brackets"

    def trees(lines: Iterable[tuple[str, str]]) -> list[Tree]:
        if brackets:
            return list(read_brackets(lines))
        return [_tree_from_json(where, line) for where, line in lines if line.strip()]

    unparsed = [not line.strip() or (brackets and _holds_no_word(line)) for _, line in lines]
    if len(lines) != sentences or not any(unparsed):
        return list(trees(lines))
    parses: list[Tree | None] = []
    for (where, line), empty in zip(lines, unparsed, strict=True):
        found = [None] if empty else trees([(where, line)])
        if len(found) != 1:
            raise ValueError(f"{where}: {len(found)} trees on a line, expected one or none")
        parses += found
    return parses


def read_brackets(lines: Iterable[tuple[str, str]]) -> Iterator[Tree]:
    """Read trees in brackets.

    Raises:
        ValueError: as `parse_brackets`, or the first tree is discbracket.
    """
    where = [""]

    def followed() -> Iterator[tuple[str, str]]:
        for chunk in lines:
            where[0] = chunk[0]
            yield chunk

    trees = parse_brackets(followed())
    for first in trees:
        if looks_like_discbracket(first):
            raise ValueError(
                f"{where[0]}: words with positions, such as {first.leaves[0].word!r}, are discbracket, not "
                "brackets: read it with read_discontinuous(file, 'discbracket')"
            )
        yield first
        break
    yield from trees


def _holds_no_word(line: str) -> bool:
    return bool(_WITHOUT_WORDS.fullmatch(line)) and line.count("(") == line.count(")")


def write_trees(trees: Iterable[Tree], target: Target, format: TreeFormat | None = None) -> None:
    """Write constituency trees, one on each line.

    JSON lines read back exactly. Brackets read back as the same trees, except that round brackets inside
    words become -LRB- and -RRB-.

    Args:
        trees: the trees; an iterator is consumed one tree at a time.
        target: a path (gzipped if it ends in .gz), "-" for standard output, or a text file object. A path
            is replaced only at the end; a failure leaves the old file.
        format: as in `read_trees`.

    Raises:
        TypeError: an item is not a `Tree`.
        ValueError: brackets cannot represent a word or label.
    """

    def as_json(tree: Tree) -> str:
        return json.dumps(tree_to_json(tree), ensure_ascii=False)

    render = str if _tree_format(target, format) == "brackets" else as_json
    with open_target(target) as stream:
        for number, tree in enumerate(trees, start=1):
            check_kind(tree, Tree, target, number)
            try:
                stream.write(render(tree) + "\n")
            except ValueError as error:
                raise ValueError(f"{file_name(target)}: tree {number}: {error}") from None


def opens_tree(line: str) -> bool:
    """Whether a stripped line is a tree or the beginning of one, and not a sentence in parentheses.

    A tree is nested brackets, "(S (NP ...) ...)", or a tag over a word, "(NN day)". Ambiguous lines are
    decided by the label: letters that are not all capitals are a word. "(Applause)", "(fine day)" and
    "(see (Smith 1999) for more" are therefore text.
    """
    if leaf := _LEAF.fullmatch(line):
        return not _is_word(leaf[1])
    nested = _NESTED.match(line)
    return nested is not None and (line.endswith(")") or not _is_word(nested[1]))


def holds_trees(lines: Iterable[str]) -> bool:
    """Whether a text contains trees in brackets, by its first line.

    Blank lines and comments ("# ...") before it are skipped. A line with nothing but the beginning of a node,
    "(" or "(S", opens a tree that continues below.
    """
    stripped = (line.strip() for line in lines)
    first = next((line for line in stripped if line and not line.startswith("#")), "")
    return opens_tree(first) or _OPENS_NODE.fullmatch(first) is not None


def is_bare(line: str) -> bool:
    """Whether a line is a faulty tree, a label over words without tags: "(S the dog)"."""
    return _BARE.fullmatch(line) is not None


def _is_word(label: str) -> bool:
    return label.isalpha() and not label.isupper()


def _tree_format(file: Source | Target, format: str | None) -> str:
    if format is None:
        return "json" if suffix_of(file_name(file)) in JSON else "brackets"
    if format not in ("brackets", "json"):
        raise ValueError(f"{file_name(file)}: unknown tree format {format!r}: expected 'brackets' or 'json'")
    return format


def tree_to_json(tree: Tree) -> dict[str, Any]:
    """The object of a tree in JSON lines."""
    return {"words": tree.words, "tags": tree.tags, "spans": tree.spans()}


def _tree_from_json(where: str, line: str) -> Tree:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where}: not JSON: {error}") from None
    if not isinstance(fields, dict) or not {"words", "spans"} <= fields.keys():
        raise ValueError(f'{where}: expected {{"words": [...], "tags": [...], "spans": [...]}}')
    words, tags, spans = fields["words"], fields.get("tags"), fields["spans"]
    for name, values in (("words", words), ("tags", [] if tags is None else tags)):
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise ValueError(f'{where}: "{name}" is not a list of strings')
    if not isinstance(spans, list) or not all(map(_is_json_span, spans)):
        raise ValueError(f'{where}: "spans" is not a list of [start, end, label]')
    try:
        return Tree.from_spans(words, map(tuple, spans), tags)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _is_json_span(span: object) -> bool:
    return isinstance(span, list) and [type(item) for item in span] == [int, int, str]
