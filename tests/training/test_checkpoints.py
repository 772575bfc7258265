"""A folder that is named like a checkpoint is complete, even if a process is killed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from treeformers.training.checkpoints import (
    STAGING,
    checkpoint_path,
    commit_checkpoint,
    last_checkpoint,
    remove_folder,
)

FILES = ("model.safetensors", "optimizer.pt", "trainer_state.json")


def write(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name in FILES:
        (folder / name).touch()


def committed_steps(folder: Path) -> list[int]:
    """The steps of the checkpoints, which must all be complete."""
    found = list(folder.glob("checkpoint-*"))
    for path in found:
        assert sorted(file.name for file in path.iterdir()) == sorted(FILES), path
    return sorted(int(path.name.rpartition("-")[2]) for path in found)


class _KilledError(BaseException):
    pass


@pytest.fixture(params=range(8))
def killed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The process ends before one of the calls that change the folder: the first, the second, and so on."""
    calls_left = iter(range(request.param, -1, -1))

    def mortal(function):  # type: ignore[no-untyped-def]
        def call(*arguments: object, **options: object) -> None:
            if not next(calls_left):
                raise _KilledError
            function(*arguments, **options)

        return call

    with monkeypatch.context() as patch:
        for module, name in ((os, "replace"), (os, "unlink"), (shutil, "rmtree")):
            patch.setattr(module, name, mortal(getattr(module, name)))
        yield


def test_the_newest_and_the_best_checkpoint_stay(tmp_path: Path) -> None:
    for step, best, expected in ((5, None, [5]), (10, 5, [5, 10]), (15, 5, [5, 15]), (20, 20, [20])):
        write(checkpoint_path(tmp_path / STAGING, step))
        commit_checkpoint(tmp_path, step, best)
        assert committed_steps(tmp_path) == expected
        assert last_checkpoint(tmp_path) == checkpoint_path(tmp_path, step)
    assert sorted(path.name for path in tmp_path.iterdir()) == [STAGING, "checkpoint-20"]


def test_checkpoints_are_complete_whenever_the_process_is_killed(tmp_path: Path, killed: None) -> None:
    for step in (5, 10):
        write(checkpoint_path(tmp_path, step))
    write(checkpoint_path(tmp_path / STAGING, 15))
    with pytest.raises(_KilledError):
        commit_checkpoint(tmp_path, 15, 5)
    found = committed_steps(tmp_path)
    assert 5 in found and max(found) in (10, 15)
    assert last_checkpoint(tmp_path) == checkpoint_path(tmp_path, max(found))


def test_an_existing_checkpoint_is_replaced(tmp_path: Path) -> None:
    write(checkpoint_path(tmp_path, 5))
    (checkpoint_path(tmp_path, 5) / "old").touch()
    write(checkpoint_path(tmp_path / STAGING, 5))
    commit_checkpoint(tmp_path, 5)
    assert committed_steps(tmp_path) == [5]


def test_a_folder_is_removed_beside_a_half_removed_one(tmp_path: Path) -> None:
    for _ in range(2):
        write(tmp_path / "states")
        write(tmp_path / ".states.dropped")
        remove_folder(tmp_path / "states")
        assert not list(tmp_path.iterdir())
    remove_folder(tmp_path / "states")


def test_an_incomplete_folder_is_not_a_checkpoint(tmp_path: Path) -> None:
    assert last_checkpoint(tmp_path) is None
    checkpoint_path(tmp_path, 9).mkdir()
    write(checkpoint_path(tmp_path / STAGING, 30))
    assert last_checkpoint(tmp_path) is None
    for step in (9_000, 10_000):
        write(checkpoint_path(tmp_path, step))
    assert last_checkpoint(tmp_path) == checkpoint_path(tmp_path, 10_000)
