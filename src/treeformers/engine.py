"""A trained model as what turns sentences into trees, whether it parses or induces them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from treeformers.recipes import ParseRecipe, Recipe
from treeformers.trees.tree import Tree

__all__ = ["Engine", "checksum", "load_engine", "model_files", "read_recipe"]

Sentence = str | Sequence[str]

_SUFFIXES = frozenset({".json", ".safetensors", ".txt"})
_HISTORY = frozenset({"fit.json", "history.json", "run.json"})


@dataclass(frozen=True, slots=True)
class Engine:
    """A model as its users see it.

    Attributes:
        parse: sentences, and how many of them to compute at once, to their trees.
        read: a line of text to a sentence; blank lines give an empty one.
        induces: whether the trees come without labels.
    """

    parse: Callable[[Sequence[Sentence], int], list[Tree]]
    read: Callable[[str], Sentence]
    induces: bool


def load_engine(
    model: str | Path, layer: int | None = None, beam: int | None = None, tokenized: bool = False
) -> Engine:
    """Load a model folder that `treeformers train` wrote, with all its seeds if it is that of a parser.

    Args:
        model: the folder.
        layer: of an inducer: read trees from this layer alone.
        beam: of a parser: hypotheses kept.
        tokenized: of a parser: the words of a line are apart by white space already.

    Raises:
        FileNotFoundError: no such folder, or one without a model.
        ValueError: a damaged folder, an option for the other kind of model, a layer that is not there, or a
            model without trees.
    """
    engine = _load(Path(model), layer, beam, tokenized)
    engine.parse([["a"]], 1)
    return engine


def _load(model: Path, layer: int | None, beam: int | None, tokenized: bool) -> Engine:
    if isinstance(read_recipe(model), ParseRecipe):
        from treeformers.parsing import Parser

        if layer is not None:
            raise ValueError(f"--layer is for models that induce trees, {model} is a parser")
        parser = Parser.from_pretrained(model)
        return Engine(
            lambda sentences, size: parser.parse(sentences, size, beam),
            str.split if tokenized else str.strip,
            induces=False,
        )
    from treeformers.inducer import Inducer

    if beam is not None or tokenized:
        raise ValueError(f"--beam and --tokenized are for parsers, {model} induces trees")
    inducer = Inducer.from_pretrained(model)
    return Engine(lambda sentences, size: inducer.parse(sentences, size, layer), str.split, induces=True)


def read_recipe(model: Path) -> Recipe | None:
    """The recipe in a model folder, or in the first one of several seeds; None if there is none to read.

    Raises:
        ValueError: a damaged recipe.
    """
    for path in (model / "recipe.json", *sorted(model.glob("seed-*/recipe.json"))):
        try:
            return Recipe.from_dict(json.loads(path.read_text(encoding="utf-8")), str(path))
        except FileNotFoundError:
            continue
        except (json.JSONDecodeError, UnicodeDecodeError, AttributeError, TypeError) as error:
            raise ValueError(f"{path}: damaged: {error}") from None
    return None


def model_files(model: str | Path) -> Iterator[tuple[str, Path]]:
    """Name and place of what a model is loaded from, in the order of names; of several seeds all.

    Raises:
        FileNotFoundError: there is no model in the folder.
    """
    folder = Path(model)
    homes = [folder] if (folder / "config.json").is_file() else sorted(folder.glob("seed-*/"))
    found = [
        path
        for home in homes
        for path in sorted(home.iterdir())
        if path.suffix in _SUFFIXES and path.name not in _HISTORY and path.is_file()
    ]
    if not any(path.name == "config.json" for path in found):
        raise FileNotFoundError(
            f"{folder / 'config.json'}: no such file; expected a folder of `treeformers train`"
        )
    return ((path.relative_to(folder).as_posix(), path) for path in found)


def checksum(model: str | Path) -> str:
    """SHA-256 of the names and contents of `model_files`, hexadecimal.

    Raises:
        FileNotFoundError: there is no model in the folder.
    """
    total = hashlib.sha256()
    for name, path in model_files(model):
        with path.open("rb") as file:
            total.update(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {name}\n".encode())
    return total.hexdigest()
