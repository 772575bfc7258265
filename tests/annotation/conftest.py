"""A project over a few sentences."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from treeformers.annotation import Project, import_text

LINES = ["the dog sees Ann .", "Ann runs", "the cat sleeps well .", "dogs bark", "Ben left the big house ."]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project.create(tmp_path / "own.treebank", validation_size=1) as made:
        import_text(made, LINES, "own.txt")
        yield made
