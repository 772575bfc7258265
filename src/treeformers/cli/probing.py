"""`treeformers probe`: do the trees of a model mean anything?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treeformers.cli.console import JsonFile, stderr, stdout
from treeformers.trees.files import atomic_write

if TYPE_CHECKING:
    from treeformers.drawing.probes import ProbeTable

SENTENCES = 5000
SHAPES = "gold, right, left, balanced, random"


def probe(
    systems: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL|TREES",
            help="Folders of inducers and parsers, files of trees, right, left, balanced, random or gold.",
        ),
    ] = None,
    sentences: Annotated[
        int | None,
        typer.Option(
            min=0,
            help=f"Generated sentences to ask about; {SENTENCES:,} by default, none where files of trees "
            "annotate a corpus.",
        ),
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(metavar="NAME|FILE", help="A treebank whose constituents are asked for too."),
    ] = None,
    split: Annotated[str, typer.Option(help="Part of the corpus.")] = "test",
    pairs: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="For the inducers: blimp, marvin-linzen, agreement-linzen or agreement-ud; may be repeated.",
        ),
    ] = None,
    each: Annotated[
        int,
        typer.Option(min=0, help="Pairs of each paradigm, prefixes by number of attractors; 0 for all."),
    ] = 200,
    seed: Annotated[int, typer.Option(help="Of the sentences, random trees and choices.")] = 0,
    write: Annotated[
        Path | None,
        typer.Option(help="Write the generated sentences, a line each, for another parser to parse."),
    ] = None,
    json_file: JsonFile = None,
    html: Annotated[
        Path | None, typer.Option(help="Write the report with drawn examples to this page.")
    ] = None,
) -> None:
    """Ask for constituents that are known, and how much of what is found chance would find.

    Determiners, adjectives and relative clauses in generated sentences, the constituents of a treebank, words
    cut into tokens, how far links have gone from where they begin, minimal pairs. Several systems stand side
    by side: gold and right show what the probes read at both ends.
    """
    from treeformers.drawing.probes import probe_page, probe_tables
    from treeformers.probing import constructions, find_pairs, find_system, find_treebank
    from treeformers.probing import probe as ask_all

    named = {name: find_system(name) for name in systems or ()}
    if sentences is None:
        files = any(Path(name).is_file() for name in named)
        sentences = 0 if corpus and files else SENTENCES
    if write:
        with atomic_write(write) as target:
            target.writelines(f"{' '.join(q.tree.words)}\n" for q in constructions(sentences, seed))
    if not named:
        if write:
            return
        raise ValueError(f"nothing to probe: expected a model folder, a file of trees, or one of {SHAPES}")
    treebank = find_treebank(corpus, split) if corpus else []
    minimal, agreement = find_pairs(pairs or [], each, seed)
    with stderr().status("probing"):
        report = ask_all(
            named,
            sentences,
            treebank,
            minimal,
            agreement,
            treebank_name=f"{corpus} {split}" if corpus else "",
            seed=seed,
        ).to_dict()
    if json_file:
        with atomic_write(json_file) as target:
            json.dump(report, target, indent=1, ensure_ascii=False)
            target.write("\n")
    if html:
        with atomic_write(html) as target:
            target.write(probe_page(report))
    _print(report, probe_tables(report, detail=False))


def _print(report: Mapping[str, Any], tables: Sequence[ProbeTable]) -> None:
    from rich.table import Table
    from rich.text import Text

    console = stdout()
    for number, table in enumerate(tables):
        if number == 0 or table.title != tables[number - 1].title:
            console.print(f"\n{table.title}", markup=False, style="bold")
        drawn = Table()
        for column, first in zip(table.columns, table.rows[0], strict=True):
            names = not any(character.isdigit() for character in first)
            drawn.add_column(Text(column), justify="left" if names else "right")
        for row in table.rows:
            drawn.add_row(*map(Text, row))  # brackets are no markup
        console.print(drawn)
        if all(table.caption != other.caption for other in tables[number + 1 :]):
            console.print(table.caption, markup=False)
    for name, system in report["systems"].items():
        for note in system["notes"]:
            console.print(f"{name}: {note}", markup=False)
