from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import pytest

from treeformers.results import rendered


def result(
    title: str, tables: list[str], published: dict[str, float], **figures: list[float]
) -> dict[str, Any]:
    """An invented results file: these figures, one a seed."""
    seeds = [
        {"seed": number, "parameters": 450_000, **dict(zip(figures, row, strict=True))}
        for number, row in enumerate(zip(*figures.values(), strict=True), start=1)
    ]
    return {
        "recipe": {"title": title, "tables": tables, "published": published},
        "seeds": seeds,
        "summary": {
            name: {"mean": fmean(values), "max": max(values), "sd": pstdev(values)}
            for name, values in figures.items()
        },
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "ahmed2019"
    files = {
        "sick-r-dtt": result(
            "DTT",
            ["1", "2"],
            {"mse": 0.2774},
            pearson=[0.8412, 0.8414],
            pearson_validation=[0.85, 0.85],
            mse=[0.25, 0.3],
            sentences_per_second=[800.4, 800.4],
        ),
        "sick-r-sibling": result("DTT, places", ["2"], {}, pearson=[0.8], mse=[0.28]),
        "sick-e-dtt": result("DTT", ["1"], {"accuracy": 82.28}, accuracy=[80.0, 81.0]),
        "sst-ctt": result("CTT", ["1"], {"coarse_accuracy": 86.66}, accuracy=[50.0], coarse_accuracy=[88.0]),
        "msrp-ctt": result("CTT", ["1"], {"accuracy": 71.73}, accuracy=[70.0], accuracy_validation=[72.0]),
    }
    (folder / "results").mkdir(parents=True)
    for name, content in files.items():
        (folder / "results" / f"{name}.small.json").write_text(json.dumps(content))
    return folder


def part(folder: Path, name: str) -> dict[str, list[list[str]]]:
    """Rows of the tables by the headings above them."""
    text = rendered(f"<!-- results: {name} -->\n<!-- end -->\n", folder / "results")
    found: dict[str, list[list[str]]] = {}
    for line in text.splitlines():
        if line.startswith("**"):
            found[line.strip("*")] = []
        elif line.startswith("|") and not line.startswith("|---"):
            [*found.values()][-1].append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def test_a_table_for_each_task(folder: Path) -> None:
    tables = part(folder, "table1")
    assert list(tables) == ["SICK-E", "SICK-R", "SST", "MSRP"]
    for head, *body in tables.values():
        assert head[:2] == ["", "models"] and head[-2:] == ["parameters", "sentences a second"]
        assert {len(row) for row in body} == {len(head)}
    assert tables["SICK-R"][0][2:-2] == [
        *("Pearson's r, paper", "Pearson's r, validation", "Pearson's r, test"),
        *("MSE, paper", "MSE, validation", "MSE, test"),
    ]
    assert tables["SICK-R"][1:] == [
        ["DTT", "2 seeds", "", "0.8500", "0.8413 ± 0.0001", "0.2774", "", "0.2750 ± 0.0250", "0.45M", "800"],
    ]
    assert tables["SICK-E"][1:] == [["DTT", "2 seeds", "82.28", "", "80.5 ± 0.5", "0.45M", ""]]
    assert tables["SST"][1:] == [["CTT", "1 seed", "", "", "50.0", "86.66", "", "88.0", "0.45M", ""]]
    assert tables["MSRP"][1:] == [["CTT", "1 seed", "71.73", "72.0", "70.0", "0.45M", ""]]


def test_a_table_has_the_rows_that_stand_there_in_the_paper(folder: Path) -> None:
    tables = part(folder, "table2")
    assert list(tables) == ["SICK-R"]
    assert [row[0] for row in tables["SICK-R"][1:]] == ["DTT", "DTT, places"]
    text = rendered("<!-- results: table3 -->\n<!-- end -->\n", folder / "results")
    assert "No results yet: `treeformers reproduce ahmed2019 --scale small`." in text
