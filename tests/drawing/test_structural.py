from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree

from treeformers.drawing.structural import (
    layer_chart_svg,
    spanning_trees_svg,
    structural_page,
    structural_tables,
)


def figure(value: float) -> dict[str, float]:
    return {"value": value, "low": value - 0.05, "high": value + 0.05}


def content(constituency: bool = False) -> dict[str, Any]:
    rows = []
    for system in ("model", "random weights", "control task", "chain"):
        for layer in (None,) if system == "chain" else (0, 1):
            row: dict[str, Any] = {"system": system, "layer": layer, "chosen": layer == 1}
            row["uuas"] = None if constituency else figure(60 + (layer or 0))
            row["distance_spearman"] = figure(0.8)
            row["depth_spearman"] = None if system == "control task" else figure(0.7)
            row["root"] = None if constituency or system == "control task" else figure(50.0)
            rows.append(row)
    example = {"words": ["he", "saw", "<b>"], "gold": [(0, 1), (1, 2)], "found": [(0, 1), (0, 2)]}
    report = {
        "model": "mine & <yours>",
        "rows": rows,
        "differences": [{"baseline": "a chain", "difference": figure(1.0), "verdict": "ahead"}],
        "conclusion": "Layer 1 is ahead.",
        "example": None if constituency else example,
        "settings": {
            **{"treebank": "ewt", "trees": "dependencies", "split": "test", "rank": 64, "seed": 0},
            "sentences": {"train": 2000, "validation": 1000, "scored": 1900},
        },
    }
    return json.loads(json.dumps(report))  # type: ignore[no-any-return]


def test_baselines_stand_beside_the_layers() -> None:
    layers, differences = structural_tables(content(), detail=False)
    assert layers.columns == (
        *("layer", "UUAS", "DSpr.", "NSpr.", "root %", "UUAS, random weights", "UUAS, control task"),
    )
    assert layers.rows == (
        ("0", "60.0", "0.800", "0.700", "50.0", "60.0", "60.0"),
        ("1 *", "61.0", "0.800", "0.700", "50.0", "61.0", "61.0"),
        ("chain", "60.0", "0.800", "0.700", "50.0", "–", "–"),
    )
    assert differences.rows == (("a chain", "+1.0", "+0.9 to +1.1", "ahead"),)
    assert structural_tables(content())[0].rows[0][2] == "0.800 (0.750–0.850)"


def test_constituency_has_no_columns_of_edges() -> None:
    layers, differences = structural_tables(content(constituency=True), detail=False)
    assert layers.columns == ("layer", "DSpr.", "NSpr.", "DSpr., random weights", "DSpr., control task")
    assert differences.columns[1] == "difference in DSpr."
    assert "DSpr. by layer" in layer_chart_svg(content(constituency=True))


def test_a_page_with_pictures() -> None:
    page = structural_page([content(), content(constituency=True)])
    assert "2,000 sentences of ewt. 1,900 sentences of the test split are scored." in page
    assert "mine &amp; &lt;yours&gt;" in page and "<yours>" not in page
    assert not re.search(r"(?:src|href)=", page)
    pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(pictures) == 3
    for picture in pictures:
        ElementTree.fromstring(picture)


def test_edges_are_marked_by_the_set_they_are_in() -> None:
    picture = spanning_trees_svg(content()["example"])
    assert picture.count('class="agree"') == 2  # above and below
    assert picture.count('class="only"') == 1 and picture.count('class="cross"') == 1
    assert "3 words, 2 edges above and 2 edges below them, 1 in both" in picture
    single = spanning_trees_svg({"words": ["a"], "gold": [], "found": []})
    assert "0 edges above" in single
    ElementTree.fromstring(single)
