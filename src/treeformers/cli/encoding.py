"""`treeformers classify`, `similarity` and `translate`: text or trees in, a line of answer for each line."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import typer

from treeformers.cli.console import format_of, read_sentences
from treeformers.data.corpora import clean_tree
from treeformers.trees.files import atomic_write, suffix_of
from treeformers.trees.formats import CONLL, JSON, is_bare, opens_tree, read_dependencies
from treeformers.trees.tree import Tree

if TYPE_CHECKING:
    from treeformers.data.examples import Text
    from treeformers.trees.dependency import DependencyTree

logger = logging.getLogger(__name__)

CHUNK = 4096  # lines held at once
NAMED = 10  # lines without an answer that are named
OF_ONE = re.compile(r"(text|sentence) \d+ ")  # how an error opens that one of several texts is to blame for

T = TypeVar("T")


def _no_file(trees: str | None) -> str | None:
    """Lines are read in chunks and may have no answer, so that trees of a file cannot be counted off."""
    if trees and Path(trees).is_file():
        raise ValueError(f"--trees: {trees} is a file: give its trees in place of the sentences, one a line")
    return trees


File = Annotated[str, typer.Argument(metavar="[FILE|-]", help="Sentences or bracketed trees, one a line.")]
Trees = Annotated[
    str | None,
    typer.Option(
        help="Where the trees of sentences come from: the folder of a parser or inducer, spacy:PIPELINE, "
        "stanza:LANGUAGE or benepar:MODEL, or right, left, balanced or random. As in training by default.",
        callback=_no_file,
    ),
]
Out = Annotated[Path | None, typer.Option(help="Write to this file.")]
Format = Literal["tsv", "json"]
AnswerFormat = Annotated[
    Format | None,
    typer.Option(
        help="What to write; by default what the name of the file says (.json, .jsonl), or else tsv."
    ),
]


def classify(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a trained classifier.")],
    file: File = "-",
    trees: Trees = None,
    format: AnswerFormat = None,
    out: Out = None,
) -> None:
    """Classify sentences or trees; or documents, a line each, if the model was trained on documents.

    Writes class and probability for each line, an empty line for an empty one and for one that could not be
    read. A model of dependency trees that were given reads CoNLL-U, and writes a line for each tree.
    """
    from treeformers.tasks.classify.predictor import Classifier

    classifier = Classifier.from_pretrained(model)
    as_json = _is_json(format, out)

    def answer(texts: Sequence[Text]) -> list[str]:
        found = classifier.classify(texts, trees)
        if as_json:
            return [_json(label=one.label, probabilities=one.probabilities) for one in found]
        return [f"{one.label}\t{one.probabilities[one.label]:.4f}" for one in found]

    if classifier.reader.structure == "dependencies" and _holds_trees(file, trees or classifier.trees):
        _answer_trees(file, out, answer)
    else:
        _answer_lines(file, out, read_text, answer)


def similarity(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a trained model of pairs.")],
    file: Annotated[
        str,
        typer.Argument(metavar="[FILE|-]", help="Two sentences or trees a line, a tab between."),
    ] = "-",
    trees: Trees = None,
    format: AnswerFormat = None,
    out: Out = None,
) -> None:
    """Compare the two sentences of each line.

    Writes the score from 1 to 5, or class and probability, for each line; an empty line for an empty one and
    for one that could not be read. A model of dependency trees that were given reads CoNLL-U, the two trees
    of a pair one after the other, and writes a line for each pair.
    """
    from treeformers.tasks.classify.predictor import Similarity

    loaded = Similarity.from_pretrained(model)
    as_json = _is_json(format, out)

    def answer(pairs: Sequence[tuple[Text, Text]]) -> list[str]:
        found = loaded.compare(pairs, trees)
        if as_json:
            return [_json(label=one.label, score=one.score, probabilities=one.probabilities) for one in found]
        return [
            f"{one.label}\t{one.probabilities[one.label]:.4f}" if one.score is None else f"{one.score:.4f}"
            for one in found
        ]

    if loaded.reader.structure == "dependencies" and _holds_trees(file, trees or loaded.trees):
        _answer_trees(file, out, lambda trees: answer(list(zip(trees[::2], trees[1::2], strict=True))), 2)
    else:
        _answer_lines(file, out, _read_pair, answer)


def translate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a trained translation model.")],
    file: File = "-",
    trees: Trees = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Hypotheses kept; 1 is greedy.")] = None,
    out: Out = None,
) -> None:
    """Translate sentences or trees.

    Writes a line for each line, an empty one for an empty one and for one that could not be read.
    """
    from treeformers.tasks.translate.predictor import Translator

    translator = Translator.from_pretrained(model)

    def answer(texts: Sequence[Text]) -> list[str]:
        sources = [text for text in texts if isinstance(text, Tree | str)]
        return [" ".join(line.split()) for line in translator.translate(sources, trees, beam)]

    _answer_lines(file, out, read_text, answer)


def _is_json(format: Format | None, out: Path | None) -> bool:
    return format_of(format, out, dict.fromkeys(JSON, "json"), "tsv") == "json"


def _holds_trees(file: str, source: str) -> bool:
    """Whether a model of dependency trees is given such trees, and not text."""
    return source == "given" or holds_dependencies(file)


def _answer_trees(
    file: str, out: Path | None, answer: Callable[[Sequence[DependencyTree]], list[str]], each: int = 1
) -> None:
    """Write an answer for each so many dependency trees.

    Raises:
        ValueError: a malformed tree, none, or some that are left over.
    """
    name, count = "<stdin>" if file == "-" else file, 0
    with atomic_write(out) if out else nullcontext(sys.stdout) as target:
        source = read_dependencies(file)
        while chunk := list(islice(source, each * CHUNK)):
            count += len(chunk)
            if len(chunk) % each:
                raise ValueError(f"{name}: {count} trees, expected {each} for each line of answer")
            target.writelines(f"{line}\n" for line in answer(chunk))
        if not count:
            raise ValueError(f"{name}: no trees in it, expected CoNLL-U")
    logger.info("%d trees", count)


def _answer_lines(
    file: str, out: Path | None, read: Callable[[str], T], answer: Callable[[Sequence[T]], list[str]]
) -> None:
    """Write an answer for each line. A bad line costs only its own; those are counted and named at the end.

    Raises:
        ValueError: some lines have no answer, or dependency trees for a model of others.
    """
    if holds_dependencies(file):
        raise ValueError(f"{file}: dependency trees, but the model reads sentences or trees in brackets")
    problems: list[str] = []
    count = 0
    with atomic_write(out) if out else nullcontext(sys.stdout) as target:
        lines = read_sentences(file, strict=False)
        while chunk := list(islice(lines, CHUNK)):
            texts: dict[int, T] = {}
            wrong: dict[int, str] = {}
            for number, (_, line) in enumerate(chunk):
                try:
                    if line.strip():
                        texts[number] = read(_decoded(line).strip())
                except ValueError as error:
                    wrong[number] = str(error)
            count += len(texts) + len(wrong)
            found = dict(_answered(texts, answer, wrong))
            target.writelines(f"{found.get(number, '')}\n" for number in range(len(chunk)))
            problems += [f"{chunk[number][0]}: {wrong[number]}" for number in sorted(wrong)]
    logger.info("%d lines", count)
    if problems:
        for problem in problems[1:NAMED]:
            logger.warning("%s", problem)
        raise ValueError(f"{len(problems)} of {count} lines have no answer, the first: {problems[0]}")


def _answered(
    texts: Mapping[int, T], answer: Callable[[Sequence[T]], list[str]], wrong: dict[int, str]
) -> Iterator[tuple[int, str]]:
    """Numbers and answers; where one text is to blame that there are none, those of each half.

    Raises:
        ValueError: what is wrong is wrong with all of them, such as where their trees are to come from.
    """
    if not texts:
        return
    try:
        yield from zip(texts, answer(list(texts.values())), strict=True)
    except ValueError as error:
        if not OF_ONE.match(str(error)):
            raise
        numbers = list(texts)
        if len(numbers) == 1:
            wrong[numbers[0]] = OF_ONE.sub("", str(error), count=1)
            return
        for half in (numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]):
            yield from _answered({number: texts[number] for number in half}, answer, wrong)


def _decoded(line: str) -> str:
    if "\0" in line:
        raise ValueError("not text: byte 0x00")
    try:
        line.encode()
    except UnicodeEncodeError as error:
        byte = ord(line[error.start]) - 0xDC00  # see `read_lines`
        raise ValueError(f"not UTF-8 text: byte 0x{byte:02x}") from None
    return line


def holds_dependencies(file: str) -> bool:
    """Whether a file holds dependency trees, by its name."""
    return suffix_of(file) in CONLL


def read_text(line: str) -> Tree | str:
    """A tree, cleaned as those that are trained on, or the line itself."""
    if not (opens_tree(line) or is_bare(line)):
        return line
    try:
        tree = clean_tree(Tree.from_brackets(line))
    except ValueError as error:
        raise ValueError(str(error).removeprefix("<string>:1: ")) from None
    if tree is None:
        raise ValueError("the tree holds only traces")
    return tree


def _read_pair(line: str) -> tuple[Text, Text]:
    fields = [field.strip() for field in line.split("\t")]
    if len(fields) != 2:
        raise ValueError(f"expected two texts with a tab between, got {len(fields)}")
    return read_text(fields[0]), read_text(fields[1])


def _json(**content: object) -> str:
    return json.dumps(content, ensure_ascii=False)
