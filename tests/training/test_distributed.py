"""Two processes train as one does: the same batches make the same steps, killed and resumed too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from safetensors.torch import load_file

from conftest import ROOT
from treeformers.recipes import Recipe
from treeformers.tasks.induce.train import train_inducer
from treeformers.tasks.parse.train import train_parser

torch.set_num_threads(1)

TRAIN = (
    *("train.gradient_accumulation_steps=2", "train.num_evaluations=4", "train.warmup_steps=2"),
    *("train.seeds=[1]", "train.bf16=false"),
)
CASES: dict[str, tuple[Any, str, tuple[str, ...]]] = {  # without dropout, which each process draws for itself
    "inducer": (
        train_inducer,
        "wang2019/tree-l10-wsj-all.toml",
        (
            *("data.sentences=120", "train.tokens_per_batch=120"),
            *("model.hidden_dropout_prob=0.0", "model.attention_probs_dropout_prob=0.0"),
        ),
    ),
    "parser": (
        train_parser,
        "ma2017/datt-bound.toml",
        (
            *("data.sentences=50", "data.scored_sentences=5", "model.dropout=0.0"),
            *("train.tokens_per_batch=40", "train.epochs=3"),
        ),
    ),
}


def start(recipe: Path, overrides: tuple[str, ...], out: Path, *options: str) -> subprocess.Popen[str]:
    """`treeformers train` in two processes."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command = [*launch, "-m", "treeformers.cli", "train", str(recipe), *overrides, "--scale", "smoke"]
    added = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src"), "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.Popen(
        [*command, "--out", str(out), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | added,
    )


def kill(process: subprocess.Popen[str]) -> None:
    """Kill what launches the processes, and them."""
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    for child in children:
        child.kill()
    process.communicate()


def finish(process: subprocess.Popen[str]) -> None:
    said, _ = process.communicate(timeout=400)
    assert process.returncode == 0, said[-2000:]


@pytest.mark.slow
@pytest.mark.parametrize(("case", "is_killed"), [("inducer", False), ("parser", True)])
def test_the_curve_is_that_of_one(case: str, is_killed: bool, tmp_path: Path) -> None:
    train, name, sizes = CASES[case]
    recipe, overrides = ROOT / "experiments" / name, (*TRAIN, *sizes)
    one = train(Recipe.load(recipe, "smoke", overrides), tmp_path / "one", progress=False)
    out = tmp_path / "two"
    if is_killed:
        process = start(recipe, overrides, out)
        while not (reached := list(out.glob("checkpoints/checkpoint-*"))):
            assert process.poll() is None, process.communicate()[0][-2000:]
            time.sleep(0.01)
        kill(process)
        assert reached and not (out / "model.safetensors").exists()
        finish(start(recipe, overrides, out, "--resume"))
    else:
        finish(start(recipe, overrides, out))

    assert (out / "model.safetensors").is_file() and not (out / "checkpoints").exists()
    found = json.loads((out / "history.json").read_text())
    assert len(found) > 4 and [sorted(entry) for entry in found] == [sorted(entry) for entry in one.history]
    for entry, expected in zip(found, one.history, strict=True):
        assert entry == pytest.approx(expected, rel=1e-5, abs=1e-6)
    two, alone = (load_file(tmp_path / name / "model.safetensors") for name in ("two", "one"))
    apart = torch.cat([(two[name] - weight).flatten() for name, weight in alone.items()])
    assert apart.norm() < 1e-3 * torch.cat([weight.flatten() for weight in alone.values()]).norm()


@pytest.mark.slow
def test_batches_of_trees_of_single_words(tmp_path: Path) -> None:
    """They leave the weights that compose nodes without a gradient."""
    table, trees = tmp_path / "words.tsv", ("(X fine)", "(X awful)", "(S (X a) (X fine) (X day))")
    rows = [f"{label}\t{tree}" for tree in trees for label in ("good", "bad")]
    table.write_text("\n".join(["label\ttext", *10 * rows]))
    overrides = (f"data.corpus={table}", "data.trees=given", "train.tokens_per_batch=2")
    recipe = ROOT / "experiments" / "trees" / "sst-tree-lstm-gold.toml"
    finish(start(recipe, (*TRAIN, *overrides), tmp_path / "model"))
    assert (tmp_path / "model" / "model.safetensors").is_file()
