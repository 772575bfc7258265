from __future__ import annotations

from lab.evaluate.induce import _perplexity_lines


def test_perplexity_is_limited_to_the_first_lines() -> None:
    assert _perplexity_lines(["a b"] * 600) == ["a b"] * 500
    assert [len(_perplexity_lines(["word " * size] * 4)) for size in (5000, 50_000)] == [2, 1]
    assert _perplexity_lines([]) == []
