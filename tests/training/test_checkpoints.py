"""Whenever a process is killed, what has the name of a state is whole."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from treeformers.training.checkpoints import SAVING, checkpoint, drop, last_checkpoint, settle

FILES = ("model.safetensors", "optimizer.pt", "trainer_state.json")


def write(state: Path) -> None:
    state.mkdir(parents=True)
    for name in FILES:
        (state / name).touch()


def states(folder: Path) -> list[int]:
    """The steps of the states, each of which is whole."""
    found = list(folder.glob("checkpoint-*"))
    for state in found:
        assert sorted(path.name for path in state.iterdir()) == sorted(FILES), state
    return sorted(int(state.name.rpartition("-")[2]) for state in found)


class _KilledError(BaseException):
    pass


@pytest.fixture(params=range(8))
def killed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The process ends before the so-many-th of the calls that change the folder."""
    left = iter(range(request.param, -1, -1))

    def mortal(function):  # type: ignore[no-untyped-def]
        def call(*arguments: object, **options: object) -> None:
            if not next(left):
                raise _KilledError
            function(*arguments, **options)

        return call

    with monkeypatch.context() as patch:
        for module, name in ((os, "replace"), (os, "unlink"), (shutil, "rmtree")):
            patch.setattr(module, name, mortal(getattr(module, name)))
        yield


def test_the_newest_and_the_best_stay(tmp_path: Path) -> None:
    for step, best, expected in ((5, None, [5]), (10, 5, [5, 10]), (15, 5, [5, 15]), (20, 20, [20])):
        write(checkpoint(tmp_path / SAVING, step))
        settle(tmp_path, step, best)
        assert states(tmp_path) == expected
        assert last_checkpoint(tmp_path) == checkpoint(tmp_path, step)
    assert sorted(path.name for path in tmp_path.iterdir()) == [SAVING, "checkpoint-20"]


def test_whole_whenever_it_is_killed(tmp_path: Path, killed: None) -> None:
    for step in (5, 10):
        write(checkpoint(tmp_path, step))
    write(checkpoint(tmp_path / SAVING, 15))
    with pytest.raises(_KilledError):
        settle(tmp_path, 15, 5)
    found = states(tmp_path)
    assert 5 in found and max(found) in (10, 15)
    assert last_checkpoint(tmp_path) == checkpoint(tmp_path, max(found))


def test_a_state_that_is_there_is_replaced(tmp_path: Path) -> None:
    write(checkpoint(tmp_path, 5))
    (checkpoint(tmp_path, 5) / "old").touch()
    write(checkpoint(tmp_path / SAVING, 5))
    settle(tmp_path, 5)
    assert states(tmp_path) == [5]


def test_a_folder_is_dropped_though_one_of_its_name_was_in_part(tmp_path: Path) -> None:
    for _ in range(2):
        write(tmp_path / "states")
        write(tmp_path / ".states.dropped")
        drop(tmp_path / "states")
        assert not list(tmp_path.iterdir())
    drop(tmp_path / "states")


def test_what_is_not_whole_is_not_a_state(tmp_path: Path) -> None:
    assert last_checkpoint(tmp_path) is None
    checkpoint(tmp_path, 9).mkdir()
    write(checkpoint(tmp_path / SAVING, 30))
    assert last_checkpoint(tmp_path) is None
    for step in (9_000, 10_000):
        write(checkpoint(tmp_path, step))
    assert last_checkpoint(tmp_path) == checkpoint(tmp_path, 10_000)
