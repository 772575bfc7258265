from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path

import pytest

from lab.model_cache import copy_model, named_models, sources
from lab.run import reproduce
from treeformers.recipes import Recipe
from treeformers.tasks.train import FIT_FILE, finished_fit

ROW = """
task = "classify"
title = "{title}"

[data]
corpus = "grammar"
embeddings = ""
sentences = 40
scored_sentences = {scored}

[model]
encoder = "mean"
hidden_size = 8
input_size = 8

[train]
epochs = 1
tokens_per_batch = 200
learning_rate = {rate}
num_evaluations = 1
seeds = {seeds}
"""


@pytest.fixture
def experiments(tmp_path: Path) -> Path:
    rows = {
        "ahmed2019/first": ROW.format(title="first", rate=0.01, seeds=[1, 2], scored=10),
        "encoders/same": ROW.format(title="same", rate=0.01, seeds=[2, 3], scored=10),
        "encoders/other": ROW.format(title="other", rate=0.02, seeds=[2], scored=10),
    }
    for name, text in rows.items():
        path = tmp_path / "experiments" / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "experiments"


def test_a_model_that_two_rows_need_is_trained_once(
    experiments: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from treeformers.tasks.classify import train as classify

    trained: list[tuple[str, int]] = []

    def train(recipe: Recipe, folder: Path, seed: int, **how: bool) -> object:
        trained.append((recipe.title, seed))
        return original(recipe, folder, seed, **how)

    original = classify.train_classifier
    monkeypatch.setattr(classify, "train_classifier", train)
    runs = tmp_path / "runs"
    (first,) = reproduce(experiments / "ahmed2019", runs=runs, progress=False)
    with caplog.at_level(logging.INFO):
        other, same = reproduce(experiments / "encoders", runs=runs, progress=False)
    assert trained == [("first", 1), ("first", 2), ("other", 2), ("same", 3)]
    assert str(runs / "ahmed2019" / "first-small" / "seed-2") in caplog.text
    seeds = {path: json.loads(path.read_text())["seeds"] for path in (first, same, other)}
    assert [seed["seed"] for seed in seeds[same]] == [2, 3]
    for seed in (seeds[first][1], seeds[same][0]):
        del seed["sentences_per_second"]
    assert seeds[first][1] == seeds[same][0]
    copy = runs / "encoders" / "same-small" / "seed-2"
    assert (copy / "README.md").read_text().count("same")  # the card is that of the new row


def test_a_copy_is_complete_or_missing(
    experiments: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "runs"
    reproduce(experiments / "ahmed2019", runs=runs, progress=False)
    recipe = Recipe.load(experiments / "encoders" / "same.toml", "small")
    there, folder = runs / "ahmed2019" / "first-small" / "seed-2", runs / "encoders" / "same-small" / "seed-2"
    (there / "checkpoints").mkdir()

    def killed(_: Path, target: Path, **__: object) -> None:
        target.mkdir(parents=True)
        (target / FIT_FILE).write_text("{")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(shutil, "copytree", killed)
        copy_model(folder, recipe, runs)
    assert not folder.exists()
    copy_model(folder, recipe, runs)
    assert finished_fit(folder, recipe) == finished_fit(there, recipe) is not None
    assert {path.name for path in there.iterdir()} - {path.name for path in folder.iterdir()} == {
        "checkpoints"
    }
    assert [path.name for path in folder.parent.iterdir()] == ["seed-2"]


@pytest.mark.parametrize("content", ["", "[1]", "{}"])
def test_a_damaged_record_is_named_and_stops_no_other_row(
    content: str, experiments: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    runs = tmp_path / "runs"
    recipe = Recipe.load(experiments / "encoders" / "same.toml", "small")
    damaged = runs / "ahmed2019" / "first-small" / "seed-2"
    damaged.mkdir(parents=True)
    (damaged / FIT_FILE).write_text(content)
    with pytest.raises(ValueError, match=rf"^{damaged / FIT_FILE}: damaged: "):
        finished_fit(damaged, recipe)
    folder = runs / "encoders" / "same-small" / "seed-2"
    copy_model(folder, recipe, runs)
    assert not folder.exists() and f"{damaged / FIT_FILE}: damaged: " in caplog.text


def test_unfinished_and_different_models_are_not_copied(experiments: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    reproduce(experiments / "ahmed2019", runs=runs, progress=False)
    begun = runs / "encoders" / "same-small" / "seed-2"
    begun.mkdir(parents=True)
    copy_model(begun, Recipe.load(experiments / "encoders" / "same.toml", "small"), runs)
    assert not list(begun.iterdir())
    other = Recipe.load(experiments / "encoders" / "other.toml", "small")
    copy_model(runs / "encoders" / "other-small" / "seed-2", other, runs)
    assert not (runs / "encoders" / "other-small").exists()
    assert finished_fit(runs / "ahmed2019" / "first-small" / "seed-2", other) is None


def test_sources_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a folder of seeds, and from one seed whose own trees came from a third row."""
    monkeypatch.chdir(tmp_path)
    recipe = {
        "data": {
            "trees": "runs/p/one-small/seed-2",
            "text": "runs/p/all-small",
            "pretrained": "runs/p/c-paper",
        }
    }
    assert named_models(recipe, "small") == {
        "p/one": Path("runs/p/one-small/seed-2"),
        "p/all": Path("runs/p/all-small"),
    }
    assert named_models(recipe, "paper") == {"p/c": Path("runs/p/c-paper")}
    assert sources(recipe, "small") == {}
    trained = {
        "runs/p/one-small/seed-2": {"data": {"trees": "runs/q/deep-small/seed-1"}},
        "runs/p/all-small/seed-1": {"train": {"learning_rate": 1e-7}},
        "runs/p/all-small/seed-3": {"train": {"learning_rate": 2e-7}},
        "runs/q/deep-small/seed-1": {"data": {"trees": "right"}},
    }
    for folder, training in trained.items():
        Path(folder).mkdir(parents=True)
        Path(folder, FIT_FILE).write_text(json.dumps({"training": training, "fit": {}}))
    assert sources(recipe, "small") == {
        "p/one": trained["runs/p/one-small/seed-2"],
        "p/all": trained["runs/p/all-small/seed-1"],
        "q/deep": trained["runs/q/deep-small/seed-1"],
    }


def test_a_model_over_trees_of_a_model_that_has_changed_is_not_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = Recipe.from_dict(
        {"task": "classify", "data": {"trees": "runs/p/parser-small"}, "scale": "small"}
    )
    parser = tmp_path / "runs" / "p" / "parser-small" / "seed-1" / FIT_FILE
    parser.parent.mkdir(parents=True)
    before, after = ({"training": {"train": {"epochs": epochs}}} for epochs in (1, 2))
    parser.write_text(json.dumps(before))
    (tmp_path / FIT_FILE).write_text(
        json.dumps(
            {"training": recipe.training(), "sources": sources(recipe.to_dict(), "small"), "fit": {"seed": 1}}
        )
    )

    def known() -> dict[str, int] | None:
        return finished_fit(tmp_path, recipe, sources(recipe.to_dict(), "small"))

    assert known() == {"seed": 1}
    parser.write_text(json.dumps(after))
    assert known() is None
    parser.unlink()  # without the model, nothing shows that it has changed
    assert known() == {"seed": 1}
