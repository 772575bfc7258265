"""What the rows of all papers together cost."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping

from lab.tables.formatting import Result, Results
from treeformers.drawing.markdown import markdown_table
from treeformers.recipes import Recipe

Known = dict[tuple[str, ...], list[float]]
"""Seconds by what rows are alike in."""

ROW_MINUTES = 20
"""What a row at scale `small` should take at most."""


def times(results: Results) -> str:
    """Rows, models and hours of every paper; then the rows that take longer than they should.

    What a model takes on a machine that does nothing else is the time of the processor where it was measured
    and one thread computed, and otherwise that of the clock, which other work on the machine lengthens. To it
    are added what makes the data ready and what scores a model by itself, and to the row the rest of scoring,
    which one process does. Where a row does not tell them, they are reckoned: as much as a model or a row of
    the same task and corpus takes on the average, or of the task alone, or of all, if none of those tells.
    Hours are those of all models, on two cores if these are never idle, as `--processes 2` keeps them, and
    one model after the other; and those of one model a row, on two cores, which is the mean over its seeds. A
    model that several rows need is counted with the first of them, for the others copy it. What a row takes
    by itself is counted with two of its models at a time.

    Args:
        results: by PAPER/ROW.
    """
    whole = _reckoned(results)
    once = _each_model_once(whole)
    papers: dict[str, list[str]] = {}
    for name in results:
        papers.setdefault(name.partition("/")[0], []).append(name)
    head = (
        "",
        "rows",
        "models",
        "hours on two cores",
        "of one model a row",
        "one by one",
        "models by the clock",
        "rows, scoring reckoned",
    )
    by_paper = [
        (
            title,
            *_sums([once[name] for name in names]),
            str(sum(_is_untold(results[name]) for name in names)),
            str(sum(_is_long(whole[name]) for name in names)),
        )
        for title, names in [
            *((f"`{paper}`", names) for paper, names in sorted(papers.items())),
            ("all", results),
        ]
    ]
    cells = []
    for name, row in sorted(whole.items(), key=lambda item: -_two_at_a_time(item[1])):
        if _is_long(row):
            minutes = (f"{seconds / 60:.0f}" for seconds in (_two_at_a_time(row), _one_by_one(row)))
            cells.append((f"`{name}`", str(_models(row)), *minutes, str(_by_the_clock(row))))
    tables = (
        markdown_table((*head, f"rows over {ROW_MINUTES} minutes"), by_paper),
        markdown_table(("", "models", "minutes, two at a time", "one by one", "models by the clock"), cells),
    )
    return "\n\n".join(filter(None, tables))


PARTS: Mapping[str, Callable[[Results], str]] = {"times": times}


def _sums(rows: list[Result]) -> tuple[str, ...]:
    return (
        str(len(rows)),
        str(sum(map(_models, rows))),
        f"{sum(map(_on_two_cores, rows)) / 3600:.1f}",
        f"{sum(_on_two_cores(row) / max(1, _models(row)) for row in rows) / 3600:.1f}",
        f"{sum(map(_one_by_one, rows)) / 3600:.1f}",
        str(sum(map(_by_the_clock, rows))),
    )


def _reckoned(results: Results) -> Results:
    """The results, all of whose models and rows tell what makes the data ready and what scores."""
    preparing: Known = {}
    scoring: Known = {}
    for row in results.values():
        for seed in row.get("seeds", ()):
            if "preparing_seconds" in seed:
                _add(preparing, row, seed["preparing_seconds"])
        if row.get("seeds") and "scoring_seconds" in row:
            _add(scoring, row, _all_scoring(row))
    kept: dict[str, Result] = {}
    for name, row in results.items():
        if row.get("seeds"):
            ready = {"preparing_seconds": _mean(preparing, row)}
            row = {**row, "seeds": [{**ready, **seed} for seed in row["seeds"]]}
            if _is_untold(row):
                row["scoring_seconds"] = _mean(scoring, row)
        kept[name] = row
    return kept


def _kinds(row: Result) -> list[tuple[str, ...]]:
    """What rows may be alike in, the closest first."""
    recipe = row["recipe"]
    return [(recipe["task"], str(recipe["data"].get("corpus"))), (recipe["task"],), ()]


def _add(known: Known, row: Result, seconds: float) -> None:
    for kind in _kinds(row):
        known.setdefault(kind, []).append(seconds)


def _mean(known: Known, row: Result) -> float:
    """Of the closest kind of which something is known."""
    seconds = next((known[kind] for kind in _kinds(row) if kind in known), [0.0])
    return sum(seconds) / len(seconds)


def _is_untold(row: Result) -> bool:
    """Whether the row has models and does not tell what scored them."""
    return bool(row.get("seeds")) and "scoring_seconds" not in row


def _each_model_once(results: Results) -> Results:
    """The results without the models that a row before trained from the same."""
    known: set[tuple[str, int]] = set()
    kept: dict[str, Result] = {}
    for name, row in results.items():
        if row.get("seeds"):
            training = json.dumps(Recipe.from_dict(row["recipe"]).training(), sort_keys=True)
            own = [seed for seed in row["seeds"] if (training, seed["seed"]) not in known]
            known |= {(training, seed["seed"]) for seed in own}
            copied = sum(seed.get("scoring_seconds", 0.0) for seed in row["seeds"] if seed not in own)
            if copied:  # these were scored here nevertheless
                row = {**row, "scoring_seconds": row["scoring_seconds"] + copied}
            row = {**row, "seeds": own}
        kept[name] = row
    return kept


def _models(row: Result) -> int:
    return len(row.get("seeds", ()))


def _by_the_clock(row: Result) -> int:
    """Models whose time of the processor is not known."""
    return sum("processor_seconds" not in seed for seed in row.get("seeds", ()))


def _parts(row: Result) -> list[tuple[float, int]]:
    """Seconds and threads of every model; of the whole where a row trains none."""
    found = []
    for part in row.get("seeds", [row]):
        used = part.get("threads", _threads(row))
        clock = part.get("wall_seconds", 0.0)
        training = min(clock, part.get("processor_seconds", math.inf)) if used == 1 else clock
        scoring = part.get("scoring_seconds", 0.0) / used
        found.append((training + part.get("preparing_seconds", 0.0) + scoring, used))
    return found


def _threads(row: Result) -> int:
    threads: int = row.get("environment", {}).get("threads", 1)
    return threads


def _scoring(row: Result) -> float:
    """Seconds of one process, most of which is not arithmetic that threads would share."""
    return sum(part.get("scoring_seconds", 0.0) for part in (row, row.get("ensemble", {})))


def _all_scoring(row: Result) -> float:
    """The seconds of all processes together."""
    return _scoring(row) + sum(seed.get("scoring_seconds", 0.0) for seed in row.get("seeds", ()))


def _one_by_one(row: Result) -> float:
    return sum(seconds for seconds, _ in _parts(row)) + _scoring(row)


def _two_at_a_time(row: Result) -> float:
    """Seconds where each model is begun by the process of two that is free first, one on threads by both."""
    ends = [0.0, 0.0]
    for seconds, threads in _parts(row):
        ends = sorted((ends[0] + seconds, ends[1])) if threads == 1 else 2 * [ends[1] + seconds]
    return ends[1] + _scoring(row)


def _on_two_cores(row: Result) -> float:
    """Seconds where no core is idle: what had both counts whole, all else half."""
    parts = [*_parts(row), (_scoring(row), 1)]
    return sum(seconds * threads for seconds, threads in parts) / 2


def _is_long(row: Result) -> bool:
    return _two_at_a_time(row) > 60 * ROW_MINUTES
