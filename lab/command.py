"""What `treeformers reproduce` does: run rows, render their tables, list what is done."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.markup import escape
from rich.table import Table

from lab import render, row_status
from lab.run import RowsFailed, reproduce
from lab.run_all import reproduce_all
from treeformers.cli.console import stdout
from treeformers.recipes import Scale

logger = logging.getLogger(__name__)


def run_rows(
    paper: str,
    overrides: Sequence[str],
    scale: Scale,
    again: bool,
    experiments: Path,
    runs: Path,
    progress: bool,
    processes: int,
) -> None:
    """Run the rows of a paper, one row, or all rows, render the tables, and print the files written.

    Args:
        paper: "PAPER", "PAPER/ROW", or "all".
        overrides: changes to every recipe.
        scale: sizes of the recipes.
        again: run rows that are up to date, too.
        experiments: folder that holds the experiment folders.
        runs: folder for the models.
        progress: show progress bars.
        processes: seeds of a row that are trained at the same time; of all, rows.

    Raises:
        FileNotFoundError: no such experiment or row.
        RowsFailed: some rows failed; the tables show the others.
    """
    name, _, row = paper.partition("/")
    try:
        if paper == "all":
            written = reproduce_all(experiments, scale, runs, overrides, progress, processes)
        else:
            written = reproduce(
                experiments / name, row or None, scale, runs, overrides, progress, again, processes
            )
    except RowsFailed as failed:
        _render_all(experiments, paper, failed.written)
        raise
    _render_all(experiments, paper, written)


def _render_all(experiments: Path, paper: str, written: Sequence[Path]) -> None:
    """Render the tables of one paper, or of every paper that has a README."""
    if paper != "all":
        _render(experiments / paper.partition("/")[0], written)
        return
    for readme in sorted(experiments.glob("*/README.md")):
        _render(readme.parent, [path for path in written if path.parent.parent == readme.parent])


def _render(experiment: Path, written: Sequence[Path]) -> None:
    """Render the tables, and print the files written."""
    for path in written:
        typer.echo(path)
    readme = experiment / "README.md"
    if readme.is_file():
        render.render(readme)
        typer.echo(readme)
    else:
        logger.info("%s: no such file, so that no tables are rendered", readme)
    book = experiment.parent.parent / "docs" / "results.md"
    if book.is_file():
        typer.echo(render.render_book(book, experiment.parent))


def list_rows(experiments: Path, scale: Scale) -> None:
    """Print all rows, whether their results are up to date, and what changed since."""

    table = Table("row", f"at scale {scale}", "date", "commit", "changed since", box=None, pad_edge=False)
    for row in row_status.list_rows(experiments, scale):
        result = row.result or {}
        table.add_row(
            row.key, row.state, result.get("date"), result.get("commit"), escape(", ".join(row.changed))
        )
    stdout().print(table)
