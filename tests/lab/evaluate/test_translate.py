from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import torch

from lab.evaluate.translate import attention_on_nodes
from lab.run import reproduce, run_recipe
from treeformers.metrics import bleu
from treeformers.recipes import Recipe
from treeformers.tasks.translate import predictor
from treeformers.tasks.translate.predictor import Translator
from treeformers.tasks.translate.train import read_pairs

torch.set_num_threads(1)

RECIPE = """
task = "translate"
title = "captions"
[data]
corpus = "CORPUS"
source = "en"
target = "de"
lowercase = true
vocab_size = 300
scored_sentences = 6
[model]
hidden_size = 16
num_hidden_layers = 1
decoder_layers = 1
num_attention_heads = 2
intermediate_size = 16
hidden_dropout_prob = 0.0
[train]
epochs = 15
tokens_per_batch = 400
learning_rate = 3e-2
num_evaluations = 2
bf16 = false
seeds = [1, 2]
[beam]
size = 2
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recipe with its results; some words of every translation are soon right."""
    folder = tmp_path_factory.mktemp("translate") / "rows"
    folder.mkdir()
    pairs = [f"A dog sees cat {n} here .\tEin Hund sieht hier Katze {n} .\n" for n in range(40)]
    corpus = folder.parent / "pairs.tsv"
    corpus.write_text("en\tde\n" + "".join(pairs))
    (folder / "captions.toml").write_text(RECIPE.replace("CORPUS", str(corpus)))
    reproduce(folder, None, "smoke", folder.parent / "runs", progress=False)
    return folder


@pytest.fixture
def result(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "results" / "captions.smoke.json").read_text())
    return content


def test_bleu_of_every_seed(folder: Path, result: dict[str, Any]) -> None:
    recipe = Recipe.from_dict(result["recipe"])
    assert result["data"] == {"train": 36, "validation": 4, "test": 6}
    assert [seed["seed"] for seed in result["seeds"]] == [1, 2]
    for seed in result["seeds"]:
        model = folder.parent / "runs" / "rows" / "captions-smoke" / f"seed-{seed['seed']}"
        translator = Translator.from_pretrained(model, device="cpu")
        for part, name in (("validation", "bleu_validation"), ("test", "bleu")):
            pairs = read_pairs(recipe.data, part)
            found = translator.translate([pair.tree for pair in pairs])
            score = bleu([pair.target.lower() for pair in pairs], found)
            assert seed[name] == pytest.approx(score.bleu, abs=1e-3)
            assert seed["signature"] == score.signature
        percentages = attention_on_nodes(translator, pairs)
        assert (seed["attention_on_nodes"], seed["nodes_percent"]) == pytest.approx(percentages, abs=1e-3)
        assert seed["bleu"] > bleu([pair.target for pair in pairs], found).bleu, "capitals were learned away"
        assert seed["steps"] == 30 and seed["parameters"] > 0 and seed["sentences_per_second"] > 0
        assert seed["validation_curve"][-1][0] == 30 and "best" not in seed


def test_the_summary_is_over_the_seeds(result: dict[str, Any]) -> None:
    for name in ("bleu", "bleu_validation", "loss"):
        values = [seed[name] for seed in result["seeds"]]
        assert result["summary"][name]["mean"] == pytest.approx(fmean(values), abs=1e-3)


def test_no_sentence_is_stored(folder: Path) -> None:
    assert "Hund" not in (folder / "results" / "captions.smoke.json").read_text()


def test_what_is_missing_shows_before_training(folder: Path, tmp_path: Path) -> None:
    for override, says in (
        ("data.corpus=gone.tsv", r"gone\.tsv: neither a file"),
        ("data.trees=gone", "^gone: neither right"),
    ):
        with pytest.raises(FileNotFoundError, match=says):
            run_recipe(folder / "captions.toml", "smoke", tmp_path, [override])
    with pytest.raises(ValueError, match="has no 'fr': expected en, de"):
        run_recipe(folder / "captions.toml", "smoke", tmp_path, ["data.source=fr"])
    assert not list(tmp_path.iterdir())


def test_attention_on_nodes(folder: Path, result: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    model = folder.parent / "runs" / "rows" / "captions-smoke" / "seed-1"
    translator = Translator.from_pretrained(model, device="cpu")
    pairs = read_pairs(Recipe.from_dict(result["recipe"]).data, "test")
    attention, nodes = attention_on_nodes(translator, pairs)
    subwords = [len(row) for row in translator.reader.encode_target([pair.target for pair in pairs])]
    alone = [attention_on_nodes(translator, [pair])[0] for pair in pairs]
    expected = sum(part * count for part, count in zip(alone, subwords, strict=True)) / sum(subwords)
    assert attention == pytest.approx(expected, rel=1e-4) and 0 < attention < 100
    weights = translator.attention(pairs[0].tree, pairs[0].target)
    on_nodes = [
        sum(weight for node, weight in zip(weights.tree.nodes(), row, strict=True) if not node.is_leaf)
        for row in weights.weights
    ]
    assert alone[0] == pytest.approx(100 * fmean(on_nodes), rel=1e-4)
    encoded = translator.reader.encode([pair.tree for pair in pairs])
    leaves = sum(len(source["input_ids"]) for source in encoded)
    count = sum(len(source["plan"]["spans"]) for source in encoded)
    assert nodes == pytest.approx(100 * count / (count + leaves))
    monkeypatch.setattr(predictor, "TOKENS_PER_BATCH", 60)
    assert attention_on_nodes(translator, pairs)[0] == pytest.approx(attention, rel=1e-4)
    with pytest.raises(ValueError, match=r"^0 pairs, expected some and a model that reads trees$"):
        attention_on_nodes(translator, [])
    translator.model.config.tree = False
    with pytest.raises(ValueError, match="a model that reads trees"):
        attention_on_nodes(translator, pairs)
