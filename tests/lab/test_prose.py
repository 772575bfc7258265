"""The words that rank results come from code: `lab.inference.corrected` writes them into tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs" / "results.md", *sorted((ROOT / "experiments").glob("*/README.md"))]
RANKING = re.compile(r"\b(?:ahead|behind|beats?|outperform\w*)\b")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_prose_does_not_rank_results(page: Path) -> None:
    text = re.sub(r"<!-- results:.*?<!-- end -->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    # The claim of a paper may be said in its words.
    paragraphs = [part for part in re.split(r"\n\s*\n", text) if not part.startswith("*The claim*")]
    found = [" ".join(part.split())[:80] for part in paragraphs if RANKING.search(part)]
    assert not found, "write what the table's tests allow, or leave the comparison to the table"
