"""An experiment as data: a TOML file, checked key by key, to a frozen `Recipe` of its task.

The sections stand at the top of the file with the sizes of the paper; the tables `[small.*]` and
`[smoke.*]` overlay them at those scales. A file that begins with `base = "other.toml"` is that recipe of
the same folder but for the keys it sets itself; title, tables and published figures are not handed on.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
import tomllib
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Self, Union, get_args, get_origin, get_type_hints

from treeformers.recipes.renamed import RENAMED_KEYS
from treeformers.recipes.rules import MODEL, Rule
from treeformers.recipes.sections import (
    Beam,
    Data,
    Examples,
    Judgements,
    Lengths,
    Looks,
    ParallelText,
    Probes,
    Readout,
    Train,
    Treebanks,
)

SCALES = ("smoke", "small", "paper")
Scale = Literal["smoke", "small", "paper"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One row of a table: what all tasks have. Each task has its own subclass.

    Attributes:
        task: what is trained; a file without it is of "induce".
        title: the row.
        tables: where the row stands in the paper.
        published: figures of the paper, by the names of our metrics.
        data: what is read.
        model: fields of the model's configuration.
        train: how it is trained.
        scale: the sizes these are.
    """

    task: str
    title: str = ""
    tables: tuple[str, ...] = ()
    published: dict[str, float] = field(default_factory=dict)
    data: Any
    model: dict[str, Any] = field(default_factory=dict)
    train: Train = field(default_factory=Train)
    scale: Scale = "paper"

    @classmethod
    def load(cls, path: str | Path, scale: Scale = "paper", overrides: Iterable[str] = ()) -> Self:
        """Read a recipe file. `Recipe.load` gives the subclass that its task names.

        Args:
            path: the TOML file.
            scale: sizes to use.
            overrides: "section.key=value" each, applied last.

        Raises:
            FileNotFoundError: no such file, or no such base.
            ValueError: not TOML, no keys, an unknown key or task, a value of a wrong type or out of its
                range, or a recipe of another task than that of the subclass or of its base; names file and
                line.
        """
        path = Path(path)
        table, where = _read(path)
        if scale not in SCALES:
            raise ValueError(f"unknown scale {scale!r}: expected one of {', '.join(SCALES)}")
        overlays = {name: table.pop(name, {}) for name in SCALES if name != "paper"}
        for name, overlay in overlays.items():
            if name != scale:  # checked too: a mistake shows at whatever scale the file is read
                _build_recipe(cls, _merge(table, overlay), where.at(name))
        merged, where = _merge(table, overlays.get(scale, {})), where.at(scale)
        for override in overrides:
            merged = _merge(merged, _parse_override(override))
            where = where.changed(override)
        return _build_recipe(cls, merged | {"scale": scale}, where)

    @classmethod
    def from_dict(cls, table: Mapping[str, Any], where: str = "recipe") -> Self:
        """The recipe of `to_dict`. Raises ValueError as `load` does."""
        return _build_recipe(cls, table, _Where(where, {}))

    def to_dict(self) -> dict[str, Any]:
        """All fields, as JSON can hold them; the scale comes last."""
        table = dataclasses.asdict(self)
        scale = table.pop("scale")
        return {**table, "scale": scale}

    def training(self) -> dict[str, Any]:
        """What of it the weights of one seed depend on, as JSON has it: `task`, `data`, `model` and `train`.

        Recipes for which this is equal train the same models, whatever they are scored on.
        """
        parts = json.loads(json.dumps(self.to_dict()))
        kept = {name: parts[name] for name in ("task", "data", "model", "train")}
        for name in ("gold", "gold_splits", "gold_sentences", "test", "tests", "root"):
            kept["data"].pop(name, None)
        del kept["train"]["seeds"]
        return kept


@dataclass(frozen=True, kw_only=True)
class InduceRecipe(Recipe):
    """A model trained on raw text, and how trees are read from it.

    Attributes:
        data: what is read.
        model: fields of `TreeBertConfig`.
        readout: how its trees are read.
    """

    task: Literal["induce"] = "induce"
    data: Data = field(default_factory=Data)
    readout: Readout = field(default_factory=Readout)


@dataclass(frozen=True, kw_only=True)
class ParseRecipe(Recipe):
    """A parser trained on treebanks, and how it searches.

    Attributes:
        data: what is read.
        model: fields of the parser's configuration.
        beam: how it searches.
        ensemble: recipes of the same folder, by name, whose models of all seeds parse together; such a recipe
            trains nothing itself.
    """

    task: Literal["parse"] = "parse"
    data: Treebanks = field(default_factory=Treebanks)
    beam: Beam = field(default_factory=Beam)
    ensemble: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ClassifyRecipe(Recipe):
    """A classifier of sentences.

    Attributes:
        data: the data.
        model: `encoder`, a name in the table of `treeformers.models.encoders`, and fields of its
            configuration; unless the encoder has a classifier of its own, also fields of
            `SentenceClassifierConfig`.
    """

    task: Literal["classify"] = "classify"
    data: Examples = field(default_factory=Examples)


