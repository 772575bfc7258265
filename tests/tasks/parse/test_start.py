"""Training a parser further: weights and inventories of the trained one."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tiny_encoders import tiny_bert
from treeformers import Parser
from treeformers.recipes import ParseRecipe, Train, Treebanks
from treeformers.tasks.parse.train import build_parser, train_parser
from treeformers.trees.tree import Tree

MODEL = {"embedding_size": 16, "hidden_size": 16, "tagging_loss_weight": 1.0}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    recipe = ParseRecipe(
        data=Treebanks(train=("grammar",), sentences=20, scored_sentences=2),
        model=MODEL,
        train=Train(max_steps=2),
    )
    train_parser(recipe, folder, seed=1, progress=False)
    return folder


def test_known_actions_and_tags_keep_their_weights(trained: Path) -> None:
    before = Parser.from_pretrained(trained)
    new = Tree.from_brackets("(QP (XY two) (XY two))")
    model, reader = build_parser(_recipe(trained, dropout=0.25), [new], seed=1)
    assert model.config.dropout == 0.25
    assert len(model.config.actions) == len(before.actions) + 1
    assert model.config.tags == [*before.tag_names, "XY"]
    with torch.no_grad():  # without the new action and tag, the model is the trained one
        for bias in (model.decoder.output.bias, model.tagger.bias):
            bias[-1] = -1e9
    (expected,), (found,) = (
        parser.parse_best(["the dog sees a cat in the park"], 3)
        for parser in (before, Parser([model], [reader]))
    )
    assert [one.tree for one in found] == [one.tree for one in expected]
    assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-4)


def test_a_parser_with_a_pretrained_encoder_is_trained_further(tmp_path: Path) -> None:
    model = {**MODEL, "encoder": "pretrained", "pretrained": str(tiny_bert(tmp_path / "encoder"))}
    recipe = ParseRecipe(
        data=Treebanks(train=("grammar",), sentences=20, scored_sentences=2),
        model=model,
        train=Train(max_steps=1),
    )
    train_parser(recipe, tmp_path / "first", seed=1, progress=False)
    further = replace(recipe, model={**model, "start_from": str(tmp_path / "first")})
    train_parser(further, tmp_path / "second", seed=1, progress=False)
    first, second = (Parser.from_pretrained(tmp_path / name) for name in ("first", "second"))
    embeddings = [one.models[0].pretrained.get_input_embeddings().weight for one in (first, second)]
    assert torch.equal(*embeddings)  # they are not trained
    assert not torch.equal(*(one.models[0].tagger.weight for one in (first, second)))
    assert len(second.parse(["the dog sees a cat"])) == 1


def test_bad_starts(trained: Path, tmp_path: Path) -> None:
    tree = Tree.from_brackets("(NP (DT a) (NN b))")
    with pytest.raises(ValueError, match=r"model\.hidden_size is 32, but .* was trained with 16"):
        build_parser(_recipe(trained, hidden_size=32), [tree], seed=1)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        build_parser(_recipe(tmp_path / "nowhere"), [tree], seed=1)
    for seed in (1, 2):
        shutil.copytree(trained, tmp_path / f"seed-{seed}")
    with pytest.raises(ValueError, match="2 models, expected one"):
        build_parser(_recipe(tmp_path), [tree], seed=1)


def _recipe(start: Path, **changed: Any) -> ParseRecipe:
    return ParseRecipe(model={"start_from": str(start), **MODEL, **changed})
