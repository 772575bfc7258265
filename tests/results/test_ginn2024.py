from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import pytest

from conftest import ROOT
from treeformers.reproduction import run_recipe
from treeformers.results import rendered


def result(
    title: str, f1: dict[str, list[float]], published: dict[str, float] | None = None
) -> dict[str, Any]:
    """An invented results file of Table 11."""
    seeds: list[dict[str, Any]] = []
    for number in range(len(next(iter(f1.values())))):
        seed: dict[str, Any] = {"seed": number + 1, "validation_f1": 99.0, "by_group": {}}
        for name, values in f1.items():
            seed |= {f"{name}_{figure}": values[number] for figure in ("precision", "recall", "f1")}
            seed["by_group"][name] = {"0": 90.0, "10": values[number], "2": 80.0}
        seeds.append(seed)
    names = [name for name, value in seeds[0].items() if isinstance(value, float)]
    return {
        "recipe": {"title": title, "tables": ["11"], "published": published or {}},
        "seeds": seeds,
        "summary": {
            name: {
                "mean": fmean(seed[name] for seed in seeds),
                "max": max(seed[name] for seed in seeds),
                "sd": pstdev([seed[name] for seed in seeds]),
            }
            for name in names
        },
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "ginn2024"
    files = {
        "table11-id-bert": result("ID, BERT", {"agreement-id": [90.0] * 6}, {"agreement-id_f1": 95.9}),
        "table11-id-treebert": result(
            "ID, TreeBERT", {"agreement-id": [91.0] * 6}, {"agreement-id_f1": 96.6}
        ),
        "table11-gen-bert": result("GEN, BERT", {"agreement-gen": [60.0], "agreement-rec-gen": [50.0]}),
        "mlm-bert": {
            "recipe": {"title": "BERT, masked words", "tables": ["pretraining"], "published": {}},
            "seeds": [{"seed": 1, "parameters": 2_000_000, "loss": 4.0}],
            "summary": {"loss": {"mean": 4.0, "max": 4.0, "sd": 0.0}},
        },
    }
    (folder / "results").mkdir(parents=True)
    for name, content in files.items():
        (folder / "results" / f"{name}.small.json").write_text(json.dumps(content))
    return folder


def rows(folder: Path, name: str) -> list[list[str]]:
    text = rendered(f"<!-- results: {name} -->\n<!-- end -->\n", folder / "results")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_table11_has_the_paper_beside_ours(folder: Path) -> None:
    found = rows(folder, "table11")[2:]
    assert [row[:2] for row in found] == [
        ["ID", "BERT"], ["ID", "TreeBERT"], ["GEN", "BERT"], ["REC-GEN", "BERT"],
    ]  # fmt: skip
    assert found[0][2:6] == ["- / - / 95.9", "90.0 ± 0.0", "90.0 ± 0.0", "90.0 ± 0.0"]
    assert found[2][2:] == ["- / - / -", "60.0", "60.0", "60.0", "99.0", "1 seed"]


def test_comparisons_are_paired_by_seed(folder: Path) -> None:
    (found,) = rows(folder, "comparisons")[2:]
    # Of 64 sign assignments two are as far out as this one.
    assert found == ["ID", "TreeBERT - BERT", "+0.7", "+1.0", "0.031", "6 pairs"]


def test_depths_stand_in_the_order_of_numbers(folder: Path) -> None:
    found = rows(folder, "depths")
    assert found[0] == ["depth", "0", "2", "10"]
    assert found[2] == ["BERT", "90.0", "80.0", "90.0"]


def test_pretraining_is_shown_as_perplexity(folder: Path) -> None:
    assert rows(folder, "pretraining")[2:] == [["BERT, masked words", "54.6", "2M"]]


def test_probes_stand_side_by_side(tmp_path: Path) -> None:
    row = run_recipe(ROOT / "experiments" / "ginn2024" / "probes.toml", "smoke", tmp_path, progress=False)
    (tmp_path / "ginn2024" / "results").mkdir(parents=True)
    (tmp_path / "ginn2024" / "results" / "probes.small.json").write_text(json.dumps(row))
    (head, _, *found) = rows(tmp_path / "ginn2024", "probes")[:4]
    assert head[-3:] == ["gold", "right", "random"]
    assert all("100.0" in cells[-3] for cells in found if cells[1] == "[Det N]")
    assert rows(tmp_path / "ginn2024", "provenance")[2][:3] == ["`probes`", "", ""]


def test_ways_out(tmp_path: Path) -> None:
    seeds = [{"seed": n, "by_readout": {"blocks": 40.0 + n, "layers": 30.0}} for n in (1, 3)]
    summary = {"sentence_f1": {"mean": 47.0, "max": 48.0, "sd": 1.0}}
    row = {"recipe": {"title": "hard links", "tables": ["ways"]}, "seeds": seeds, "summary": summary}
    (tmp_path / "ginn2024" / "results").mkdir(parents=True)
    (tmp_path / "ginn2024" / "results" / "ways-hard.small.json").write_text(json.dumps(row))
    assert rows(tmp_path / "ginn2024", "ways")[2:] == [
        ["hard links", "47.0 ± 1.0", "42.0", "30.0", "", "2 seeds"]
    ]