@dataclass(frozen=True, kw_only=True)
class SimilarityRecipe(Recipe):
    """A model that compares the two sentences of a pair and predicts a class or a score.

    Attributes:
        data: the data.
        model: `encoder`, as in `ClassifyRecipe`, and fields of its configuration and of
            `PairClassifierConfig`. The field `task` chooses between classes and scores.
    """

    task: Literal["similarity"] = "similarity"
    data: Examples = field(default_factory=lambda: Examples(corpus="sick"))


@dataclass(frozen=True, kw_only=True)
class TranslateRecipe(Recipe):
    """A translation model that sees the trees of the source.

    Attributes:
        data: what is read.
        model: fields of `AccumulationConfig`; `tree = false` is the plain Transformer.
        beam: how it searches.
    """

    task: Literal["translate"] = "translate"
    data: ParallelText = field(default_factory=ParallelText)
    beam: Beam = field(default_factory=lambda: Beam(size=5))


@dataclass(frozen=True, kw_only=True)
class JudgeRecipe(Recipe):
    """A Tree Transformer fine-tuned as a classifier of sentences (Ginn 2024, Section 5).

    Attributes:
        data: what is read.
        model: fields of `TreeBertConfig` that differ from those of the base.
    """

    task: Literal["judge"] = "judge"
    data: Judgements = field(default_factory=Judgements)


@dataclass(frozen=True, kw_only=True)
class ProbeRecipe(Recipe):
    """Questions to systems that yield trees; nothing is trained.

    Attributes:
        data: what is probed, and with what.
    """

    task: Literal["probe"] = "probe"
    data: Probes = field(default_factory=Probes)


@dataclass(frozen=True, kw_only=True)
class MeasureRecipe(Recipe):
    """Sizes and times of fresh models; nothing is trained.

    Attributes:
        data: what they are measured on.
        model: by name a table of `encoder`, as of `ClassifyRecipe`, or "translation", whose weights are only
            counted, and of fields of its configuration.
    """

    task: Literal["measure"] = "measure"
    data: Lengths = field(default_factory=Lengths)


@dataclass(frozen=True, kw_only=True)
class LookRecipe(Recipe):
    """Pictures of what trained models see in a sentence; nothing else is trained.

    Attributes:
        data: the sentence, and the rows whose models are watched.
    """

    task: Literal["look"] = "look"
    data: Looks = field(default_factory=Looks)


_TASKS: dict[str, type[Recipe]] = {
    "induce": InduceRecipe,
    "parse": ParseRecipe,
    "classify": ClassifyRecipe,
    "similarity": SimilarityRecipe,
    "translate": TranslateRecipe,
    "judge": JudgeRecipe,
    "probe": ProbeRecipe,
    "measure": MeasureRecipe,
    "look": LookRecipe,
}


@dataclass(frozen=True)
class _Where:
    """The place to name in an error: of a key, or of the nearest thing around it that has one."""

    name: str
    places: Mapping[str, str]  # of dotted keys

    def __call__(self, key: str) -> str:
        while key and key not in self.places:
            key = key.rpartition(".")[0]
        return self.places.get(key, self.name)

    def at(self, scale: str) -> _Where:
        """The same where the sizes of a scale stand over the others."""
        prefix = f"{scale}."
        above = {
            key.removeprefix(prefix): place for key, place in self.places.items() if key.startswith(prefix)
        }
        return _Where(self.name, {**self.places, **above})

    def changed(self, override: str) -> _Where:
        """The same where a key has its value from an override."""
        name, place = override.partition("=")[0], f"{self.name} with {override}"
        around = dict.fromkeys(_with_tables(name), place)
        return _Where(self.name, {**around, **self.places, name: place})


