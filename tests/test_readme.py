"""The `console` and `python` blocks of the README run in order, after a small `make demo`."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from treeformers.data.grammar import default_grammar
from treeformers.tasks.demo import RECIPE
from treeformers.tasks.induce.train import train_inducer
from treeformers.training.model_names import is_installed

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TINY = "train.max_steps=4 train.num_evaluations=1 train.seeds=[1] model.hidden_size=16"
TINY_INDUCER = "model.num_hidden_layers=2 model.num_attention_heads=2 model.intermediate_size=32"
# The commands as written; only training is made small.
SHELL = f"""
treeformers() {{
    local tiny=()
    if [ "$1" = train ]; then tiny=({TINY}); fi
    if [ "$1 $2" = "train examples/text.toml" ]; then tiny+=({TINY_INDUCER}); fi
    "{sys.executable}" -m treeformers.cli "$@" "${{tiny[@]}}"
}}
"""


def test_snippets_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    everything = list(default_grammar().sample(70, seed=1, max_length=20))
    samples, new = everything[:60], everything[60:]
    for text_file, trees_file, some in (("my.txt", "gold.txt", samples), ("new.txt", "new-gold.txt", new)):
        text = "".join(" ".join(sample.words) + "\n" for sample in some)
        (tmp_path / text_file).write_text(text, encoding="utf-8")
        trees = "".join(f"{sample.tree}\n" for sample in some)
        (tmp_path / trees_file).write_text(trees, encoding="utf-8")
    texts = [" ".join(sample.words) for sample in samples]
    for name, columns in {
        "reviews": {"label": ["good", "bad"] * 30, "text": texts},
        "pairs": {"first": texts, "second": texts[::-1], "score": ["1", "2.5", "5"] * 20},
        "en-de": {"en": texts, "de": [text.upper() for text in texts]},
    }.items():
        rows = ["\t".join(columns), *map("\t".join, zip(*columns.values(), strict=True)), ""]
        (tmp_path / f"{name}.tsv").write_text("\n".join(rows), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    demo = replace(
        RECIPE,
        data=replace(RECIPE.data, sentences=300),
        train=replace(RECIPE.train, max_steps=4, num_evaluations=1),
    )
    train_inducer(demo, Path("runs/demo/model"), progress=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    languages = []
    for block in BLOCK.finditer(text):
        language, code = block.groups()
        languages.append(language)
        line = text.count("\n", 0, block.start()) + 1
        if '"en"' in code and not is_installed("en"):
            continue  # the model's package holds the weights
        if language == "python":
            exec(compile("\n" * line + code, "README.md", "exec"), {})
            continue
        commands = [command[2:] for command in code.splitlines() if command.startswith("$ ")]
        assert commands, f"README.md:{line}: a console block shows commands after '$ '"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", SHELL + "\n".join(commands)],
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"README.md:{line}: {done.stderr}"
    assert {"console", "python"} <= set(languages)
    assert len((tmp_path / "trees.txt").read_text(encoding="utf-8").splitlines()) == 10


def test_links_lead_somewhere() -> None:
    for name in ("README.md", "CONTRIBUTING.md"):
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", (ROOT / name).read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), f"{name} links to {target}, which is not there"
