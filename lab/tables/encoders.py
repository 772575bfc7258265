"""All encoders side by side: the same vectors, the same budget, the same way to choose the weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lab.tables.formatting import (
    Result,
    Results,
    mean,
    millions,
    provenance,
    rounded,
    seed_count,
    tagged,
    with_sd,
)
from treeformers.drawing.markdown import markdown_table

FIGURES: Mapping[str, tuple[tuple[str, str, int], ...]] = {
    "sst": (("accuracy", "SST-5", 1), ("coarse_accuracy", "SST-2", 1)),
    "sick-r": (("pearson", "SICK-R, r", 3),),
    "sick-e": (("accuracy", "SICK-E", 1),),
    "msrp": (("accuracy", "MSRP", 1),),
}
"""By task, which is how the names of recipes begin: name of the figure, heading, decimal places."""


def overview(results: Results) -> str:
    """The test figures of every encoder in a row."""
    found = {title: row for title, row in _by_encoder(results).items() if row}
    head = ["", *(heading for figures in FIGURES.values() for _, heading, _ in figures)]
    cells = [
        [
            title,
            *(
                with_sd(row[task], name, places) if task in row else None
                for task, figures in FIGURES.items()
                for name, _, places in figures
            ),
        ]
        for title, row in found.items()
    ]
    return markdown_table([*head, "seeds"], [[*line, _seeds(found[str(line[0])])] for line in cells])


def costs(results: Results) -> str:
    """What every task takes of every encoder: weights, time to train and to read, memory."""
    tables = []
    for task, figures in FIGURES.items():
        rows = tagged(results, task).values()
        cells = [
            (
                row["recipe"]["title"],
                *(rounded(row, f"{name}_validation", places) for name, _, places in figures),
                *(with_sd(row, name, places) for name, _, places in figures),
                millions(row["seeds"][0]["parameters"]),
                rounded(row, "wall_seconds", 0),
                rounded(row, "sentences_per_second", 0),
                _memory(row),
                seed_count(row),
            )
            for row in rows
        ]
        head = [f"{heading}, {part}" for part in ("validation", "test") for _, heading, _ in figures]
        costs = ("parameters", "seconds of training", "sentences a second", "MB at most", "models")
        if cells:
            names = ", ".join(heading.partition(",")[0] for _, heading, _ in figures)
            tables.append(f"**{names}**\n\n{markdown_table(('', *head, *costs), cells)}")
    return "\n\n".join(tables)


PARTS: Mapping[str, Callable[[Results], str]] = {
    part.__name__: part for part in (overview, costs, provenance)
}


def _by_encoder(results: Results) -> dict[str, dict[str, Result]]:
    """Title of an encoder, and task, to result."""
    found: dict[str, dict[str, Result]] = {}
    for task in FIGURES:
        for row in tagged(results, task).values():
            found.setdefault(row["recipe"]["title"], {})[task] = row
    return dict(sorted(found.items()))


def _seeds(rows: Mapping[str, Result]) -> str:
    """ "3", or "3 to 5" where the tasks differ."""
    counts = sorted({len(row["seeds"]) for row in rows.values()})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _memory(row: Result) -> str | None:
    """The least of the seeds, as the first one holds what makes the vectors, too."""
    if mean(row, "peak_memory_mb") is None:
        return None
    return f"{min(seed['peak_memory_mb'] for seed in row['seeds']):.0f}"
