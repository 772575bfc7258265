"""`treeformers data inspect`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from treeformers.cli.console import MAX_PROBLEMS, JsonFile, stdout
from treeformers.cli.tree_files import EncodingOption, InputFormatOption, ProfileOption, Reading
from treeformers.trees.text import count, plain

if TYPE_CHECKING:
    from treeformers.data.inspection import Inspection

MAX_NAMES = 12
"""Number of labels, tags and the like that are shown."""


def inspect_files(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Files of trees, in any format; - for standard input."),
    ],
    profile: ProfileOption = None,
    encoding: EncodingOption = None,
    input_format: InputFormatOption = None,
    json: JsonFile = None,
) -> None:
    """Show what is in files of trees, and how they will be read.

    The command reads each file to its end and never stops at bad lines. It shows the scheme, the labels and
    tags, what will be left out, and what cannot be read.
    """
    from treeformers.data.inspection import inspect_treebank

    reading = Reading(profile, encoding, input_format, skip_bad=True)
    found = []
    for file in files:
        given = reading.open(file)
        inspection = inspect_treebank(given.source, given.format, profile=profile, encoding=reading.codec)
        _print(inspection, reading)
        found.append(inspection.to_dict())
    if json:
        from treeformers.trees.files import write_json

        write_json(json, {"files": found})


def _print(found: Inspection, reading: Reading) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False)
    for name, value in (("file", found.file), ("scheme", _scheme(found, reading)), *_rows(found)):
        table.add_row(name, Text(plain(value)))
    console = stdout()
    console.print(table)
    for error in found.errors[:MAX_PROBLEMS]:
        console.print(plain(error), markup=False, soft_wrap=True)
    if found.bad > MAX_PROBLEMS:
        console.print(f"... and {found.bad - MAX_PROBLEMS:,} more", markup=False)
    for line in _advice(found, reading):
        console.print(line, markup=False, soft_wrap=True)


def _scheme(found: Inspection, reading: Reading) -> str:
    if found.kind == "dependencies":
        return "dependency trees"
    if found.kind == "discontinuous":
        return f"discontinuous trees, {found.format}"
    if reading.profile:
        return f"{found.profile}: {found.title}"
    how = f"recognised by {found.mark}" if found.mark else "no marks of another scheme"
    return f"{found.profile}: {found.title} ({how})"


def _rows(found: Inspection) -> Iterator[tuple[str, str]]:
    yield "trees", f"{found.trees:,}"
    yield "words", f"{found.words:,}"
    for name, counts in (
        ("labels", found.labels),
        ("tags", found.tags),
        ("functions", found.functions),
        ("relations", found.relations),
    ):
        if counts:
            yield name, _most(counts)
    for name, words in (("lemmas", found.lemmas), ("features", found.features)):
        if words:
            yield name, f"{100 * words / found.words:.1f} % of the words"
    if found.kind == "constituency":
        yield "unary nodes", f"{found.unary_nodes:,}, at most {found.longest_chain} above each other"
        if found.branching_nodes:
            share = 100 * found.nodes_without_rule / found.branching_nodes
            where = (
                f"{found.nodes_without_rule:,} of {found.branching_nodes:,}, head rules {found.head_rules}"
            )
            yield "without head rule", f"{share:.1f} % of the nodes with several children, {where}"
    if found.kind == "discontinuous":
        gaps = count(found.discontinuous_nodes, "constituent")
        yield "with gaps", f"{count(found.discontinuous_trees, 'tree')}, {gaps}"
    if found.without_words:
        yield "trees without words", f"{found.without_words:,}, left out"
    if found.dropped:
        yield "dropped nodes", _most(found.dropped)
    if found.empties:
        yield "empty elements", _most(found.empties)
    if found.skipped_lines:
        yield "comments and markup", count(found.skipped_lines, "line")
    yield "cannot be read", count(found.bad, "place") if found.bad else "nothing"


def _most(counts: Counter[str]) -> str:
    """The most frequent names and their numbers."""
    shown = ", ".join(f"{name or repr(name)} {number:,}" for name, number in counts.most_common(MAX_NAMES))
    return shown if len(counts) <= MAX_NAMES else f"{shown} ... ({len(counts):,} in all)"


def _advice(found: Inspection, reading: Reading) -> Iterator[str]:
    """How the file will be read, and by which command."""
    if not found.trees:
        return
    options = [quote(found.file)]
    if reading.profile:
        options += ["--profile", quote(reading.profile)]
    if reading.encoding:
        options += ["--encoding", quote(reading.encoding)]
    if reading.format:
        options += ["--input-format", reading.format]
    if found.bad:
        options.append("--skip-bad")
    given = " ".join(options)
    if found.kind in ("constituency", "text"):
        yield f"Train a parser: treeformers train examples/treebank.toml --out DIR --train {given}"
    else:
        yield f"Draw the trees: treeformers draw {given} --out trees.html"
    if found.mark:
        yield f"All commands recognise {found.profile}; --profile chooses another scheme."
    if found.bad:
        yield "Without --skip-bad, the first error stops a command."
