"""Carry recipes and results over to the new keys. Only names change; no figure is touched."""

# ruff: noqa: E501
# mypy: ignore-errors
import json
import re
import sys
import tomllib
from pathlib import Path

TASKS = {"judge": "fine-tune", "look": "visualize", "measure": "benchmark"}
TRAIN = {
    "batches_per_step": "gradient_accumulation_steps",
    "matrix_learning_rate": "muon_learning_rate",
    "constant": "lr_scheduler",
    "clip": "max_grad_norm",
    "average": "ema_decay",
    "average_last": "average_checkpoints",
    "evaluations": "num_evaluations",
}
DATA = {
    "root": "data_dir",
    "packed": "packing",
    "held_out": "validation_size",
    "base": "pretrained",
    "fresh": "random_init",
    "each": "max_per_group",
}
METHODS = {"blocks": "cky", "layers": "algorithm1", "layer": "greedy"}
ALGORITHMS = {"paper": "printed"}
BY_DECODING = {
    "blocks": "cky",
    "blocks, right bias 1": "cky, right bias 1",
    "blocks, layers averaged": "cky, layers averaged",
    "layers": "algorithm1",
    "layers, released": "algorithm1, released",
}


def migrate_recipe(recipe):
    new = {}
    for key, value in recipe.items():
        if key in ("tables", "published", "ensemble"):
            continue
        if key == "task":
            value = TASKS.get(value, value)
        elif key == "train":
            value = {
                TRAIN.get(k, k): (("constant" if v else "linear") if k == "constant" else v)
                for k, v in value.items()
            }
        elif key == "data":
            value = {DATA.get(k, k): v for k, v in value.items()}
        elif key in ("readout", "decoding"):
            key = "decoding"
            value = {
                k: METHODS.get(v, v) if k == "method" else ALGORITHMS.get(v, v) if k == "algorithm" else v
                for k, v in value.items()
            }
        new[key] = value
    return new


def is_recipe(value):
    return isinstance(value, dict) and "task" in value and "data" in value


def walk(value):
    """Recipes anywhere below; the keys of readings."""
    if is_recipe(value):
        return migrate_recipe(value)
    if isinstance(value, dict):
        return {
            ("by_decoding" if k == "by_readout" else k): (
                {BY_DECODING.get(a, a): b for a, b in v.items()} if k == "by_readout" else walk(v)
            )
            for k, v in value.items()
        }
    if isinstance(value, list):
        return [walk(v) for v in value]
    return value


def migrate_result(result):
    recipe = result.get("recipe", {})
    row = {"tables": recipe["tables"], "published": recipe["published"]} if "tables" in recipe else None
    new = {}
    for key, value in walk(result).items():
        key = {"looks": "pictures"}.get(key, key)
        if key == "members" and recipe.get("ensemble"):
            key = "members"
        new[key] = value
        if key == "recipe" and row is not None:
            new["row"] = row
    return new


def migrate_toml(text):
    out, section = [], ""
    skip, kept = False, []
    lines = text.split("\n")
    i = 0
    while i < len(lines):
        line = lines[i]
        if m := re.match(r"\s*\[([^\[\]]+)\]\s*(#.*)?$", line):
            section = m[1]
            skip = section == "published"
            out += kept
            kept = []
            if section.split(".")[-1] == "readout":
                line = line.replace("readout", "decoding")
        if skip:
            kept = [*kept, line] if line.startswith("#") else kept if not line else []
            i += 1
            continue
        last = section.split(".")[-1]
        if m := re.match(r"(\s*)([\w-]+)(\s*=\s*)(.*)$", line):
            indent, key, equals, value = m.groups()
            if not section and key in ("tables", "ensemble"):
                while value.count("[") > value.count("]"):
                    i += 1
                    value += lines[i]
                i += 1
                continue
            if not section and key == "task":
                for a, b in TASKS.items():
                    value = re.sub(rf'"{a}"', f'"{b}"', value)
            if last == "train" and key in TRAIN:
                if key == "constant":
                    value = value.replace("true", '"constant"').replace("false", '"linear"')
                key = TRAIN[key]
            elif last == "data" and key in DATA:
                key = DATA[key]
            elif last in ("readout", "decoding"):
                if key == "method":
                    for a, b in METHODS.items():
                        value = re.sub(rf'^"{a}"', f'"{b}"', value)
                if key == "algorithm":
                    value = re.sub(r'^"paper"', '"printed"', value)
            line = f"{indent}{key}{equals}{value}"
        out.append(line)
        i += 1
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out))


def toml_key(key):
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def toml_value(value):
    return json.dumps(value, ensure_ascii=False) if not isinstance(value, float) else repr(value)


def main(root=Path()):
    for folder in sorted((root / "experiments").iterdir()):
        rows = {}
        for path in sorted(folder.glob("*.toml")):
            if path.name == "rows.toml":
                continue
            text = path.read_text(encoding="utf-8")
            table = tomllib.loads(text)
            info = {k: table[k] for k in ("tables", "ensemble", "published") if k in table}
            if info:
                rows[path.stem] = info
            new = migrate_toml(text)
            if new != text:
                path.write_text(new, encoding="utf-8")
        if rows:
            parts = [
                "# The rows of the paper's tables, by the names of the recipes. `published` has the paper's figures."
            ]
            for name, info in rows.items():
                lines = [f"[{name}]"] + [
                    f"{k} = {toml_value(info[k])}" for k in ("tables", "ensemble") if k in info
                ]
                if info.get("published"):
                    lines += ["", f"[{name}.published]"] + [
                        f"{toml_key(k)} = {toml_value(v)}" for k, v in info["published"].items()
                    ]
                parts.append("\n".join(lines))
            (folder / "rows.toml").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
        for path in sorted(folder.glob("results/*.json")):
            text = path.read_text(encoding="utf-8")
            new = json.dumps(migrate_result(json.loads(text)), indent=1, ensure_ascii=False) + "\n"
            if new != text:
                path.write_text(new, encoding="utf-8")
    for path in sorted((root / "examples").glob("*.toml")):
        text = path.read_text(encoding="utf-8")
        new = migrate_toml(text)
        if new != text:
            path.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
