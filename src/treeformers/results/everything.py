"""What the rows of all papers together cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from treeformers.results.tables import Result, Results, markdown_table, seed_count

LONGEST_ROW = 20
"""Minutes that a row at scale `small` should not exceed."""


def times(results: Results) -> str:
    """Rows, models and hours of every paper, and the rows that take long.

    Args:
        results: by PAPER/ROW.
    """
    papers: dict[str, list[Result]] = {}
    for name, row in results.items():
        papers.setdefault(name.partition("/")[0], []).append(row)
    by_paper = [(f"`{paper}`", *_sums(rows)) for paper, rows in sorted(papers.items())]
    total = ("all", *_sums([row for rows in papers.values() for row in rows]))
    head = ["", "rows", "models", "hours by the clock", "hours of the processor", "of so many models"]
    tables = [markdown_table([*head, f"rows over {LONGEST_ROW} minutes"], [*by_paper, total])]
    long = sorted(
        ((_seconds(row), name, row) for name, row in results.items() if _is_long(row)), reverse=True
    )
    cells = [
        (f"`{name}`", seed_count(row), f"{seconds / 60:.0f}", f"{sum(busy) / 60:.0f}" if busy else None)
        for seconds, name, row in long
        for busy in [_busy(row)]
    ]
    tables.append(markdown_table(("", "models", "minutes by the clock", "minutes of the processor"), cells))
    return "\n\n".join(filter(None, tables))


PARTS: Mapping[str, Callable[[Results], str]] = {"times": times}


def _sums(rows: list[Result]) -> tuple[str, ...]:
    busy = [seconds for row in rows for seconds in _busy(row)]
    return (
        str(len(rows)),
        str(sum(len(row.get("seeds", ())) for row in rows)),
        f"{sum(map(_seconds, rows)) / 3600:.1f}",
        f"{sum(busy) / 3600:.1f}",
        str(len(busy)),
        str(sum(map(_is_long, rows))),
    )


def _seconds(row: Result) -> float:
    """Of the clock, one model after the other."""
    seeds = row.get("seeds") or [row]
    return sum(seed.get("wall_seconds", 0.0) for seed in seeds)


def _busy(row: Result) -> list[float]:
    """Seconds of the processor of every model of which they were measured."""
    return [seed["processor_seconds"] for seed in row.get("seeds", ()) if "processor_seconds" in seed]


def _is_long(row: Result) -> bool:
    return _seconds(row) > 60 * LONGEST_ROW
