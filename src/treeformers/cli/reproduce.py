"""`treeformers reproduce`: the door to the laboratory, which the wheel does not have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treeformers.cli.console import Overrides, ScaleOption, is_main_process


def reproduce(
    paper: Annotated[
        str | None,
        typer.Argument(
            metavar="PAPER[/ROW]|all",
            help="An experiment folder, one recipe in it, or all of them; none to list them.",
        ),
    ] = None,
    overrides: Overrides = None,
    *,
    scale: ScaleOption = "small",
    again: Annotated[
        bool, typer.Option("--again", help="Run rows that are up to date, too; trained seeds are kept.")
    ] = False,
    experiments: Annotated[Path, typer.Option(help="Folder that holds the experiment folders.")] = Path(
        "experiments"
    ),
    runs: Annotated[Path, typer.Option(help="Folder for the models.")] = Path("runs"),
    processes: Annotated[
        int, typer.Option(min=1, help="Seeds of a row that are trained at the same time; of all, rows.")
    ] = 1,
) -> None:
    """Run a paper's recipes and render its tables beside ours.

    The results are JSON files in the experiment folder, the tables stand in its README.md if it has one. A
    row whose results were made from the same recipe is not run again, and a trained seed is not trained
    again. Without a paper, all rows are listed, and which of them are done; of all papers, the rows come
    first whose models other rows read.
    """
    try:
        from lab.command import list_rows, run_rows
    except ModuleNotFoundError as error:
        if error.name not in ("lab", "lab.command"):
            raise
        raise ValueError(
            "reproduce needs the laboratory (recipes, results and the package lab), which the installed "
            "package does not have: clone the repository and run `pip install -e .` in it"
        ) from None
    if paper is None:
        list_rows(experiments, scale)
    else:
        run_rows(paper, overrides or (), scale, again, experiments, runs, is_main_process(), processes)
