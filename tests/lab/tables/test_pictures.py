"""Pictures of what trained models compute, drawn from results files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lab.render import plots
from results_files import part, write_results

PRIORS = {"0": [[1.0, 0.25], [0.25, 1.0]], "2": [[1.0, 0.5], [0.5, 1.0]]}
INDUCED = {
    "title": "Tree-T",
    "words": ["owls", "hoot"],
    "tree": "(X (X owls) (X hoot))",
    "priors": PRIORS,
    "attention": {"0": [[0.5, 0.5], [0.5, 0.5]]},
}
PARSED = {
    "title": "bottom-up",
    "kind": "deterministic",
    "words": ["owls", "hoot", "</s>"],
    "actions": ["shift", "shift", "label-S"],
    "preferred": ["shift", "shift", "label-NP"],
    "attention": [[0.0, 0.0, 1.0], [0.25, 0.75, 0.0], [1.0, 0.0, 0.0]],
    "errors": [2],
}
CLASSIFIED = {
    "title": "CTT",
    "tree": "(X (X dull) (X owls))",
    "class": "negative",
    "probability": 0.876,
    "weights": [0.0, 0.75, 0.25],
}


def drawn(folder: Path, paper: str, tables: list[str], picture: dict[str, Any], name: str) -> dict[str, str]:
    """The plots of a part; its Markdown shows exactly these."""
    row = {
        "recipe": {"title": "a picture"},
        "row": {"tables": tables, "published": {}},
        "scale": "small",
        "pictures": {"row": picture},
    }
    home = write_results(folder / paper, {"picture": row})
    found = plots(f"<!-- results: {name} -->\n<!-- end -->\n", home / "results")
    text = part(home, name)
    assert found and all(f"](figures/{file})" in text for file in found)
    assert text.count("](figures/") == len(found)
    return found


def test_heat_maps_by_layer(tmp_path: Path) -> None:
    plots = drawn(tmp_path, "wang2019", ["figure5", "figure6"], INDUCED, "figure5")
    assert list(plots) == ["priors-row-layer-0.small.svg", "priors-row-layer-2.small.svg"]
    assert "Priors, layer 2" in plots["priors-row-layer-2.small.svg"]
    (file,) = drawn(tmp_path / "again", "wang2019", ["figure6"], INDUCED, "figure6")
    assert file == "attention-row-layer-0.small.svg"


def test_the_tree_of_an_inducer(tmp_path: Path) -> None:
    (svg,) = drawn(tmp_path, "ginn2024", ["figure5"], INDUCED, "figure5").values()
    assert "owls" in svg and "hoot" in svg


def test_attention_on_a_tree(tmp_path: Path) -> None:
    (svg,) = drawn(tmp_path, "ahmed2019", ["figure2"], CLASSIFIED, "figure2").values()
    assert "CTT: negative, 88 %" in svg
    assert svg.count('class="shade"') == 3 and 'fill-opacity="0.750"' in svg and 'fill-opacity="0.250"' in svg


def test_attention_step_by_step(tmp_path: Path) -> None:
    (svg,) = drawn(tmp_path, "ma2017", ["figure3"], PARSED, "figure3").values()
    assert "bottom-up: deterministic attention, 1 error" in svg and "instead: label-NP" in svg
    assert svg.count('class="cell"') == 4 and 'fill-opacity="0.25"' in svg
