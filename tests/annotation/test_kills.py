"""A killed program loses no edit that it has reported. `benchmarks/annotation_kills.py` kills more often."""

from __future__ import annotations

from pathlib import Path

from benchmarks.annotation_kills import kill_and_check


def test_kills_lose_no_edit(tmp_path: Path) -> None:
    found = kill_and_check(tmp_path / "own.treebank", kills=2, longest=0.3)
    assert found["edits"] > 0
