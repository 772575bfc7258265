"""`treeformers demo`, `train`, `reproduce` and `env`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from treeformers.cli.console import Overrides, ScaleOption, is_main_process, print_scores, resumable, stdout
from treeformers.recipes import Recipe, Scale
from treeformers.trees.tree import Tree

logger = logging.getLogger(__name__)

SHOWN = 3  # trees that the demo prints


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the model and the report.")] = Path("runs/demo"),
) -> None:
    """Train, parse, score and draw on the embedded grammar.

    Takes about two minutes. The model sees sentences only; its trees are printed beside the gold ones and
    drawn in a page, report.html.
    """
    from treeformers.demo import run_demo
    from treeformers.drawing import tree_text

    result = run_demo(out, progress=True)
    console = stdout()
    for tree, gold in result.pairs[:SHOWN]:
        wide = {(start, end) for start, end, _ in gold.spans() if end - start > 1}
        bare = Tree.from_spans(gold.words, wide)  # as induced trees are: no labels, no unary nodes
        for name, drawn in (("induced", tree), ("gold", bare)):
            console.print(f"{name}:\n{tree_text(drawn)}\n", markup=False)
    print_scores(result.scores, result.signature)
    typer.echo(f"report: {result.report}\nmodel: {result.model}")


def train(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE.toml", help="What to train on and how.")],
    overrides: Overrides = None,
    *,
    out: Annotated[Path, typer.Option(help="Folder of the model; with several seeds, of the models.")],
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the unfinished run there.")] = False,
    scale: ScaleOption = "paper",
) -> None:
    """Train what a recipe says, one model for each seed.

    Prints the folder of each model and the validation figure that chose its weights. Several processes or
    machines: torchrun --nproc-per-node 2 -m treeformers.cli train ...
    """
    loaded = Recipe.load(recipe, scale, overrides or ())
    from treeformers.reproduction import train_once
    from treeformers.training.folder import Run, refuse_others

    refuse_others(out, loaded)
    seeds = loaded.train.seeds
    for seed in seeds:
        folder = out / f"seed-{seed}" if len(seeds) > 1 else out
        if resume:
            run = Run(folder, loaded, seed, resume)  # of another recipe nothing is replaced, be it finished
            if run.first and not (run.checkpoints.is_dir() or (folder / "fit.json").is_file()):
                logger.warning("%s: nothing to resume, training starts at the first step", folder)
        with resumable():
            fit = train_once(loaded, seed, folder, resume=resume, progress=is_main_process())
        if is_main_process():
            best = fit.get("best", fit["loss"])
            typer.echo(f"{folder}\tvalidation {fit.get('metric', 'loss')} {best:.4f}")


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
    from treeformers.reproduction import RowsFailed, reproduce_all
    from treeformers.reproduction import reproduce as run

    if not paper:
        _list_rows(experiments, scale)
        return
    if paper == "all":
        try:
            written = reproduce_all(experiments, scale, runs, overrides or (), is_main_process(), processes)
        except RowsFailed as failed:
            _render_all(experiments, failed.written)
            raise
        _render_all(experiments, written)
        return
    name, _, row = paper.partition("/")
    experiment = experiments / name
    try:
        written = run(
            experiment, row or None, scale, runs, overrides or (), is_main_process(), again, processes
        )
    except RowsFailed as failed:
        _render(experiment, failed.written)
        raise
    _render(experiment, written)


def _render_all(experiments: Path, written: Sequence[Path]) -> None:
    """Render the tables of every paper that has a README."""
    for readme in sorted(experiments.glob("*/README.md")):
        _render(readme.parent, [path for path in written if path.parent.parent == readme.parent])


def _render(experiment: Path, written: Sequence[Path]) -> None:
    """Render the tables, and print the files written."""
    from treeformers import results

    for path in written:
        typer.echo(path)
    readme = experiment / "README.md"
    if readme.is_file():
        results.render(readme)
        typer.echo(readme)
    else:
        logger.info("%s: no such file, so that no tables are rendered", readme)
    book = experiment.parent.parent / "docs" / "results.md"
    if book.is_file():
        typer.echo(results.render_book(book, experiment.parent))


def _list_rows(experiments: Path, scale: Scale) -> None:
    from rich.markup import escape
    from rich.table import Table

    from treeformers.reproduction import list_rows

    table = Table("row", f"at scale {scale}", "date", "commit", "changed since", box=None, pad_edge=False)
    for row in list_rows(experiments, scale):
        result = row.result or {}
        table.add_row(
            row.key, row.state, result.get("date"), result.get("commit"), escape(", ".join(row.changed))
        )
    stdout().print(table)


def env() -> None:
    """Print versions and devices, for a bug report."""
    from treeformers.reproduction import environment

    for name, value in environment().items():
        typer.echo(f"{name}: {value}")
