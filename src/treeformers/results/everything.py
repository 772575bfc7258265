"""What the rows of all papers together cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from treeformers.results.tables import Result, Results, markdown_table

ROW_MINUTES = 20
"""What a row at scale `small` should take at most."""


def times(results: Results) -> str:
    """Rows, models and hours of every paper; then the rows that take longer than they should.

    Hours are those of all models, on two cores if these are never idle, as `--processes 2` keeps them, and
    one model after the other; and those of one model a row, on two cores, which is the mean over its seeds.
    What a row takes by itself is counted with two of its models at a time.

    Args:
        results: by PAPER/ROW.
    """
    papers: dict[str, list[Result]] = {}
    for name, row in results.items():
        papers.setdefault(name.partition("/")[0], []).append(row)
    head = ["", "rows", "models", "hours on two cores", "of one model a row", "one by one"]
    head += ["hours of the processor", "of so many models"]
    by_paper = [(f"`{paper}`", *_sums(rows)) for paper, rows in sorted(papers.items())]
    by_paper.append(("all", *_sums(list(results.values()))))
    cells = []
    for name, row in sorted(results.items(), key=lambda item: -_two_at_a_time(item[1])):
        if _is_long(row):
            clock, busy = _clock(row), _busy(row)
            processor = f"{sum(busy) / 60:.0f}" if len(busy) == len(clock) else None
            minutes = (f"{seconds / 60:.0f}" for seconds in (_two_at_a_time(row), sum(clock)))
            cells.append((f"`{name}`", str(len(clock)), *minutes, processor))
    tables = (
        markdown_table([*head, f"rows over {ROW_MINUTES} minutes"], by_paper),
        markdown_table(("", "models", "minutes, two at a time", "one by one", "of the processor"), cells),
    )
    return "\n\n".join(filter(None, tables))


PARTS: Mapping[str, Callable[[Results], str]] = {"times": times}


def _sums(rows: list[Result]) -> tuple[str, ...]:
    busy = [seconds for row in rows for seconds in _busy(row)]
    return (
        str(len(rows)),
        str(sum(map(_models, rows))),
        f"{sum(map(_on_two_cores, rows)) / 3600:.1f}",
        f"{sum(_on_two_cores(row) / max(1, _models(row)) for row in rows) / 3600:.1f}",
        f"{sum(sum(_clock(row)) for row in rows) / 3600:.1f}",
        f"{sum(busy) / 3600:.1f}",
        str(len(busy)),
        str(sum(map(_is_long, rows))),
    )


def _models(row: Result) -> int:
    return len(row.get("seeds", ()))


def _clock(row: Result) -> list[float]:
    """Seconds by the clock, of every model; of the whole where a row trains none."""
    return [part.get("wall_seconds", 0.0) for part in row.get("seeds") or [row]]


def _two_at_a_time(row: Result) -> float:
    """Seconds by the clock where each model is begun by whichever of two processes is free first."""
    ends = [0.0, 0.0]
    for seconds in _clock(row):
        ends = sorted((ends[0] + seconds, ends[1]))
    return ends[1]


def _on_two_cores(row: Result) -> float:
    """Seconds by the clock where no core is idle: a model that had both counts whole, others half."""
    threads = row.get("environment", {}).get("threads", 1)
    parts = row.get("seeds") or [row]
    return sum(part.get("wall_seconds", 0.0) * part.get("threads", threads) for part in parts) / 2


def _busy(row: Result) -> list[float]:
    """Of the processor, for every model of which it was measured."""
    return [seed["processor_seconds"] for seed in row.get("seeds", ()) if "processor_seconds" in seed]


def _is_long(row: Result) -> bool:
    return _two_at_a_time(row) > 60 * ROW_MINUTES
