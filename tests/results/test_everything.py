from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from treeformers.results import rendered
from treeformers.results.everything import times


def result(*minutes: float, busy: float | None = None) -> dict[str, Any]:
    seed = {} if busy is None else {"processor_seconds": 60 * busy}
    return {"recipe": {"title": "one"}, "seeds": [{"wall_seconds": 60 * m, **seed} for m in minutes]}


def test_times() -> None:
    rows = {
        "ahmed2019/short": result(5, 15, busy=4),
        "ahmed2019/long": result(90, 60, 20, 5, busy=30),
        "ahmed2019/several": result(20, 10, 10),
        "ma2017/unknown": result(21) | {"environment": {"threads": 2}},
        "ginn2024/probes": {"recipe": {"title": "probes"}, "wall_seconds": 360.0},
        "ginn2024/picture": {"recipe": {"title": "picture"}, "looks": {}},
    }
    by_paper, long = times(rows).split("\n\n")
    assert by_paper.splitlines()[2:] == [
        "| `ahmed2019` | 3 | 9 | 1.1 | 0.3 | 2.2 | 3 | 1 |",
        "| `ginn2024` | 2 | 0 | 0.1 | 0.1 | 0.1 | 0 | 0 |",
        "| `ma2017` | 1 | 1 | 0.3 | 0.3 | 0.3 | 1 | 1 |",
        "| all | 6 | 10 | 1.5 | 0.7 | 2.7 | 4 | 2 |",
    ]
    assert long.splitlines()[2:] == [
        "| `ahmed2019/long` | 4 | 50 | 85 | 0 |",
        "| `ma2017/unknown` | 1 | 21 | 21 | 1 |",
    ]


def test_threads_share_the_time_of_the_processor() -> None:
    row = result(30, busy=44)
    row["seeds"][0]["threads"] = 2
    assert times({"ma2017/mixed": row}).splitlines()[-1] == "| `ma2017/mixed` | 1 | 22 | 22 | 0 |"


def test_without_long_rows_there_is_one_table() -> None:
    assert "\n\n" not in times({"ma2017/datt": result(20)})


def test_a_page_adds_up_all_experiments(tmp_path: Path) -> None:
    page = "<!-- results: all/times -->\n<!-- end -->\n"
    assert "No results yet: `treeformers reproduce all --scale small`." in rendered(page, tmp_path)
    for paper, minutes in (("ahmed2019", 30), ("ma2017", 6)):
        folder = tmp_path / paper / "results"
        folder.mkdir(parents=True)
        (folder / "row.small.json").write_text(json.dumps(result(minutes)))
        (folder / "row.paper.json").write_text(json.dumps(result(1000)))
    text = rendered(page, tmp_path)
    assert "| all | 2 | 2 | 0.3 | 0.3 | 0.6 |" in text and "| `ahmed2019/row` | 1 | 30 | 30 |" in text
    with pytest.raises(ValueError, match=r"^line 1: unknown part 'time', the nearest is 'times'$"):
        rendered(page.replace("times", "time"), tmp_path)
