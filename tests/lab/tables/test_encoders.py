"""The page on which all encoders stand beside each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from results_files import part, result, rows, trained, write_results


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    memory = [900.0, 640.4]
    files = {
        "sst-ctt": result("CTT", ["sst"], trained(accuracy=[44.0, 45.0], peak_memory_mb=memory)),
        "sick-r-ctt": result("CTT", ["sick-r"], trained(pearson=[0.85, 0.86, 0.87])),
        "sick-r-dtt": result("DTT", ["sick-r"], trained(pearson=[0.81])),
    }
    return write_results(tmp_path / "encoders", files)


def test_an_encoder_is_a_row(folder: Path) -> None:
    head, *body = rows(part(folder, "overview"))
    assert head == ["", "SST-5", "SST-2", "SICK-R, r", "SICK-E", "MSRP", "seeds"]
    assert body == [
        ["CTT", "44.5 ± 0.7", "", "0.860 ± 0.010", "", "", "2 to 3"],
        ["DTT", "", "", "0.810", "", "", "1"],
    ]


def test_costs_by_task(folder: Path) -> None:
    text = part(folder, "costs")
    assert [line for line in text.splitlines() if line.startswith("**")] == ["**SST-5, SST-2**", "**SICK-R**"]
    sst, sick = text.split("**SICK-R**")
    head, row = rows(sst)
    assert head[-5:] == ["parameters", "seconds of training", "sentences a second", "MB at most", "models"]
    assert row == ["CTT", "", "", "44.5 ± 0.7", "", "3.21M", "90", "", "640", "2 seeds"]
    assert [row[0] for row in rows(sick)[1:]] == ["CTT", "DTT"]


def test_encoders_are_tested_against_the_mean_of_the_words(folder: Path) -> None:
    more = {
        "sick-r-mean": result("Mean of words", ["sick-r"], trained(pearson=[0.95, 0.96, 0.98])),
        "msrp-mean": result("Mean of words", ["msrp"], trained(accuracy=[70.0, 71.0])),
    }
    for name, content in more.items():
        (folder / "results" / f"{name}.small.json").write_text(json.dumps(content))
    _, *body = rows(part(folder, "tests"))
    # The differences -0.10, -0.10 and -0.11: t = -31 over 2 degrees of freedom.
    assert body == [["CTT", "", "", "0.001, behind", "", ""], ["DTT", "", "", "", "", ""]]
