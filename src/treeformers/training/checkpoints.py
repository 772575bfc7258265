"""The states that training goes on from. A folder `checkpoint-N` is whole, whenever a process was killed.

A state is written elsewhere and moved to its place when all of it is there; what goes is moved away before it
is removed.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

__all__ = ["SAVING", "STATE", "checkpoint", "drop", "last_checkpoint", "settle"]

SAVING = ".saving"
"""Where in the folder of the states one is written."""
STATE = "trainer_state.json"
"""The file of the Trainer in each state that says how far it is."""


def checkpoint(folder: Path, step: int) -> Path:
    """The state after a step."""
    return folder / f"checkpoint-{step}"


def last_checkpoint(folder: Path) -> Path | None:
    """The newest state, if there is one."""
    found = (path.parent for path in folder.glob(f"checkpoint-*/{STATE}"))
    return max(found, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


def settle(folder: Path, step: int, best: int | None = None) -> None:
    """Put the state that was written after a step in its place, and drop all but it and the best.

    Args:
        folder: of the states.
        step: of the state.
        best: step of the best one, if there is one.
    """
    kept = {checkpoint(folder, number) for number in (step, best) if number is not None}
    place = checkpoint(folder, step)
    drop(place)
    os.replace(checkpoint(folder / SAVING, step), place)
    for other in folder.glob("checkpoint-*"):
        if other not in kept:
            drop(other)


def drop(folder: Path) -> None:
    """Remove a folder, if it is there; one that is removed in part has another name."""
    gone = folder.with_name(f".{folder.name}.dropped")
    shutil.rmtree(gone, ignore_errors=True)  # of a process that was killed here
    if folder.is_dir():
        os.replace(folder, gone)
        shutil.rmtree(gone, ignore_errors=True)
