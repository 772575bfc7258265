"""Fresh models measured: how many weights they have, and the time of a sentence by its length."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from lab.evaluate.benchmark import evaluate
from lab.recipes import BenchmarkRecipe
from lab.run import reproduce, run_recipe

torch.set_num_threads(1)

SIZES = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 4}
PLAIN = {"encoder": "translation", "vocab_size": 10, "decoder_layers": 1, "tree": False, **SIZES}


def test_weights_are_counted() -> None:
    tree = {**PLAIN, "tree": True, "vertical_size": 3, "horizontal_size": 5}
    found = evaluate(BenchmarkRecipe(model={"plain": PLAIN, "tree": tree}))["models"]
    attention, feed, norm = 4 * (8 * 8 + 8), 2 * 8 * 4 + 4 + 8, 16
    layers = attention + feed + 2 * norm + 2 * attention + feed + 3 * norm
    assert found["plain"] == {"parameters": 10 * 8 + layers}
    # In the encoder and in the cross-attention a leaf weight and both tables, and one vector for all nodes.
    assert found["tree"]["parameters"] - found["plain"]["parameters"] == 2 * (8 + (3 + 5) * 2) + 8


def test_times_by_length() -> None:
    models = {
        "tree": {"encoder": "accumulation", **SIZES},
        "lstm": {"encoder": "n-ary-tree-lstm", "input_size": 4, "hidden_size": 4},
    }
    recipe = BenchmarkRecipe.from_dict(
        {"task": "benchmark", "data": {"lengths": [1, 2, 5], "steps": 1}, "model": models}
    )
    for measured in evaluate(recipe)["models"].values():
        assert measured["parameters"] > 100
        for step in ("training", "inference"):
            assert len(measured[step]) == 3 and min(measured[step]) > 0


def test_a_row_of_an_experiment(tmp_path: Path) -> None:
    path = tmp_path / "row.toml"
    path.write_text(
        'task = "benchmark"\ntitle = "weights"\n[model.one]\nencoder = "translation"\nhidden_size = 16\n'
    )
    result = run_recipe(path, "small", tmp_path)
    assert set(result) == {"recipe", "scale", "date", "commit", "environment", "wall_seconds", "models"}
    (written,) = reproduce(tmp_path, "row", "small")
    stored = json.loads(written.read_text())
    assert stored["models"] == result["models"] and stored["recipe"]["title"] == "weights"


def test_mistakes() -> None:
    for model, message in (
        ({"encoder": "translator"}, r"model\.encoder is 'translator', the nearest is "),
        ({**PLAIN, "hiden_size": 8}, r"unknown key 'model\.hiden_size', the nearest is 'model\.hidden_size'"),
        ({**PLAIN, "hidden_size": 9}, r"^model\.hidden_size is 9, expected an even multiple"),
    ):
        with pytest.raises(ValueError, match=message):
            evaluate(BenchmarkRecipe(model={"one": model}))
