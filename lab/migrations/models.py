"""Rename the keys of `[model]` in all recipes and in the recipes that results files hold.

The script may run any number of times. It changes no figure. Run it from the repository root:
`python -m lab.migrations.models`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

KEYS = {
    "hard_links": "straight_through",
    "heads": "head_rule",
    "max_recursions": "max_layer_repeats",
    "num_priors": "num_link_heads",
    "prior": "prior_position",
    "tag_weight": "tagging_loss_weight",
}
VALUES = {("prior_position", "outside"): "after_softmax", ("prior_position", "inside"): "before_softmax"}
"""New values by new key and old value."""

_HEADER = re.compile(r"\s*\[+\s*([^\]]+?)\s*\]+")
_ENTRY = re.compile(r"(?P<before>\s*(?:[\w.]+\.)?)(?P<key>\w+)(?P<equals>\s*=\s*)(?P<after>.*)", re.DOTALL)


def migrate_recipe(recipe: dict[str, Any]) -> dict[str, Any]:
    """The recipe with new keys in `model`, in the same order."""
    model = recipe.get("model")
    return recipe | {"model": _migrate_model(model)} if isinstance(model, dict) else recipe


def migrate_toml(text: str) -> str:
    """The TOML file with new keys in the `model` sections. Comments and spacing stay."""
    section: list[str] = []
    lines = []
    for line in text.splitlines(keepends=True):
        if header := _HEADER.match(line):
            section = header[1].split(".")
        elif (entry := _ENTRY.fullmatch(line)) and "model" in [*section, *entry["before"].strip().split(".")]:
            key = KEYS.get(entry["key"], entry["key"])
            after = entry["after"]
            for (of, old), new in VALUES.items():
                if of == key:
                    after = re.sub(rf'^"{old}"', f'"{new}"', after)
            line = f"{entry['before']}{key}{entry['equals']}{after}"
        lines.append(line)
    return "".join(lines)


def migrate_result(result: Any) -> Any:
    """The content of a results file with new keys in every recipe that it holds."""
    if isinstance(result, list):
        return [migrate_result(item) for item in result]
    if not isinstance(result, dict):
        return result
    migrated = {}
    for key, value in result.items():
        if key in ("recipe", "training") and isinstance(value, dict):
            value = migrate_recipe(value)
        elif key in ("members", "sources") and isinstance(value, dict):
            value = {name: migrate_recipe(recipe) for name, recipe in value.items()}
        else:
            value = migrate_result(value)
        migrated[key] = value
    return migrated


def main() -> None:
    """Migrate the recipes of experiments and examples, and the results of experiments."""
    for folder in ("experiments", "examples"):
        for path in sorted(Path(folder).rglob("*.toml")):
            _rewrite(path, migrate_toml(path.read_text(encoding="utf-8")))
    for path in sorted(Path("experiments").glob("**/results/*.json")):
        content = migrate_result(json.loads(path.read_text(encoding="utf-8")))
        _rewrite(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _migrate_model(model: dict[str, Any]) -> dict[str, Any]:
    migrated = {}
    for old, value in model.items():
        key = KEYS.get(old, old)
        if isinstance(value, dict):
            value = _migrate_model(value)
        elif isinstance(value, str):
            value = VALUES.get((key, value), value)
        migrated[key] = value
    return migrated


def _rewrite(path: Path, text: str) -> None:
    if path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
