"""Fine-tuning learns, starts from the pretrained weights, and reports correct metrics."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from lab.fine_tune import (
    LabeledSentence,
    build_model,
    classes_of,
    metrics,
    predict,
    read_sentences,
    read_tests,
    train,
)
from lab.recipes import FineTuneRecipe, FineTuningData
from lab.run import reproduce
from treeformers.models.treebert import TreeBertForMaskedLM, TreeBertForSequenceClassification
from treeformers.recipes import Data, InduceRecipe, Train
from treeformers.tasks.induce.train import train_inducer

torch.set_num_threads(1)

MODEL: dict[str, Any] = {
    **{"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32},
    "hidden_dropout_prob": 0.0,
}
TRAIN: dict[str, Any] = {
    **{
        "tokens_per_batch": 200,
        "learning_rate": 1e-2,
        "warmup_steps": 5,
        "max_grad_norm": 1.0,
        "bf16": False,
    },
    **{"epochs": 6, "num_evaluations": 3},
}
FEW: dict[str, Any] = {"corpus": "grammar", "sentences": 60, "scored_sentences": 40}


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """Freeze the objects of torch, because the garbage collection at the end of a run would take long."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pretrained")
    data = Data(text="grammar", sentences=60, validation_size=5)
    recipe = InduceRecipe(data=data, model=MODEL, train=Train(**{**TRAIN, "max_steps": 3}))
    train_inducer(recipe, folder, seed=7, progress=False)
    return folder


def recipe(
    model: dict[str, Any] | None = None, settings: dict[str, Any] | None = None, **data: Any
) -> FineTuneRecipe:
    return FineTuneRecipe(
        data=FineTuningData(**{**FEW, **data}),
        model=MODEL if model is None else model,
        train=Train(**{**TRAIN, **(settings or {})}),
    )


class TestLearning:
    @pytest.mark.parametrize("prior", ["after_softmax", "none"])
    def test_learns_the_number_of_the_subject(self, prior: str, tmp_path: Path) -> None:
        wanted = recipe({**MODEL, "prior_position": prior}, sentences=250)
        fit = train(wanted, tmp_path, progress=False)
        model = TreeBertForSequenceClassification.from_pretrained(tmp_path).eval()
        assert classes_of(model) == ["plural", "singular"]
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(tmp_path)
        validation = read_sentences(wanted.data, "validation")
        found = predict(model, tokenizer, [one.words for one in validation])
        assert metrics(found, validation, classes_of(model))["f1"] > 75
        assert fit.metric == "loss" and len([one for one in fit.history if "eval_f1" in one]) == 3
        alone = predict(model, tokenizer, [validation[0].words])
        assert torch.allclose(found[:1], alone, atol=1e-5)


class TestPretrained:
    def test_training_starts_from_its_weights(self, pretrained: Path) -> None:
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(pretrained)
        weights = TreeBertForMaskedLM.from_pretrained(pretrained).treebert.state_dict()
        wanted = recipe({}, pretrained=str(pretrained))
        started = build_model(wanted, tokenizer, ["bad", "good"], seed=1).treebert.state_dict()
        assert all(torch.equal(started[name], weight) for name, weight in weights.items())
        control = build_model(
            recipe({}, pretrained=str(pretrained), random_init=True), tokenizer, ["bad", "good"], seed=1
        )
        assert control.config.hidden_size == 16
        embeddings = control.treebert.state_dict()["embeddings.weight"]
        assert not torch.equal(embeddings, started["embeddings.weight"])

    def test_seeds_differ_in_the_classifier(self, pretrained: Path) -> None:
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(pretrained)
        one, other = (
            build_model(
                recipe({}, pretrained=str(pretrained)), tokenizer, ["bad", "good"], seed=seed
            ).classifier.weight
            for seed in (1, 2)
        )
        assert not torch.equal(one, other)

    def test_unusable_models(self, tmp_path: Path, pretrained: Path) -> None:
        with pytest.raises(FileNotFoundError, match=r"expected data\.pretrained to be a folder"):
            train(recipe(pretrained=str(tmp_path)), tmp_path / "out", progress=False)
        with pytest.raises(ValueError, match=r"data\.random_init needs data\.pretrained"):
            train(recipe(random_init=True), tmp_path / "out", progress=False)
        other = tmp_path / "other"
        other.mkdir()
        for name in ("model.safetensors", "tokenizer.json"):
            (other / name).write_bytes((pretrained / name).read_bytes())
        (other / "config.json").write_text(json.dumps({"model_type": "bert"}))
        with pytest.raises(ValueError, match="a model of kind 'bert', expected 'treebert'"):
            train(recipe(pretrained=str(other)), tmp_path / "out", progress=False)


class TestErrors:
    def test_an_unknown_key(self, tmp_path: Path) -> None:
        with pytest.raises(
            ValueError, match=r"unknown key 'model\.hiden_size', the nearest is 'model\.hidden_size'"
        ):
            train(recipe({"hiden_size": 3}), tmp_path, progress=False)

    def test_a_corpus_without_classes(self, tmp_path: Path) -> None:
        file = tmp_path / "text.txt"
        file.write_text("the heron waits\n" * 20)
        with pytest.raises(ValueError, match="expected sentences with classes"):
            read_sentences(FineTuningData(corpus=str(file)), "train")


class TestMetrics:
    def test_by_hand(self) -> None:
        gold = [LabeledSentence(("a",), label) for label in ("x", "x", "y", "y")]
        found = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.3, 0.7]])
        scores = metrics(found, gold, ["x", "y"])
        assert scores["accuracy"] == 75
        assert scores["precision"] == pytest.approx(100 * (1 + 2 / 3) / 2) and scores["recall"] == 75

    def test_test_sets_are_separate(self) -> None:
        parts = read_tests(FineTuningData(**FEW, tests=("grammar",)))
        assert list(parts) == ["grammar"] and len(parts["grammar"]) == 40


ROW = """
task = "fine-tune"
title = "tiny"
[data]
corpus = "grammar"
sentences = 40
scored_sentences = 20
[model]
hidden_size = 16
num_hidden_layers = 1
num_attention_heads = 2
intermediate_size = 16
[train]
max_steps = 4
tokens_per_batch = 200
num_evaluations = 2
bf16 = false
seeds = [1, 2]
"""


def test_evaluation_of_every_seed(tmp_path: Path) -> None:
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / "tiny.toml").write_text(ROW)
    (written,) = reproduce(tmp_path / "paper", "tiny", "paper", tmp_path / "runs", progress=False)
    result = json.loads(written.read_text())
    assert [seed["seed"] for seed in result["seeds"]] == [1, 2]
    assert result["data"]["tests"]["grammar"].keys() == {"plural", "singular"}
    for seed in result["seeds"]:
        assert 0 <= seed["grammar_f1"] <= 100 and 0 <= seed["validation_f1"] <= 100
    assert result["summary"]["grammar_f1"]["mean"] == pytest.approx(
        sum(seed["grammar_f1"] for seed in result["seeds"]) / 2, abs=1e-3
    )
