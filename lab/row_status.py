"""Which rows of the experiments are done: results files beside the recipes that they were made from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lab.model_cache import named_models
from lab.recipes import VisualizeRecipe
from lab.rows import RowInfo, read_row_info, recipe_paths
from treeformers.recipes import Recipe, Scale
from treeformers.tasks.train import is_trained_from

State = Literal["done", "out of date", "missing"]


@dataclass(frozen=True)
class Row:
    """A recipe, and what its results file holds.

    Attributes:
        path: the recipe's file.
        recipe: the recipe.
        info: what the paper says about the row.
        target: its results file.
        result: the content of that file; None if there is no such file, empty if it is damaged.
        changed: the keys that changed since the result was made, such as "train.epochs", and "model of
            PAPER/ROW" if that row no longer trains the model that was read.
    """

    path: Path
    recipe: Recipe
    info: RowInfo
    target: Path
    result: dict[str, Any] | None
    changed: tuple[str, ...]

    @property
    def key(self) -> str:
        """PAPER/ROW, as on the command line."""
        return f"{self.path.parent.name}/{self.path.stem}"

    def reads(self) -> set[str]:
        """The keys of the rows whose trained models the row reads, by their folders or as its members."""
        named = named_models(self.recipe.to_dict(), self.recipe.scale).keys()
        beside = {f"{self.path.parent.name}/{name}" for name in drawn_rows(self.recipe)}
        return (named | beside) - {self.key}

    @property
    def state(self) -> State:
        """Whether the results were made from the recipe as it is now."""
        if self.result is None:
            return "missing"
        return "out of date" if self.changed else "done"

    def retitled(self) -> dict[str, Any]:
        """The results with the title, the tables and the published figures as they are now."""
        result = self.result or {}
        return {
            **result,
            "recipe": {**result.get("recipe", {}), "title": self.recipe.title},
            "row": self.info.shown(),
        }


def read_row(path: Path, scale: Scale, overrides: Sequence[str] = ()) -> Row:
    """Compare a recipe with the one that its results file was made from.

    Values are compared: a key that is missing from the file has its default. The title and the folder of the
    corpora are ignored. The rows whose models were read count too, as far as their weights depend on the
    recipe.

    Args:
        path: the recipe, `experiments/PAPER/ROW.toml`.
        scale: its sizes.
        overrides: changes to it, see `Recipe.load`.

    Raises:
        FileNotFoundError: no such recipe or base.
        ValueError: it cannot be read, see `Recipe.load`.
    """
    recipe, info = Recipe.load(path, scale, overrides), read_row_info(path)
    recipes = {"": recipe, **members(path, recipe, overrides)}
    target = path.parent / "results" / f"{path.stem}.{scale}.json"
    result = _read(target)
    changed: list[str] = []
    if result is not None:
        stored = {"": result.get("recipe"), **result.get("members", {})}
        for name, current in recipes.items():
            keys = _changed_keys(stored.get(name), current)
            changed += [f"{name}: {key}" if name else key for key in keys]
        for key, training in result.get("sources", {}).items():
            source = path.parent.parent / f"{key}.toml"
            if not source.is_file() or not is_trained_from(training, Recipe.load(source, scale)):
                changed.append(f"model of {key}")
    return Row(path, recipe, info, target, result, tuple(changed))


def list_rows(experiments: Path, scale: Scale) -> list[Row]:
    """All rows of all papers.

    Args:
        experiments: folder that holds the experiment folders.
        scale: sizes of the recipes.

    Raises:
        FileNotFoundError: no recipes in the folders there.
        ValueError: a recipe that cannot be read, see `Recipe.load`.
    """
    folders = sorted(path for path in experiments.iterdir() if path.is_dir()) if experiments.is_dir() else []
    rows = [read_row(path, scale) for folder in folders for path in recipe_paths(folder)]
    if not rows:
        raise FileNotFoundError(f"{experiments}: no experiments there: expected recipes PAPER/ROW.toml")
    return rows


def in_order(rows: Sequence[Row]) -> list[Row]:
    """The rows, each after the rows whose trained models it reads.

    Args:
        rows: of any papers.

    Raises:
        ValueError: rows that wait for each other.
    """
    waiting = {row.key: row for row in rows}
    ordered: list[Row] = []
    while waiting:
        free = [key for key, row in waiting.items() if not row.reads() & waiting.keys()]
        if not free:
            raise ValueError(f"these rows read each other's models: {', '.join(waiting)}")
        ordered += [waiting.pop(key) for key in free]
    return ordered


def members(path: Path, recipe: Recipe, overrides: Iterable[str] = ()) -> dict[str, Recipe]:
    """The recipes of the rows whose models a recipe draws, by name; none for other tasks.

    Args:
        path: the recipe's file; the rows lie beside it.
        recipe: the recipe.
        overrides: changes to every row.

    Raises:
        FileNotFoundError: no such row.
        ValueError: a recipe cannot be read, see `Recipe.load`.
    """
    return {
        name: Recipe.load(path.with_name(f"{name}.toml"), recipe.scale, overrides)
        for name in drawn_rows(recipe)
    }


def drawn_rows(recipe: Recipe) -> tuple[str, ...]:
    """The rows whose models a recipe draws."""
    return recipe.data.rows if isinstance(recipe, VisualizeRecipe) else ()


def _read(target: Path) -> dict[str, Any] | None:
    if not target.is_file():
        return None
    try:
        result = json.loads(target.read_text(encoding="utf-8"))
    except ValueError:
        return {}
    return result if isinstance(result, dict) else {}


def _changed_keys(stored: Any, recipe: Recipe) -> list[str]:
    """The keys whose values differ, or why the stored recipe cannot be read."""
    if not isinstance(stored, Mapping):
        return ["not known from which recipe"]
    try:
        old, new = _settings(Recipe.from_dict(stored, "stored recipe")), _settings(recipe)
    except ValueError as error:
        return [str(error)]
    return [key for key in {**new, **old} if old.get(key) != new.get(key)]


def _settings(recipe: Recipe) -> dict[str, Any]:
    """Everything that results depend on, under the names of overrides."""
    settings: dict[str, Any] = {}
    for name, value in recipe.to_dict().items():
        if isinstance(value, dict):
            settings |= {f"{name}.{key}": item for key, item in value.items()}
        else:
            settings[name] = value
    return {key: value for key, value in settings.items() if key not in ("title", "data.data_dir")}
