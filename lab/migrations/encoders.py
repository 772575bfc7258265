"""Carry recipes and results over to the table of encoders: keys and names change, figures do not.

Run as `python -m lab.migrations.encoders`. A second run changes nothing.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
TASKS = ("classify", "similarity")
BENCHMARK = ("measure", "benchmark")
DATA = {
    "vectors": "embeddings",
    "vector_layers": "embedding_layers",
    "phrases": "node_labels",
    "coarse": "label_groups",
    "documents": "multi_sentence",
}
MODEL = {
    "head_hidden_size": "classifier_hidden_size",
    "head_dropout": "classifier_dropout",
    "head_norm": "classifier_norm",
    "head_directed": "asymmetric",
}
RECURRENT = {"child-sum": "child-sum-tree-lstm", "n-ary": "n-ary-tree-lstm"}
OLD = ("recurrent", "traversal", "accumulation")
# Keys that `AccumulationConfig` has not: with one of them, the encoder worked over given embeddings.
OUTSIDE = {"input_size", "freeze_embeddings", "embedding_dropout", "task", *MODEL, *MODEL.values()}


def encoder_name(model: Mapping[str, Any], task: str, embeddings: str) -> str:
    """The present name of the encoder of a former `[model]`."""
    encoder = model["encoder"]
    if encoder == "recurrent":
        kind = model.get("kind", "child-sum")
        return RECURRENT.get(kind, kind)
    if encoder == "traversal":
        return "dtt" if model.get("tree") == "dependency" else "ctt"
    if encoder == "accumulation":
        inside = task == "similarity" or bool(embeddings) or bool(OUTSIDE & model.keys())
        if not model.get("tree", True):
            if inside:
                raise ValueError("no encoder is the plain Transformer of this family over given embeddings")
            return "post-norm-transformer"
        return "accumulation-over-embeddings" if inside else "accumulation"
    return str(encoder)


def migrate_recipe(recipe: dict[str, Any]) -> dict[str, Any]:
    """A recipe of `Recipe.to_dict` or `Recipe.training`, with the present keys in the same places."""
    task = recipe.get("task")
    if task in BENCHMARK:
        return {
            **recipe,
            "model": {name: _model(one, "classify", "") for name, one in recipe["model"].items()},
        }
    if task not in TASKS:
        return recipe
    data = {DATA.get(key, key): value for key, value in recipe.get("data", {}).items()}
    model = _model(recipe.get("model", {}), task, data.get("embeddings", ""))
    return {key: {"data": data, "model": model}.get(key, value) for key, value in recipe.items()}


def _model(model: Mapping[str, Any], task: str, embeddings: str) -> dict[str, Any]:
    encoder = model.get("encoder")
    if encoder in (None, "translation"):
        return dict(model)
    migrated = {MODEL.get(key, key): value for key, value in model.items()}
    if encoder in OLD:
        migrated["encoder"] = encoder_name(model, task, embeddings)
        for key in ("kind", "tree"):
            migrated.pop(key, None)
    return migrated


def migrate_toml(text: str, path: Path | None = None) -> str:
    """The text of a recipe file with the present keys; comments stay.

    Args:
        text: the content of the file.
        path: the file, beside which its base lies. A chain of bases must not be migrated in part: `main`
            reads all files before it writes one.
    """
    table = tomllib.loads(text)
    chain = [table, *_bases(table, path)]
    task = next((one["task"] for one in chain if "task" in one), "induce")
    if task in BENCHMARK:
        for name, model in table.get("model", {}).items():
            text = _edit(text, _header("model", name), _changes(model, _model(model, "classify", "")))
        return text
    if task not in TASKS:
        return text
    for scale in ("", "small", "smoke"):
        prefix = f"{scale}." if scale else ""
        text = _edit(text, f"{prefix}data", {key: (now, None) for key, now in DATA.items()})
        text = re.sub(
            rf"(?m)^\[{re.escape(prefix)}data\.coarse\](?: {{6}}(?= ))?", f"[{prefix}data.label_groups]", text
        )
        text = _edit(text, f"{prefix}model", {key: (now, None) for key, now in MODEL.items()})
        own = (table.get(scale, {}) if scale else table).get("model", {})
        if not {"encoder", "kind", "tree"} & own.keys():
            continue
        below = [*_layers(chain, scale)]
        model = {key: value for layer in reversed(below) for key, value in layer.get("model", {}).items()}
        data = {key: value for layer in reversed(below) for key, value in layer.get("data", {}).items()}
        if model.get("encoder") not in OLD:
            continue
        embeddings = data.get("embeddings", data.get("vectors", ""))
        name = encoder_name(model, task, embeddings)
        changes: dict[str, tuple[str, str | None]] = {}
        keys = [key for key in ("encoder", "kind", "tree") if key in own]
        for key in keys:  # the first of them becomes the encoder
            changes[key] = ("encoder", json.dumps(name)) if key == keys[0] else ("", None)
        text = _edit(text, f"{prefix}model", changes)
    return text


def _bases(table: Mapping[str, Any], path: Path | None) -> list[dict[str, Any]]:
    if "base" not in table:
        return []
    if path is None:
        raise ValueError("a recipe with a base: expected its path")
    base = path.parent / table["base"]
    below = tomllib.loads(base.read_text(encoding="utf-8"))
    return [below, *_bases(below, base)]


def _layers(chain: list[dict[str, Any]], scale: str) -> list[dict[str, Any]]:
    """The tables that a scale overlays, those that win first."""
    over = [table.get(scale, {}) for table in chain] if scale else []
    return [*over, *chain]


def _header(*parts: str) -> str:
    return ".".join(part if re.fullmatch(r"[\w-]+", part) else json.dumps(part) for part in parts)


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[str, str | None]]:
    changes: dict[str, tuple[str, str | None]] = {key: ("", None) for key in old.keys() - new.keys()}
    if old.get("encoder") != new.get("encoder"):
        changes["encoder"] = ("encoder", json.dumps(new["encoder"]))
    return changes


def _edit(text: str, section: str, changes: Mapping[str, tuple[str, str | None]]) -> str:
    """Rename keys of one section. An empty name deletes the line; a value replaces the old one."""
    lines, inside = [], False
    for line in text.split("\n"):
        if line.startswith("["):
            inside = line.split("#")[0].strip() == f"[{section}]"
        match = re.match(r"(\w+)(\s*=\s*)(.*)$", line)
        if inside and match and match[1] in changes:
            name, value = changes[match[1]]
            if not name:
                continue
            old, spaces, comment = _split_comment(match[3])
            start = len(line) - len(comment)
            line = f"{name}{match[2]}{old if value is None else value}"
            if comment:  # in its column, if there is room
                line = line.ljust(max(start, len(line) + min(len(spaces), 2))) + comment
        lines.append(line)
    return "\n".join(lines)


def _split_comment(rest: str) -> tuple[str, str, str]:
    """A value, the spaces behind it, and its comment."""
    match = re.match(r"(.*?)(\s+)(#[^\"]*)$", rest) or re.match(r"(\"[^\"]*\"|\S+)(\s+)(#.*)$", rest)
    return (match[1], match[2], match[3]) if match else (rest, "", "")


def migrate_result(result: dict[str, Any]) -> dict[str, Any]:
    """The content of a results file."""
    changed = dict(result)
    if "recipe" in result:
        changed["recipe"] = migrate_recipe(result["recipe"])
    if "training" in result:
        changed["training"] = migrate_recipe(result["training"])
    for key in ("members", "sources"):
        if key in result:
            changed[key] = {name: migrate_recipe(one) for name, one in result[key].items()}
    return changed


def main() -> None:
    """Migrate `experiments/` and `examples/`."""
    found = [*ROOT.glob("experiments/*/*.toml"), *ROOT.glob("examples/*.toml")]
    paths = sorted(path for path in found if path.name != "rows.toml")
    texts = {path: migrate_toml(path.read_text(encoding="utf-8"), path) for path in paths}
    for path, text in texts.items():
        if text != path.read_text(encoding="utf-8"):
            path.write_text(text, encoding="utf-8")
    for path in sorted(ROOT.glob("experiments/*/results/*.json")):
        text = path.read_text(encoding="utf-8")
        result = json.loads(text)
        changed = migrate_result(result)
        if changed != result or list(changed) != list(result):
            path.write_text(json.dumps(changed, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
