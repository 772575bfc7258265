from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from results_files import part, result, rows, trained, write_results


def row(title: str, tables: list[str], published: dict[str, float], **figures: list[float]) -> dict[str, Any]:
    return result(title, tables, trained(**figures), published)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "nguyen2020"
    files = {
        "sst-tree": row(
            "Tree",
            ["2", "3"],
            {"accuracy": 47.4, "coarse_accuracy": 84.3},
            accuracy=[41.0, 42.0, 43.0, 44.0, 45.0],
            accuracy_validation=[40.0] * 5,
            coarse_accuracy=[80.0, 81.0, 82.0, 83.0, 84.0],
        ),
        "sst-plain": row(
            "Plain",
            ["2"],
            {"accuracy": 37.6},
            accuracy=[40.0, 41.0, 42.0, 43.0, 44.0],
            accuracy_validation=[39.0] * 5,
        ),
        "sst-no-mask": row("Without masks", ["3"], {"accuracy": 45.7}, accuracy=[30.25]),
        "pair-tree": row(
            "En-De",
            ["1"],
            {},
            bleu=[33.0, 34.0],
            bleu_validation=[35.0, 35.5],
            sentences_per_second=[41.0, 42.0],
            attention_on_nodes=[60.0, 62.0],
            nodes_share=[45.0, 45.0],
        ),
        "pair-plain": row("En-De, plain", ["1"], {}, bleu=[30.04]),
    }
    return write_results(folder, files)


def test_translation(folder: Path) -> None:
    head, *body = rows(part(folder, "table1"))
    assert head == ["", "models", "BLEU, validation", "BLEU, test", "parameters", "sentences a second"]
    assert body == [
        ["En-De", "2 seeds", "35.2", "33.5 ± 0.5", "3.21M", "42"],
        ["En-De, plain", "1 seed", "", "30.0", "3.21M", ""],
    ]


def test_classification_beside_the_paper(folder: Path) -> None:
    head, *body = rows(part(folder, "table2"))
    assert head[1:4] == ["SST-5, paper", "SST-2, paper", "models"] and "Tree Transformer" in head[7]
    # Welch: t = -1 over 8 degrees of freedom.
    assert body == [
        ["Plain", "37.6", "", "5 seeds", "39.0", "42.0 ± 1.4", "", "0.347", "3.21M"],
        ["Tree", "47.4", "84.3", "5 seeds", "40.0", "43.0 ± 1.4", "82.0 ± 1.4", "", "3.21M"],
    ]


def test_what_the_parts_bring(folder: Path) -> None:
    _, *body = rows(part(folder, "table3"))
    assert body == [
        ["Tree", "47.4", "5 seeds", "40.0", "43.0 ± 1.4", "82.0 ± 1.4", ""],
        ["Without masks", "45.7", "1 seed", "", "30.2", "", ""],
    ]


def test_phrases_or_words(folder: Path) -> None:
    _, *body = rows(part(folder, "table4"))
    assert body == [["En-De", "2 seeds", "61.0 ± 1.0", "45.0"]], "of models that see trees"


def test_without_the_row_that_others_are_compared_with(folder: Path) -> None:
    (folder / "results" / "sst-tree.small.json").unlink()
    assert rows(part(folder, "table2"))[1:] == [
        ["Plain", "37.6", "", "5 seeds", "39.0", "42.0 ± 1.4", "", "", "3.21M"]
    ]
    assert [row[0] for row in rows(part(folder, "table3"))[1:]] == ["Without masks"]


def test_provenance(folder: Path) -> None:
    _, *body = rows(part(folder, "provenance"))
    assert ["`pair-tree`", "1, 2", "700", "1.5", "a CPU, 1 of 2 cores", "2.13", "`abc`", "2026-01-02"] in body
    assert "Signature of the BLEU: `nrefs:1|x`" in part(folder, "provenance")


@pytest.mark.parametrize("name", ["table1", "table2", "table3", "table4"])
def test_a_part_that_no_row_is_for_says_so(folder: Path, name: str) -> None:
    for path in (folder / "results").iterdir():
        content = json.loads(path.read_text())
        content["recipe"]["tables"] = ["4"]
        path.write_text(json.dumps(content))
    assert part(folder, name) == "No results yet: `treeformers reproduce nguyen2020 --scale small`."
