"""`treeformers parse`, for models that induce trees and for those that parse."""

from __future__ import annotations

import gc
import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, TextIO

import typer

from treeformers.bulk import CHUNK, NAMED, SHARD_LINES, Progress, parse_files, parse_lines
from treeformers.cli.console import format_of, read_sentences, resumable
from treeformers.tasks.load import Engine, load_engine
from treeformers.training.model_folder import checksum
from treeformers.trees.dependency import DependencyTree
from treeformers.trees.escapes import unescape_word
from treeformers.trees.files import atomic_write, suffix_of
from treeformers.trees.formats import CONLL, JSON, opens_tree, write_dependencies, write_trees
from treeformers.trees.heads import to_dependencies
from treeformers.trees.tree import Tree

logger = logging.getLogger(__name__)

FLAT = 50  # per cent of the trees, above which structure is missing
SAID_EVERY = 10.0  # seconds between two lines about progress

Format = Literal["brackets", "json", "conllu", "pretty", "svg", "latex"]
_BY_SUFFIX: dict[str, Format] = {
    **dict.fromkeys(JSON, "json"),
    **dict.fromkeys(CONLL, "conllu"),
    ".svg": "svg",
    ".tex": "latex",
}


def parse(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a trained model.")],
    file: Annotated[str, typer.Argument(metavar="[FILE|-]", help="Sentences.")] = "-",
    format: Annotated[
        Format | None,
        typer.Option(
            help="What to write; by default what the name of the file says (.json, .jsonl, .conllu, .svg, "
            ".tex), or else brackets."
        ),
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Sentences computed at once.")] = 64,
    layer: Annotated[
        int | None,
        typer.Option(help="Of an inducer: read trees from this layer, counted from 0; -1 is the last."),
    ] = None,
    beam: Annotated[
        int | None, typer.Option(min=1, help="Of a parser: hypotheses kept; 1 is greedy.")
    ] = None,
    tokenized: Annotated[
        bool,
        typer.Option("--tokenized", help="For a parser: words are apart by white space already."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE|DIR",
            help="A file; without a suffix a folder, for shards that outlive a stop.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Into a folder: go on where an earlier run stopped.")
    ] = False,
    workers: Annotated[int, typer.Option(min=1, help="Into a folder: processes.")] = 1,
    ray: Annotated[
        bool, typer.Option("--ray", help="Into a folder: workers of a Ray cluster (extra ray).")
    ] = False,
    shard_lines: Annotated[
        int | None, typer.Option(min=1, help=f"Into a folder: lines of a shard; {SHARD_LINES:,} by default.")
    ] = None,
) -> None:
    """Parse sentences, one a line.

    An inducer takes words apart by white space; a parser cuts raw text as the Penn Treebank does.
    As brackets and JSON the trees stand on the lines of their sentences: an empty line gives an empty line,
    and so does one that cannot be parsed. Those are counted and named at the end. As CoNLL-U a parser's trees
    are dependency trees: heads are found by the rules of Collins, and relations are not there.

    A folder, or a file too long for one go, is parsed into a folder: --out DIR. There the trees of FILE are
    FILE-000000.txt and so on, and manifest.json says what they are of.
    """
    load = partial(load_engine, model, layer=layer, beam=beam, tokenized=tokenized)
    if out and _is_folder(out, file):
        settings = {"batch_size": batch_size, "resume": resume, "workers": workers, "ray": ray}
        settings["shard_lines"] = shard_lines or SHARD_LINES
        _parse_shards(model, load, file, out, format or "brackets", **settings)
        return
    if resume or ray or workers > 1 or shard_lines:
        raise ValueError("--resume, --workers, --ray and --shard-lines are for --out DIR, a folder")
    format = format_of(format, out, _BY_SUFFIX, "brackets")
    if suffix_of(file) in CONLL:
        raise ValueError(f"{file}: CoNLL-U, expected text with one sentence a line")
    engine = load()
    if engine.induces and format == "conllu":
        raise ValueError(f"CoNLL-U needs labels, by which heads are found: {model} induces none")
    problems: list[str] = []
    structure = None
    gc.freeze()  # the garbage collector need not look through torch again for every few thousand trees
    with atomic_write(out) if out else nullcontext(sys.stdout) as target:
        write = _writer(format, target)
        trees = _parse(engine, _text(file), write, target, batch_size, problems)
        first = next(trees, None)
        if first is None:
            count = 0
        elif engine.induces:
            from treeformers.induction import summarise_structure

            structure = summarise_structure(chain([first], trees))
            count = structure.sentences
        else:
            count = 1 + sum(1 for _ in trees)
    if structure:
        logger.info(
            "%d sentences, %.1f spans a sentence, %.1f %% of the trees flat",
            count,
            structure.spans_per_sentence,
            structure.flat_share,
        )
        if structure.flat_share > FLAT:
            logger.warning(
                "warning: most trees hold no structure: the links of %s are above the threshold or trained "
                "too little; --layer -1 splits at the weakest link, however strong",
                model,
            )
    else:
        logger.info("%d sentences", count)
    if problems:
        _complain(problems, len(problems), count + len(problems))


def _text(file: str) -> Iterator[tuple[str, str]]:
    """The lines of a text; one that begins with a tree is remarked on."""
    lines = read_sentences(file, strict=False)
    for where, line in lines:
        if line.strip():
            if opens_tree(line.strip()):
                logger.warning("warning: %s looks like a tree, its brackets are read as words", where)
            yield where, line
            break
        yield where, line
    yield from lines


def _parse(
    engine: Engine,
    lines: Iterable[tuple[str, str]],
    write: Callable[[Tree], object],
    target: TextIO,
    batch_size: int,
    problems: list[str],
) -> Iterator[Tree]:
    """Write the trees as they come, and hand them on; problems are collected, one a line."""
    numbered = iter(lines)
    while chunk := list(islice(numbered, CHUNK)):
        for tree in parse_lines(engine, chunk, batch_size, problems):
            if tree is None:
                target.write("\n")
            else:
                write(tree)
                yield tree
        target.flush()


def _is_folder(out: Path, file: str) -> bool:
    """Whether trees are to go to a folder: one that is there or has the name of one, or from a folder."""
    return out.is_dir() or Path(file).is_dir() or not (out.suffix or out.exists() or file == "-")


def _parse_shards(
    model: Path, engine: partial[Engine], file: str, out: Path, format: Format, **settings: Any
) -> None:
    """Parse into a folder, and say how far it is."""
    if file == "-":
        raise ValueError("--out DIR is for a FILE or a FOLDER: standard input cannot be read twice")
    if format not in ("brackets", "json"):
        raise ValueError(f"--out DIR is for --format brackets or json, got {format}")
    said = time.monotonic()

    def say(progress: Progress) -> None:
        nonlocal said
        if time.monotonic() - said >= SAID_EVERY:
            said = time.monotonic()
            logger.info(
                "%s of %s lines, %.0f a second, %s left",
                f"{progress.done:,}",
                f"{progress.lines:,}",
                progress.per_second,
                _duration(progress.seconds_left),
            )

    decided = {"model": checksum(model), **engine.keywords}
    with resumable():
        done = parse_files(engine, file, out, format=format, settings=decided, progress=say, **settings)
    logger.info("%s lines in %s shards", f"{done.lines:,}", f"{done.shards:,}")
    if done.problems:
        _complain(done.problems, done.unparsed, done.lines)


def _complain(problems: Sequence[str], count: int, lines: int) -> NoReturn:
    """Name the first lines that could not be parsed, and say how many there are."""
    for problem in problems[1:NAMED]:
        logger.warning("%s", problem)
    more = f"{count} of {lines} lines could not be parsed, the first: "
    raise ValueError(f"{more if lines > 1 else ''}{problems[0]}")


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def _writer(format: Format, target: TextIO) -> Callable[[Tree], object]:
    if format in ("brackets", "json"):
        return lambda tree: write_trees([tree], target, format)
    if format == "conllu":
        return lambda tree: write_dependencies([_plain_words(to_dependencies(tree))], target)
    from treeformers.drawing import tree_latex, tree_svg

    if format == "svg":
        return lambda tree: target.write(f"{tree_svg(tree)}\n")
    if format == "latex":
        return lambda tree: target.write(f"{tree_latex(tree)}\n\n")
    return lambda tree: target.write(f"{tree.pretty()}\n\n")


def _plain_words(tree: DependencyTree) -> DependencyTree:
    """With brackets as they are in text: brackets around trees need them escaped, columns do not."""
    return DependencyTree(map(unescape_word, tree.words), tree.heads, tree.relations, tree.tags)
