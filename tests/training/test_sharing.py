"""Models that are handed on: the new folder reads as the old one, and the Hub is mocked."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest

from treeformers.recipes import ParseRecipe
from treeformers.tasks.parse.predictor import Parser
from treeformers.tasks.parse.train import build_parser
from treeformers.training.saving import save_model
from treeformers.trees.tree import Tree


@pytest.fixture(params=[".", "seed-1"])
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A small parser, alone or in a folder of seeds."""
    recipe = ParseRecipe.from_dict(
        {
            "task": "parse",
            "data": {"train": ["grammar"]},
            "model": {"hidden_size": 8, "embedding_size": 8},
        }
    )
    assert isinstance(recipe, ParseRecipe)
    model, reader = build_parser(recipe, [Tree.from_brackets("(S (NP (D the) (N owl)) (V sees))")], 1)
    place = tmp_path / "model" / request.param
    save_model(model, reader, place, {"recipe.json": recipe.to_dict(), "history.json": {}})
    (place / "checkpoints").mkdir()
    return tmp_path / "model"


def test_a_saved_model_reads_as_the_first(folder: Path, tmp_path: Path) -> None:
    parser = Parser.from_pretrained(folder, device="cpu")
    parser.save_pretrained(tmp_path / "new")
    again = Parser.from_pretrained(tmp_path / "new", device="cpu")
    assert again.parse(["the owl sees"]) == parser.parse(["the owl sees"])
    assert (tmp_path / "new" / "README.md").read_text().startswith("---\nlibrary_name: treeformers\n")
    assert not list((tmp_path / "new").rglob("checkpoints"))
    again.save_pretrained(tmp_path / "new")  # onto itself
    assert Parser.from_pretrained(tmp_path / "new", device="cpu").models


def test_push(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def upload(repo_id: str, folder_path: str, **_: Any) -> None:
        assert Parser.from_pretrained(folder_path, device="cpu").models
        calls.append(repo_id)

    def create(name: str, private: bool, exist_ok: bool) -> str:
        calls.append((name, private, exist_ok))
        return f"https://huggingface.co/{name}"

    api = SimpleNamespace(create_repo=create, upload_folder=upload)
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: api)
    parser = Parser.from_pretrained(folder, device="cpu")
    assert parser.push_to_hub("owls/parser", private=True) == "https://huggingface.co/owls/parser"
    assert calls == [("owls/parser", True, True), "owls/parser"]

    def offline(*_: Any, **__: Any) -> str:
        raise ConnectionError("no\nnetwork")

    api.create_repo = offline
    with pytest.raises(
        OSError, match="owls/parser: the Hub does not take the model: no network; see hf auth"
    ):
        parser.push_to_hub("owls/parser")


def test_a_model_from_several_folders(folder: Path, tmp_path: Path) -> None:
    both = Parser.from_pretrained(folder, folder, device="cpu")
    with pytest.raises(ValueError, match="the model was not loaded from one folder"):
        both.save_pretrained(tmp_path / "new")


def test_a_place_that_cannot_be_a_folder(folder: Path, tmp_path: Path) -> None:
    parser = Parser.from_pretrained(folder, device="cpu")
    (tmp_path / "text").touch()
    for place in (tmp_path / "text", tmp_path / "text" / "new"):
        with pytest.raises(FileExistsError) as error:
            parser.save_pretrained(place)
        assert str(error.value) == f"{place}: a file is there, expected a folder"
    nowhere: Any = None
    with pytest.raises(ValueError, match=r"^folder is None, expected the name of a new folder$"):
        parser.save_pretrained(nowhere)
    with pytest.raises(ValueError, match=r"^name is None, expected org/name$"):
        parser.push_to_hub(nowhere)