def _read(path: Path, above: tuple[Path, ...] = ()) -> tuple[dict[str, Any], _Where]:
    """The table of a recipe file with its base merged in."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such recipe" + (f", the base of {above[-1]}" if above else ""))
    try:
        text = path.read_text(encoding="utf-8-sig")
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not a TOML file: {error}") from None
    if not table:
        raise ValueError(f"{path}: no keys in it, expected those of a recipe, such as task")
    where = _Where(str(path), _places(path, text))
    if "base" not in table:
        return table, where
    base = path.parent / _typed(str, table.pop("base"), f"{where('base')}: base")
    if base in (*above, path):
        raise ValueError(f"{where('base')}: base: {base} is based on this file")
    below, base_where = _read(base, (*above, path))
    task = below.get("task", "induce")
    if table.get("task", task) != task:
        raise ValueError(f"{where('task')}: task is {table['task']!r}, that of the base {base} is {task!r}")
    inherited = {key: value for key, value in below.items() if key not in ("title", "tables", "published")}
    return _merge(inherited, table), _Where(str(path), {**base_where.places, **where.places})


def _places(path: Path, text: str) -> dict[str, str]:
    """File and line of every section and key of a TOML file, where it is first named."""
    places: dict[str, str] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*\[([\w.]+)\]", line):
            name = section = header[1]
        elif key := re.match(r"\s*([\w.]+)\s*=", line):
            name = f"{section}.{key[1]}".removeprefix(".")
        else:
            continue
        for around in _with_tables(name):
            places.setdefault(around, f"{path}:{number}")
    return places


def _with_tables(name: str) -> list[str]:
    """A dotted name and those of the tables around it: `a.b.c`, `a.b` and `a`."""
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(len(parts), 0, -1)]


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = _merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _parse_override(override: str) -> dict[str, Any]:
    name, equals, value = override.partition("=")
    if not equals or not re.fullmatch(r"\w+(\.\w+)*", name) or len(override.splitlines()) > 1:
        raise ValueError(
            f"override {override!r}: expected section.key=value in one line, as in train.epochs=3"
        )
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value  # a bare word is a string
    for key in reversed(name.split(".")):
        parsed = {key: parsed}
    return dict(parsed)


def _build_recipe(asked: type[Recipe], table: Mapping[str, Any], where: _Where) -> Any:
    task = _typed(str, table.get("task", "induce"), f"{where('task')}: task")
    if task not in _TASKS:
        near = difflib.get_close_matches(task, _TASKS, n=1, cutoff=0.0)[0]
        raise ValueError(f"{where('task')}: unknown task {task!r}, the nearest is {near!r}")
    if not issubclass(_TASKS[task], asked):
        expected = next(name for name, cls in _TASKS.items() if cls is asked)
        raise ValueError(f"{where('task')}: a recipe of the task {task!r}, expected {expected!r}")
    recipe = _build(_TASKS[task], table, where)
    _check_model(recipe.model, where)
    return recipe


def _build(
    cls: type[Any], table: Mapping[str, Any], where: _Where, section: str = "", defaults: Any = None
) -> Any:
    """An instance of a table; what the table leaves out is as in `defaults`, or as in the class."""
    hints = get_type_hints(cls, include_extras=True)
    factories: dict[str, Any] = {field.name: field.default_factory for field in dataclasses.fields(cls)}
    values = {}
    for key, value in table.items():
        if key not in hints:
            if (now := RENAMED_KEYS.get(section + key)) and now.rpartition(".")[2] in hints:
                raise ValueError(f"{where(section + key)}: {section + key!r} is now {now!r}")
            near = difflib.get_close_matches(key, hints, n=1, cutoff=0.0)[0]
            raise ValueError(
                f"{where(section + key)}: unknown key {section + key!r}, the nearest is {section + near!r}"
            )
        if dataclasses.is_dataclass(hints[key]):
            if not isinstance(value, Mapping):
                raise ValueError(f"{where(section + key)}: {section + key} is {value!r}, expected a table")
            values[key] = _build(hints[key], value, where, f"{section}{key}.", factories[key]())
        else:
            values[key] = _typed(hints[key], value, f"{where(section + key)}: {section + key}")
    return cls(**values) if defaults is None else dataclasses.replace(defaults, **values)


def _check_model(table: Mapping[str, Any], where: _Where, section: str = "model") -> None:
    """Check the numbers in `[model]` and in its tables; the rest is up to the configuration."""
    for key, value in table.items():
        name = f"{section}.{key}"
        if isinstance(value, Mapping):
            _check_model(value, where, name)
        elif key in MODEL and isinstance(value, int | float) and not isinstance(value, bool):
            _obey(MODEL[key], value, f"{where(name)}: {name}")


def _obey(rule: Rule, value: Any, what: str) -> None:
    if problem := rule.problem(value):
        raise ValueError(f"{what} {problem}")


def _typed(hint: Any, value: Any, what: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bare, *rules = arguments
        value = _typed(bare, value, what)
        for rule in rules:
            _obey(rule, value, what)
        return value
    if origin is Literal:
        if value not in arguments:
            raise ValueError(f"{what} is {value!r}, expected one of {', '.join(map(repr, arguments))}")
        return value
    if origin in (Union, types.UnionType):
        hint, origin = next(argument for argument in arguments if argument is not type(None)), None
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise ValueError(f"{what} is {value!r}, expected a list")
        return tuple(_typed(arguments[0], item, what) for item in value)
    if origin is dict:
        if not isinstance(value, Mapping):
            raise ValueError(f"{what} is {value!r}, expected a table")
        of = arguments[1]
        return {key: item if of is Any else _typed(of, item, f"{what}.{key}") for key, item in value.items()}
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (hint is not bool and isinstance(value, bool)):
        raise ValueError(f"{what} is {value!r}, expected {hint.__name__}")
    return value
