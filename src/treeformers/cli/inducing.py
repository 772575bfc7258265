"""`treeformers parse` and `evaluate`."""

from __future__ import annotations

import gc
import json
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Literal, TextIO

import typer

from treeformers.cli.console import JsonFile, print_scores, read_sentences
from treeformers.recipes import Recipe
from treeformers.trees.formats import atomic_write, write_trees
from treeformers.trees.tree import Tree

if TYPE_CHECKING:
    from treeformers.inducer import Inducer

logger = logging.getLogger(__name__)

CHUNK = 4096  # lines held at once
FLAT = 50  # per cent of the trees, above which structure is missing

Format = Literal["brackets", "json", "pretty", "svg", "latex"]


def parse(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a trained model.")],
    file: Annotated[str, typer.Argument(metavar="[FILE|-]", help="Sentences.")] = "-",
    format: Annotated[Format, typer.Option(help="What to write.")] = "brackets",
    batch_size: Annotated[int, typer.Option(min=1, help="Sentences computed at once.")] = 64,
    layer: Annotated[
        int | None, typer.Option(help="Read trees from this layer alone, counted from 0; -1 is the last.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write to this file.")] = None,
) -> None:
    """Parse sentences, one a line, words apart by white space.

    As brackets and JSON the trees stand on the lines of their sentences: an empty line gives an empty line.
    How much structure the trees hold goes to standard error.
    """
    from treeformers.inducer import Inducer
    from treeformers.induction import summarise_structure

    inducer = Inducer.from_pretrained(model)
    gc.freeze()  # the garbage collector need not look through torch again for every few thousand trees
    with atomic_write(out) if out else nullcontext(sys.stdout) as target:
        structure = summarise_structure(
            _parse(
                inducer,
                (words for _, words in read_sentences(file)),
                _writer(format, target),
                target,
                batch_size,
                layer,
            )
        )
    logger.info(
        "%d sentences, %.1f spans a sentence, %.1f %% of the trees flat",
        structure.sentences,
        structure.spans_per_sentence,
        structure.flat_share,
    )
    if structure.flat_share > FLAT:
        logger.warning(
            "warning: most trees hold no structure: the links of %s are above the threshold or trained too "
            "little; --layer -1 splits at the weakest link, however strong",
            model,
        )


def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a trained model.")],
    data: Annotated[
        str | None,
        typer.Option(metavar="NAME|FILE", help="Gold trees; those of the model's recipe by default."),
    ] = None,
    split: Annotated[
        list[str] | None, typer.Option(help="Part of the corpus, may be repeated; test by default.")
    ] = None,
    json_file: JsonFile = None,
) -> None:
    """Score a model's trees, beside trees that see no words."""
    from treeformers.inducer import Inducer
    from treeformers.reproduction import score_baselines, score_trees, write_json
    from treeformers.training import read_gold

    inducer = Inducer.from_pretrained(model)
    source = Recipe.from_dict(json.loads((model / "recipe.json").read_text(encoding="utf-8"))).data
    if data:
        source = replace(source, gold=data, gold_splits=("test",), gold_sentences=0)
    if split:
        source = replace(source, gold_splits=tuple(split))
    gold = read_gold(source)
    trees = inducer.parse(tree.words for tree in gold)
    scores = {"induced": score_trees(gold, trees), **score_baselines(gold)}
    print_scores(scores, scores["induced"]["signature"])
    if json_file:
        where = {"model": str(model), "data": source.gold, "splits": source.gold_splits}
        write_json(json_file, {**where, "scores": scores})


def _parse(
    inducer: Inducer,
    sentences: Iterator[list[str]],
    write: Callable[[Tree], object],
    target: TextIO,
    batch_size: int,
    layer: int | None,
) -> Iterator[Tree]:
    """Write the trees as they come, and hand them on."""
    while chunk := list(islice(sentences, CHUNK)):
        trees = iter(inducer.parse([words for words in chunk if words], batch_size, layer))
        for words in chunk:
            if words:
                tree = next(trees)
                write(tree)
                yield tree
            else:
                target.write("\n")
        target.flush()


def _writer(format: Format, target: TextIO) -> Callable[[Tree], object]:
    if format in ("brackets", "json"):
        return lambda tree: write_trees([tree], target, format)
    from treeformers.drawing import tree_latex, tree_svg, tree_text

    if format == "svg":
        return lambda tree: target.write(f"{tree_svg(tree)}\n")
    if format == "latex":
        return lambda tree: target.write(f"{tree_latex(tree)}\n\n")
    columns = max(20, get_terminal_size((100, 24)).columns)
    return lambda tree: target.write(f"{tree_text(tree, columns)}\n\n")
