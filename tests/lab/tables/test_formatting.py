from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from lab.tables.formatting import provenance, rounded, value_or_none, with_sd


def result(figures: Mapping[str, Sequence[float | None]]) -> dict[str, Any]:
    """Seeds with these figures; the summary has those that all have."""
    seeds = [dict(zip(figures, row, strict=True)) for row in zip(*figures.values(), strict=True)]
    whole = {name: [v for v in values if v is not None] for name, values in figures.items()}
    return {
        "seeds": seeds,
        "summary": {
            name: {"mean": fmean(values), "max": max(values)} | ({"sd": stdev(values)} if values[1:] else {})
            for name, values in whole.items()
            if len(values) == len(seeds)
        },
    }


def test_a_mean_with_its_deviation() -> None:
    several = result({"accuracy": [46.0, 47.0, 49.5], "mse": [0.25, 0.26, 0.24], "f1": [1.0, None, 2.0]})
    assert with_sd(several, "accuracy") == "47.5 ± 1.8"
    assert with_sd(several, "mse", 4) == "0.2500 ± 0.0100"
    assert rounded(several, "accuracy") == "47.5" and rounded(several, "accuracy", 0) == "48"
    assert with_sd(several, "f1") is rounded(several, "f1") is with_sd(several, "recall") is None
    assert with_sd(result({"accuracy": [46.04]}), "accuracy") == "46.0"


def test_figures_as_the_paper_prints_them() -> None:
    shown = [value_or_none(value) for value in (None, 0.0, 47.4, 88.0, 0.2774)]
    assert shown == [None, "0", "47.4", "88", "0.2774"]


def test_a_signature_is_that_of_its_figure() -> None:
    origin = {
        "environment": {"device": "a CPU", "threads": 1, "cores": 2, "torch": "2.13"},
        "commit": "abc",
        "date": "2026-01-02",
    }
    seed = {"seed": 1, "steps": 7, "wall_seconds": 90.0, "processor_seconds": 75.0}
    results = {
        "parser": {**origin, "seeds": [{**seed, "f1_test": 70.0, "signature": "parseval|x"}] * 2},
        "translator": {**origin, "seeds": [{**seed, "bleu": 30.0, "signature": "nrefs:1|x"}]},
        "classifier": {**origin, "seeds": [seed]},
    }
    table, *signatures = provenance(results).split("\n\n")
    assert "| `classifier` | 1 | 7 | 1.5 | 1.2 | a CPU, 1 of 2 cores |" in table
    assert signatures == ["Signature of the BLEU: `nrefs:1|x`", "Signature of the F1: `parseval|x`"]


def test_threads_are_those_that_trained() -> None:
    row = {
        "environment": {"device": "a CPU", "threads": 1, "cores": 4, "torch": "2.13"},
        "commit": "abc",
        "date": "2026-01-02",
    }
    seed = {"seed": 1, "steps": 7, "wall_seconds": 90.0, "threads": 3}
    assert "a CPU, 3 of 4 cores" in provenance({"row": {**row, "seeds": [seed]}})
    assert "a CPU, 1 of 4 cores" in provenance({"row": row})


def test_precision_is_shown_where_it_is_known() -> None:
    environment = {"device": "a CPU", "threads": 1, "cores": 2, "torch": "2.13"}
    seed = {"seed": 1, "steps": 7, "wall_seconds": 90.0}
    row = {"environment": environment, "commit": "abc", "date": "2026-01-02"}
    both = [{**seed, "bf16": True}, {**seed, "bf16": False}]
    assert "cores | bfloat16, float32 | 2.13 |" in provenance({"row": {**row, "seeds": both}})
    assert "cores | float32 | 2.13 |" in provenance({"row": {**row, "seeds": both[1:]}})
    assert "cores |  | 2.13 |" in provenance({"row": {**row, "seeds": [seed]}})
