"""`treeformers parse` and `evaluate`, for models that induce trees and for those that parse."""

from __future__ import annotations

import gc
import json
import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO

import typer

from treeformers.cli.console import JsonFile, print_scores, read_sentences, stdout
from treeformers.recipes import InduceRecipe, ParseRecipe, Recipe
from treeformers.trees.formats import atomic_write, write_trees
from treeformers.trees.tree import Tree

if TYPE_CHECKING:
    from treeformers.inducer import Inducer

logger = logging.getLogger(__name__)

CHUNK = 4096  # lines held at once
FLAT = 50  # per cent of the trees, above which structure is missing
NAMED = 10  # lines that could not be parsed and are named

Format = Literal["brackets", "json", "pretty", "svg", "latex"]
Sentence = str | list[str]


def parse(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a trained model.")],
    file: Annotated[str, typer.Argument(metavar="[FILE|-]", help="Sentences.")] = "-",
    format: Annotated[Format, typer.Option(help="What to write.")] = "brackets",
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
    out: Annotated[Path | None, typer.Option(help="Write to this file.")] = None,
) -> None:
    """Parse sentences, one a line.

    An inducer takes words apart by white space; a parser cuts raw text as the Penn Treebank does.
    As brackets and JSON the trees stand on the lines of their sentences: an empty line gives an empty line,
    and so does one that cannot be parsed. Those are counted and named at the end.
    """
    engine = _engine(model, layer, beam, tokenized)
    problems: list[str] = []
    structure = None
    gc.freeze()  # the garbage collector need not look through torch again for every few thousand trees
    with atomic_write(out) if out else nullcontext(sys.stdout) as target:
        write = _writer(format, target)
        trees = _parse(engine, read_sentences(file, strict=False), write, target, batch_size, problems)
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
        for problem in problems[1:NAMED]:
            logger.warning("%s", problem)
        more = f"{len(problems)} of {count + len(problems)} lines could not be parsed, the first: "
        raise ValueError(f"{more if count or len(problems) > 1 else ''}{problems[0]}")


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
    """Score a model's trees.

    Those of an inducer are scored without labels, beside trees that see no words; those of a parser as evalb
    does, with the gold tags in them.
    """
    from treeformers.reproduction import write_json

    recipe = _recipe(model)
    if isinstance(recipe, ParseRecipe):
        result = _evaluate_parser(model, recipe, data, split)
    else:
        if not isinstance(recipe, InduceRecipe):
            raise FileNotFoundError(f"{model}: no recipe.json; expected a folder of `treeformers train`")
        result = _evaluate_inducer(model, recipe, data, split)
    if json_file:
        write_json(json_file, {"model": str(model), **result})


@dataclass(frozen=True)
class _Engine:
    """A model as the command sees it: what a line is to it, and sentences to trees."""

    parse: Callable[[list[Sentence], int], list[Tree]]
    read: Callable[[str], Sentence]
    induces: bool


def _engine(model: Path, layer: int | None, beam: int | None, tokenized: bool) -> _Engine:
    if isinstance(_recipe(model), ParseRecipe):
        from treeformers.parsing import Parser

        if layer is not None:
            raise ValueError(f"--layer is for models that induce trees, {model} is a parser")
        parser = Parser.from_pretrained(model)
        return _Engine(
            lambda sentences, size: parser.parse(sentences, size, beam),
            str.split if tokenized else str.strip,
            induces=False,
        )
    from treeformers.inducer import Inducer

    if beam is not None or tokenized:
        raise ValueError(f"--beam and --tokenized are for parsers, {model} induces trees")
    inducer = Inducer.from_pretrained(model)
    return _Engine(lambda sentences, size: inducer.parse(sentences, size, layer), str.split, induces=True)


def _recipe(model: Path) -> Recipe | None:
    """The recipe in a model folder, or in the first one of several seeds; None if there is none to read."""
    for path in (model / "recipe.json", *sorted(model.glob("seed-*/recipe.json"))):
        try:
            return Recipe.from_dict(json.loads(path.read_text(encoding="utf-8")), str(path))
        except FileNotFoundError:
            continue
        except (json.JSONDecodeError, UnicodeDecodeError, AttributeError, TypeError) as error:
            raise ValueError(f"{path}: damaged: {error}") from None
    return None


