"""`treeformers data`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from treeformers.cli.console import stdout


def list_corpora() -> None:
    """List the corpora that can be named, with sizes and terms."""
    from rich.table import Table

    from treeformers.data.corpora import CORPORA

    table = Table("name", "contents", "examples", "terms", "to get", show_lines=True)
    for corpus in CORPORA.values():
        sizes = " + ".join(f"{size:,}" for size in corpus.sizes)
        table.add_row(corpus.name, corpus.what, sizes, corpus.terms, "download" if corpus.urls else "by hand")
    stdout().print(table)


def get_corpus(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A corpus of `treeformers data list`.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the corpora; $TREEFORMERS_DATA if it is set.")
    ] = None,
) -> None:
    """Download a corpus, or say how to come by it.

    Files take their place once their checksums are right; those that are there already stay.
    """
    from treeformers.data.corpora import fetch

    folder = out or os.environ.get("TREEFORMERS_DATA")
    if not folder:
        raise ValueError("no folder for the corpora: give --out or set TREEFORMERS_DATA")
    typer.echo(fetch(name, folder))


def make_corpus(
    name: Annotated[Literal["agreement"], typer.Argument(metavar="agreement", help="The grammar.")],
    out: Annotated[Path, typer.Option(help="Folder for the files.")],
    sentences: Annotated[int, typer.Option(min=1, help="How many to sample.")] = 10000,
    seed: Annotated[int, typer.Option(help="Of the samples.")] = 0,
    max_length: Annotated[int, typer.Option(min=2, help="Most words of a sentence.")] = 40,
) -> None:
    """Sample sentences and gold trees of the embedded grammar.

    It is the grammar of English agreement of Ginn (2024).
    The folder gets agreement.txt, one sentence a line, agreement.brackets, one tree a line, and the grammar
    itself, agreement.pcfg.
    """
    from treeformers.data.grammar import default_grammar
    from treeformers.trees.formats import atomic_write

    grammar = default_grammar()
    out.mkdir(parents=True, exist_ok=True)
    text, trees, rules = (out / f"{name}.{suffix}" for suffix in ("txt", "brackets", "pcfg"))
    with atomic_write(text) as lines, atomic_write(trees) as brackets:
        for sample in grammar.sample(sentences, seed, max_length):
            lines.write(" ".join(sample.words) + "\n")
            brackets.write(f"{sample.tree}\n")
    grammar.write(rules)
    for path in (text, trees, rules):
        typer.echo(path)
