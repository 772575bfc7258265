"""`treeformers data`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from treeformers.cli.console import stdout


def list_corpora() -> None:
    """List the corpora that can be named, with sizes and terms."""
    from rich.table import Column, Table

    from treeformers.data.corpora import CORPORA

    table = Table(Column("name", no_wrap=True), "contents", "examples", "terms", "to get", show_lines=True)
    for corpus in CORPORA.values():
        sizes = " + ".join(f"{size:,}" for size in corpus.sizes)
        way = "download" if corpus.urls else "by hand" if corpus.folder else "made"
        table.add_row(corpus.name, corpus.what, sizes, corpus.terms, way)
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


def make_agreement(
    out: Annotated[Path, typer.Option(help="Folder for the files.")],
    seed: Annotated[int, typer.Option(help="Of the samples.")] = 1,
    clean: Annotated[
        bool,
        typer.Option("--clean/--as-published", help="Checked and balanced, or as the released generator."),
    ] = True,
) -> None:
    """Make the sentences of the agreement experiments of Ginn (2024).

    The folder gets id, gen and rec-gen, each with train.tsv, validation.tsv and test.tsv: sentences, valid or
    with a verb in the wrong number, and their depth. summary.json has the figures that are printed.
    """
    from rich.table import Column, Table

    from treeformers.data.agreement import RELEASED_WORDS, write_sets

    table = Table(Column("set", no_wrap=True), Column("part", no_wrap=True))
    for heading in ("sentences", "depth", "words valid/not", "repeated", "wrong label"):
        table.add_column(heading, justify="right")
    for heading in (f"over {RELEASED_WORDS} words", "linear rule %", "length %"):
        table.add_column(heading, justify="right")
    for name, parts in write_sets(out, seed, clean).items():
        for split, part in parts.items():
            table.add_row(
                *(name, split, str(part.sentences), f"{part.depth:.2f}"),
                "/".join(f"{words:.1f}" for words in part.words),
                *map(str, (part.repeated, part.mislabelled, part.over_limit)),
                *(f"{part.linear:.1f}", f"{part.length:.1f}"),
            )
    stdout().print(table)
    typer.echo("repeated: sentences of the training part. linear rule: labels that the nearest noun gives.")
    typer.echo("length: labels that the best limit on the number of words gives, both kinds counted alike.")


def make_grammar(
    out: Annotated[Path, typer.Option(help="Folder for the files.")],
    sentences: Annotated[int, typer.Option(min=1, help="How many to sample.")] = 10000,
    seed: Annotated[int, typer.Option(help="Of the samples.")] = 0,
    max_length: Annotated[int, typer.Option(min=2, help="Most words of a sentence.")] = 40,
) -> None:
    """Sample sentences and gold trees of the embedded grammar.

    It is the grammar of English agreement of Ginn (2024).
    The folder gets grammar.txt, one sentence a line, grammar.brackets, one tree a line, and the grammar
    itself, grammar.pcfg.
    """
    from treeformers.data.grammar import default_grammar
    from treeformers.trees.files import atomic_write

    grammar = default_grammar()
    out.mkdir(parents=True, exist_ok=True)
    text, trees, rules = (out / f"grammar.{suffix}" for suffix in ("txt", "brackets", "pcfg"))
    with atomic_write(text) as lines, atomic_write(trees) as brackets:
        for sample in grammar.sample(sentences, seed, max_length):
            lines.write(" ".join(sample.words) + "\n")
            brackets.write(f"{sample.tree}\n")
    grammar.write(rules)
    for path in (text, trees, rules):
        typer.echo(path)