def _parse(
    engine: _Engine,
    lines: Iterable[tuple[str, str]],
    write: Callable[[Tree], object],
    target: TextIO,
    batch_size: int,
    problems: list[str],
) -> Iterator[Tree]:
    """Write the trees as they come, and hand them on; problems are collected, one a line."""
    numbered = iter(lines)
    while chunk := list(islice(numbered, CHUNK)):
        sentences: list[tuple[str, Sentence]] = []
        for where, line in chunk:
            if problem := _unreadable(line):
                problems.append(f"{where}: {problem}")
                sentences.append((where, ""))
            else:
                sentences.append((where, engine.read(line)))
        trees = iter(_parse_chunk(engine, [pair for pair in sentences if pair[1]], batch_size, problems))
        for _, sentence in sentences:
            tree = next(trees) if sentence else None
            if tree is None:
                target.write("\n")
            else:
                write(tree)
                yield tree
        target.flush()


def _parse_chunk(
    engine: _Engine, sentences: list[tuple[str, Sentence]], batch_size: int, problems: list[str]
) -> list[Tree | None]:
    """The trees of a chunk; where that fails, of one sentence after the other, so that one alone is lost.

    Raises:
        ValueError: what is wrong is wrong with every one of several sentences.
    """
    try:
        return list(engine.parse([sentence for _, sentence in sentences], batch_size))
    except (ValueError, RuntimeError, MemoryError) as general:
        trees: list[Tree | None] = []
        for where, sentence in sentences:
            try:
                trees += engine.parse([sentence], 1)
            except (ValueError, RuntimeError, MemoryError) as error:
                if isinstance(error, ValueError) and str(error) == str(general):
                    raise
                problems.append(f"{where}: {str(error).removeprefix('sentence 1 ') or type(error).__name__}")
                trees.append(None)
        return trees


def _unreadable(line: str) -> str:
    """What is wrong with a line of text, if anything."""
    if "\0" in line:
        return "not text: byte 0x00"
    if not line.isascii():
        for letter in line:
            if "\udc80" <= letter <= "\udcff":
                return f"not UTF-8 text: byte 0x{ord(letter) - 0xDC00:02x}"
    return ""


def _evaluate_inducer(
    model: Path, recipe: InduceRecipe, data: str | None, split: list[str] | None
) -> dict[str, Any]:
    from treeformers.inducer import Inducer
    from treeformers.reproduction import score_baselines, score_trees
    from treeformers.training import read_gold

    source = recipe.data
    inducer: Inducer = Inducer.from_pretrained(model)
    if data:
        source = replace(source, gold=data, gold_splits=("test",), gold_sentences=0)
    if split:
        source = replace(source, gold_splits=tuple(split))
    gold = read_gold(source)
    trees = inducer.parse(tree.words for tree in gold)
    scores = {"induced": score_trees(gold, trees), **score_baselines(gold)}
    print_scores(scores, scores["induced"]["signature"])
    return {"data": source.gold, "splits": source.gold_splits, "scores": scores}


def _evaluate_parser(
    model: Path, recipe: ParseRecipe, data: str | None, split: list[str] | None
) -> dict[str, Any]:
    from rich.table import Table

    from treeformers.metrics import parseval
    from treeformers.parsing import Parser
    from treeformers.training.parse import read_treebank

    parser = Parser.from_pretrained(model)
    names = (data,) if data else recipe.data.test or recipe.data.train
    source = replace(recipe.data, scored_sentences=0) if data else recipe.data
    table = Table("treebank")
    for heading in ("F1", "recall", "precision", "exact", "sentences"):
        table.add_column(heading, justify="right")
    scores, signature = {}, ""
    for name in names:
        for part in split or ["test"]:
            gold = read_treebank(name, part, source)
            trees = parser.parse([tree.words for tree in gold], tags=[tree.tags for tree in gold])
            score = parseval(gold, trees, missing="zero")
            figures = {key: getattr(score, key) for key in ("f1", "recall", "precision", "exact_match")}
            cells = (f"{figure:.2f}" for figure in figures.values())
            table.add_row(f"{name} {part}", *cells, str(score.sentences))
            scores[f"{name} {part}"] = figures
            signature = score.signature
    console = stdout()
    console.print(table)
    console.print(signature, markup=False, soft_wrap=True)
    return {"scores": scores, "signature": signature}


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
