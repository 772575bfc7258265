"""`treeformers demo`, `train`, `reproduce` and `env`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treeformers.cli.console import Overrides, ScaleOption, is_main_process, print_scores, stdout
from treeformers.recipes import Recipe
from treeformers.trees.tree import Tree

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

    seeds = loaded.train.seeds
    for seed in seeds:
        folder = out / f"seed-{seed}" if len(seeds) > 1 else out
        fit = train_once(loaded, seed, folder, resume=resume, progress=is_main_process())
        if is_main_process():
            best = fit.get("best", fit["loss"])
            typer.echo(f"{folder}\tvalidation {fit.get('metric', 'loss')} {best:.4f}")


def reproduce(
    paper: Annotated[
        str, typer.Argument(metavar="PAPER[/ROW]", help="An experiment folder, or one recipe in it.")
    ],
    overrides: Overrides = None,
    *,
    scale: ScaleOption = "small",
    experiments: Annotated[Path, typer.Option(help="Folder that holds the experiment folders.")] = Path(
        "experiments"
    ),
    runs: Annotated[Path, typer.Option(help="Folder for the models.")] = Path("runs"),
) -> None:
    """Run a paper's recipes and render its tables beside ours.

    The results are JSON files in the experiment folder, the tables stand in its README.md. A seed that was
    trained already is not trained again.
    """
    from treeformers import results
    from treeformers.reproduction import reproduce as run

    name, _, row = paper.partition("/")
    experiment = experiments / name
    for path in run(experiment, row or None, scale, runs, overrides or (), progress=is_main_process()):
        typer.echo(path)
    readme = experiment / "README.md"
    results.render(readme)
    typer.echo(readme)


def env() -> None:
    """Print versions and devices, for a bug report."""
    from treeformers.reproduction import environment

    for name, value in environment().items():
        typer.echo(f"{name}: {value}")
