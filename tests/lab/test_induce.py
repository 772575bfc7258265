from __future__ import annotations

from lab.induce import _few


def test_perplexity_is_measured_on_few_lines() -> None:
    assert _few(["a b"] * 600) == ["a b"] * 500
    assert [len(_few(["word " * size] * 4)) for size in (5000, 50_000)] == [2, 1]
    assert _few([]) == []
