"""Models that are handed on: the new folder reads as the old one, and the Hub is mocked."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest

from treeformers.recipes import ParseRecipe
from treeformers.tasks.parse.predictor import Parser
from treeformers.tasks.parse.train import build_parser
from treeformers.training.model_folder import checksum, model_files
from treeformers.training.saving import save_model
from treeformers.trees.tree import Tree


@pytest.fixture(params=[".", "seed-1"])
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A small parser, alone or in a folder of seeds."""
    return write_parser(tmp_path / "model", request.param)


def write_parser(folder: Path, *names: str) -> Path:
    """A folder with a small parser in each of these folders; they differ in their seeds."""
    recipe = ParseRecipe.from_dict(
        {
            "task": "parse",
            "data": {"train": ["grammar"]},
            "model": {"hidden_size": 8, "embedding_size": 8},
        }
    )
    assert isinstance(recipe, ParseRecipe)
    for seed, place in enumerate((folder / name for name in names), start=1):
        model, reader = build_parser(recipe, [Tree.from_brackets("(S (NP (D the) (N owl)) (V sees))")], seed)
        save_model(model, reader, place, {"recipe.json": recipe.to_dict(), "history.json": {}})
        (place / "checkpoints").mkdir()
    return folder


def test_a_saved_model_reads_as_the_first(folder: Path, tmp_path: Path) -> None:
    parser = Parser.from_pretrained(folder, device="cpu")
    parser.save_pretrained(tmp_path / "new")
    again = Parser.from_pretrained(tmp_path / "new", device="cpu")
    assert again.parse(["the owl sees"]) == parser.parse(["the owl sees"])
    assert (tmp_path / "new" / "README.md").read_text().startswith("---\nlibrary_name: treeformers\n")
    assert not list((tmp_path / "new").rglob("checkpoints"))
    again.save_pretrained(tmp_path / "new")  # onto itself
    assert Parser.from_pretrained(tmp_path / "new", device="cpu").models


@pytest.mark.parametrize(
    ("before", "after"),
    [(["."], ["seed-1", "seed-2"]), (["seed-1", "seed-2", "seed-3"], ["seed-2"]), (["seed-1"], ["."])],
    ids=str,
)
def test_a_saved_model_replaces_another(before: list[str], after: list[str], tmp_path: Path) -> None:
    target, new = write_parser(tmp_path / "before", *before), write_parser(tmp_path / "after", *after)
    for name in before:
        for later in ("calibration.json", "README.md", "run.json"):
            (target / name / later).write_text("{}")
        (target / name / "checkpoints").rmdir()
    (target / "notes.md").write_text("mine")
    for _ in range(2):
        Parser.from_pretrained(new, device="cpu").save_pretrained(target)
        assert checksum(target) == checksum(new)
    there = {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()}
    assert there == {"README.md", *(name for name, _ in model_files(new)), *sums(new), "notes.md"}
    assert "library_name" in (target / "README.md").read_text()
    assert {path.name for path in target.iterdir() if path.is_dir()} == {one for one in after if one != "."}


def sums(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("SHA256SUMS")}


def test_the_folder_of_the_model_itself_is_not_replaced(tmp_path: Path) -> None:
    both = write_parser(tmp_path / "both", "seed-1", "seed-2")
    for source, target in ((both, both / "seed-1"), (both / "seed-1", both)):
        parser = Parser.from_pretrained(source, device="cpu")
        with pytest.raises(ValueError, match=f"^{target}: .*; expected another folder$"):
            parser.save_pretrained(target)
    assert len(Parser.from_pretrained(both, device="cpu").models) == 2


def test_push(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def upload(repo_id: str, folder_path: str, delete_patterns: list[str], **_: Any) -> None:
        assert Parser.from_pretrained(folder_path, device="cpu").models
        for name in ("config.json", "seed-3/model.safetensors", "calibration.json", "seed-3/SHA256SUMS"):
            assert any(fnmatch(name, pattern) for pattern in delete_patterns)
        assert not any(fnmatch("README.md", pattern) for pattern in delete_patterns)
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
