from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer

from conftest import ROOT
from treeformers.data import corpora
from treeformers.data.examples import LabeledText
from treeformers.models.treebert import TreeBertForMaskedLM
from treeformers.recipes import Data, InduceRecipe, Recipe
from treeformers.tasks.induce.train import build_model, read_gold, read_text, train_inducer
from treeformers.trees.tree import Tree

torch.set_num_threads(1)

HEADLINE = ROOT / "experiments" / "wang2019" / "tree-l10-wsj-all.toml"


def recipe(*overrides: str) -> InduceRecipe:
    sizes = ("data.sentences=120", "train.num_evaluations=4", "model.hidden_dropout_prob=0.1")
    return InduceRecipe.load(HEADLINE, "smoke", (*sizes, *overrides))


def test_training_learns(tmp_path: Path) -> None:
    fit = train_inducer(
        recipe("train.epochs=6", "train.lr_scheduler=linear", "train.learning_rate=0.01"),
        tmp_path,
        progress=False,
    )
    losses = [entry["eval_loss"] for entry in fit.history if "eval_loss" in entry]
    assert losses[-1] < losses[0] - 0.3
    assert fit.loss == min(losses)
    assert (fit.seed, fit.parameters) == (
        1,
        sum(p.numel() for p in TreeBertForMaskedLM.from_pretrained(tmp_path).parameters()),
    )
    stored = Recipe.from_dict(json.loads((tmp_path / "recipe.json").read_text()))
    assert stored.train.learning_rate == 0.01
    assert AutoTokenizer.from_pretrained(tmp_path).mask_token == "[MASK]"


@pytest.mark.parametrize("layer", [-4, 3])
def test_a_layer_that_is_not_there_is_refused_before_training(layer: int, tmp_path: Path) -> None:
    asked = recipe(f"decoding.layer={layer}", f"data.text={tmp_path / 'nothing'}")
    says = rf"^decoding\.layer is {layer}, expected -3 to 2: model\.num_hidden_layers is 3$"
    with pytest.raises(ValueError, match=says):
        train_inducer(asked, tmp_path / "out", progress=False)
    assert not (tmp_path / "out").exists()


def test_packed_rows_train_too(tmp_path: Path) -> None:
    fit = train_inducer(
        recipe("data.packing=true", "data.max_length=64", "data.validation_size=12", "train.epochs=1"),
        tmp_path,
        progress=False,
    )
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    assert fit.steps > 0 and fit.loss < 1.5 * math.log(len(tokenizer))


