"""Which rows of the experiments are done: results files beside the recipes that they were made from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lab.model_cache import named_models
from treeformers.recipes import LookRecipe, ParseRecipe, Recipe, Scale
from treeformers.tasks.train import is_trained_from

SHOWN = ("title", "tables", "published")
"""What of a recipe is shown beside a result, and changes none of it."""

State = Literal["done", "out of date", "missing"]


@dataclass(frozen=True)
class Row:
    """A recipe, and what its results file holds.

    Attributes:
        path: the recipe's file.
        recipe: the recipe.
        target: its results file.
        result: what stands there; None if there is no such file, empty if it is damaged.
        changed: what of the recipe is another than when the result was made: keys, such as "train.epochs",
            and "model of PAPER/ROW" where that row no longer trains the model that was read.
    """

    path: Path
    recipe: Recipe
    target: Path
    result: dict[str, Any] | None
    changed: tuple[str, ...]

    @property
    def key(self) -> str:
        """PAPER/ROW, as on the command line."""
        return f"{self.path.parent.name}/{self.path.stem}"

    def reads(self) -> set[str]:
        """The keys of the rows whose trained models the recipe names, by their folders or as its members."""
        named = named_models(self.recipe.to_dict(), self.recipe.scale).keys()
        beside = {f"{self.path.parent.name}/{name}" for name in _member_names(self.recipe)}
        return (named | beside) - {self.key}

    @property
    def state(self) -> State:
        """Whether the results are those of the recipe."""
        if self.result is None:
            return "missing"
        return "out of date" if self.changed else "done"

    def retitled(self) -> dict[str, Any]:
        """The results with title, tables and published figures of the recipe as it is now."""
        result = self.result or {}
        shown = json.loads(json.dumps({name: getattr(self.recipe, name) for name in SHOWN}))
        return {**result, "recipe": {**result.get("recipe", {}), **shown}}


def read_row(path: Path, scale: Scale, overrides: Sequence[str] = ()) -> Row:
    """Compare a recipe with the one that its results file says it was made from.

    Values count: a key that was not there yet has its default. Title, tables, published figures and the
    folder of the corpora do not count. The recipes of the members of an ensemble do, and those of the rows
    whose models were read, as far as weights depend on them.

    Args:
        path: the recipe, `experiments/PAPER/ROW.toml`.
        scale: its sizes.
        overrides: changes to it, see `Recipe.load`.

    Raises:
        FileNotFoundError: no such recipe, or no such base or member of an ensemble.
        ValueError: it cannot be read, see `Recipe.load`.
    """
    recipe = Recipe.load(path, scale, overrides)
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
    return Row(path, recipe, target, result, tuple(changed))


def list_rows(experiments: Path, scale: Scale) -> list[Row]:
    """All rows of all papers.

    Args:
        experiments: folder that holds the experiment folders.
        scale: sizes of the recipes.

    Raises:
        FileNotFoundError: no recipes in the folders there.
        ValueError: a recipe that cannot be read, see `Recipe.load`.
    """
    paths = sorted(experiments.glob("*/*.toml"), key=lambda path: path.with_suffix(""))
    rows = [read_row(path, scale) for path in paths]
    if not rows:
        raise FileNotFoundError(f"{experiments}: no experiments there: expected recipes PAPER/ROW.toml")
    return rows


def in_order(rows: Sequence[Row]) -> list[Row]:
    """The rows so that each comes after those whose trained models it reads.

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
    """The recipes of the members of an ensemble, or of the rows that are watched, by name; else none.

    Args:
        path: the recipe's file; its members lie beside it.
        recipe: the recipe.
        overrides: changes to every member.

    Raises:
        FileNotFoundError: no such member.
        ValueError: a member that is an ensemble itself.
    """
    found: dict[str, Recipe] = {}
    kind = ParseRecipe if isinstance(recipe, ParseRecipe) else Recipe
    for name in _member_names(recipe):
        member = kind.load(path.with_name(f"{name}.toml"), recipe.scale, overrides)
        if isinstance(member, ParseRecipe) and member.ensemble:
            raise ValueError(f"{path}: ensemble: {name} is an ensemble itself, expected a recipe that trains")
        found[name] = member
    return found


def _member_names(recipe: Recipe) -> tuple[str, ...]:
    if isinstance(recipe, ParseRecipe):
        return recipe.ensemble
    return recipe.data.rows if isinstance(recipe, LookRecipe) else ()


def _read(target: Path) -> dict[str, Any] | None:
    if not target.is_file():
        return None
    try:
        result = json.loads(target.read_text(encoding="utf-8"))
    except ValueError:
        return {}
    return result if isinstance(result, dict) else {}


def _changed_keys(stored: Any, recipe: Recipe) -> list[str]:
    """The keys whose values differ; what is wrong with a stored recipe that cannot be read."""
    if not isinstance(stored, Mapping):
        return ["not known from which recipe"]
    try:
        old, new = _settings(Recipe.from_dict(stored, "stored recipe")), _settings(recipe)
    except ValueError as error:
        return [str(error)]
    return [key for key in {**new, **old} if old.get(key) != new.get(key)]


def _settings(recipe: Recipe) -> dict[str, Any]:
    """All that results depend on, under the names of overrides."""
    settings: dict[str, Any] = {}
    for name, value in recipe.to_dict().items():
        if isinstance(value, dict):
            settings |= {f"{name}.{key}": item for key, item in value.items()}
        else:
            settings[name] = value
    return {
        key: value
        for key, value in settings.items()
        if key.partition(".")[0] not in SHOWN and key != "data.root"
    }