class TestText:
    def test_words_of_a_treebank_are_read_without_punctuation_and_normalised(self, tmp_path: Path) -> None:
        path = tmp_path / "trees.mrg"
        path.write_text(
            "(S (NP (DT The) (CD 25)) (VP (VBD sat)) (. .))\n( (S (NP (NNP Ann)) (VP (VBD ran))) )\n"
        )
        assert read_text(Data(text=str(path), normalize=True)) == ["the N sat", "ann ran"]
        assert read_text(Data(text=str(path)))[0] == "The 25 sat ."
        assert [tree.words for tree in read_gold(Data(gold=str(path)))] == [
            ("The", "25", "sat"),
            ("Ann", "ran"),
        ]

    def test_parts_and_limits(self, tmp_path: Path) -> None:
        for part in ("train", "validation", "test"):
            (tmp_path / f"{part}.txt").write_text(f"{part} one\n\n{part} two\n")
        assert read_text(Data(text=str(tmp_path), splits=("test", "train"))) == [
            "test one", "test two", "train one", "train two",
        ]  # fmt: skip
        assert read_text(Data(text=str(tmp_path), sentences=3)) == [
            "train one",
            "train two",
            "validation one",
        ]
        says = "^data.splits: .* has no split 'dev': expected train, validation, test"
        with pytest.raises(ValueError, match=says):
            read_text(Data(text=str(tmp_path), splits=("dev",)))
        with pytest.raises(ValueError, match=says):
            read_text(Data(text=str(tmp_path / "train.txt"), splits=("dev",)))

    def test_by_default_the_parts_that_there_are(self, tmp_path: Path) -> None:
        for part in ("train", "dev"):
            (tmp_path / f"{part}.txt").write_text(f"{part} one\n")
            (tmp_path / part).mkdir()
            (tmp_path / part / f"{part}.mrg").write_text("(S (X a) (X b))\n")
        assert read_text(Data(text=str(tmp_path))) == ["train one", "dev one"]
        assert len(read_gold(Data(gold=str(tmp_path / "dev")))) == 1
        with pytest.raises(ValueError, match=r"^data\.splits: .* has no split 'train': expected validation$"):
            read_text(Data(text=str(tmp_path / "dev")))

    def test_of_sentences_with_classes_the_text_is_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        labelled = [
            LabeledText("a fine day", "good"),
            LabeledText(Tree.from_brackets("(S (DT no) (NN rain))"), "bad"),
        ]
        monkeypatch.setattr(corpora, "load", lambda *_, **__: {"train": labelled})
        assert read_text(Data(text="reviews")) == ["a fine day", "no rain"]

    def test_the_grammar_gives_other_sentences_to_train_and_to_score(self) -> None:
        text = read_text(Data(text="grammar", sentences=50))
        gold = read_gold(Data(gold="grammar", gold_sentences=50))
        assert len(text) == len(gold) == 50
        assert text != [" ".join(tree.words) for tree in gold]
        assert text == read_text(Data(text="grammar", sentences=50))

    def test_sections_of_a_treebank_of_the_layout_of_the_penn_treebank(self, tmp_path: Path) -> None:
        for section in range(25):
            folder = tmp_path / f"{section:02}"
            folder.mkdir()
            (folder / f"wsj_{section:02}01.mrg").write_text(
                f"( (S (NP (NN s{section})) (VP (VBZ is)) (. .)) )\n"
            )
        all_of_it = InduceRecipe.load(
            HEADLINE.with_name("ptb-l10-wsj-all.toml"), overrides=[f"data.data_dir={tmp_path}"]
        )
        train = InduceRecipe.load(
            HEADLINE.with_name("ptb-l10-wsj-train.toml"), overrides=[f"data.data_dir={tmp_path}"]
        )
        assert read_text(all_of_it.data) == [f"s{section} is" for section in range(25)]
        assert read_text(train.data) == [f"s{section} is" for section in range(2, 22)]
        assert [tree.words for tree in read_gold(train.data)] == [("s23", "is")]

    def test_errors(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match=r"expected data\.gold"):
            read_gold(Data())
        with pytest.raises(ValueError, match="4 sentences, expected at least 10 to train on"):
            (tmp_path / "few.txt").write_text("a b\n" * 4)
            train_inducer(recipe(f"data.text={tmp_path / 'few.txt'}"), tmp_path / "out", progress=False)
        assert not (tmp_path / "out").exists()


def test_a_wrong_key_of_the_model_names_the_nearest(inducer_folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(inducer_folder)
    with pytest.raises(
        ValueError, match=r"unknown key 'model\.hidden_sise', the nearest is 'model\.hidden_size'"
    ):
        build_model(InduceRecipe(model={"hidden_sise": 8}), tokenizer, 1)
    with pytest.raises(ValueError, match=r"^model\.prior_position expected one of .* got above$") as error:
        build_model(InduceRecipe(model={"prior_position": "above"}), tokenizer, 1)
    assert "\n" not in str(error.value)


def test_text_without_spaces_between_words(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = tmp_path / "text.txt"
    text.write_text("".join(f"word{n}word\n" for n in range(60)))
    settings = [f'data.text="{text}"', 'data.gold=""', "data.sentences=0"]
    with pytest.raises(ValueError, match=r"text\.txt: no word comes 2 times \(data\.min_frequency\)"):
        train_inducer(recipe(*settings, "data.min_frequency=2"), tmp_path / "a", progress=False)
    text.write_text("oneword\n" * 60)
    train_inducer(recipe(*settings, "train.max_steps=1"), tmp_path / "b", progress=False)
    assert "most lines of" in caplog.text and "are one word" in caplog.text
