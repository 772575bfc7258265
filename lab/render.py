"""Results files to tables beside the paper's figures, and plots.

The README of an experiment has marked parts, `<!-- results: NAME -->` or `<!-- results: NAME at SCALE -->`
up to `<!-- end -->`, that are written here; NAME is a key of `PARTS` in the paper's module. A page about
several papers writes PAPER/NAME, or all/NAME for a part about all of them at once. All figures come from the
results files, those of the paper too: a recipe's `[published]` is part of its results.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path

from lab.tables import run_all as everything
from lab.tables.formatting import Results, provenance
from treeformers.trees.files import atomic_write

PAPERS = {
    paper: f"lab.tables.{paper}"
    for paper in ("wang2019", "ma2017", "nguyen2020", "ahmed2019", "ginn2024", "trees", "encoders")
}
"""Experiment folders and the modules of their tables.

Such a module has `PARTS`, name to function from results to Markdown, and may have `FIGURES`, name of a part
to function from results to its plots, file name to SVG. Any other folder has the part `provenance`.
"""

EVERYTHING = "all"
"""In the place of a paper: the results of all, by PAPER/ROW."""

_MARK = re.compile(r"<!-- results: (?:([\w-]+)/)?([\w-]+)(?: at (\w+))? -->\n")
_END = "<!-- end -->"


def render(readme: Path) -> list[Path]:
    """Write the marked parts of a README from the results beside it, and the plots they show.

    Args:
        readme: `experiments/<paper>/README.md`; its results lie in `results/`, its plots in `figures/`.

    Returns:
        The files written.

    Raises:
        ValueError: an unknown part, one without an end, or a damaged results file.
    """
    text = readme.read_text(encoding="utf-8")
    files = {readme: rendered(text, readme.parent / "results")}
    for name, svg in figures(text, readme.parent / "results").items():
        files[readme.parent / "figures" / name] = svg
    for path, content in files.items():
        path.parent.mkdir(exist_ok=True)
        with atomic_write(path) as file:
            file.write(content)
    return list(files)


def render_book(page: Path, experiments: Path) -> Path:
    """Write the marked parts, PAPER/NAME, of a page about several papers.

    Args:
        page: such as `docs/results.md`.
        experiments: the folder that holds the experiment folders.

    Returns:
        The page.

    Raises:
        ValueError: as `render`.
    """
    content = rendered(page.read_text(encoding="utf-8"), experiments)
    with atomic_write(page) as file:
        file.write(content)
    return page


def rendered(text: str, results: Path) -> str:
    """The text of a README, or of a page about several papers, with its marked parts filled in.

    Args:
        text: with marks.
        results: the folder of the results files; of marks PAPER/NAME the one that holds the experiments.
    """
    pieces, done = [], 0
    for home, name, scale, start, end in _marked(text, results):
        rows = _load(home, scale)
        part = _parts(home)[name](rows) if rows else ""
        missing = f"No results yet: `treeformers reproduce {home.parent.name} --scale {scale}`."
        pieces += [text[done:start], "\n", part or missing, "\n\n"]
        done = end
    return "".join([*pieces, text[done:]])


def figures(text: str, results: Path) -> dict[str, str]:
    """The plots that the marked parts of a README show: file name to SVG."""
    plots: dict[str, str] = {}
    draw = _figures(results)
    for home, name, scale, _, _ in _marked(text, results):
        if name in draw:
            plots |= draw[name](_load(home, scale))
    return plots


def _parts(results: Path) -> Mapping[str, Callable[[Results], str]]:
    paper = results.absolute().parent.name
    if paper == EVERYTHING:
        return everything.PARTS
    return import_module(PAPERS[paper]).PARTS if paper in PAPERS else {"provenance": provenance}


def _figures(results: Path) -> Mapping[str, Callable[[Results], Mapping[str, str]]]:
    paper = PAPERS.get(results.absolute().parent.name)
    return getattr(import_module(paper), "FIGURES", {}) if paper else {}


def _marked(text: str, results: Path) -> Iterator[tuple[Path, str, str, int, int]]:
    """Folder of the results, name and scale of every marked part, and where its content starts and ends."""
    for mark in _MARK.finditer(text):
        paper, name, scale = mark.groups()
        home = results / paper / "results" if paper else results
        parts = _parts(home)
        line = text.count("\n", 0, mark.start()) + 1
        where = f"line {line}" if paper else f"{results.parent / 'README.md'}:{line}"
        end = text.find(_END, mark.end())
        if paper and paper not in (*PAPERS, EVERYTHING):
            near = difflib.get_close_matches(paper, PAPERS, n=1, cutoff=0.0)[0]
            raise ValueError(f"{where}: unknown paper {paper!r}, the nearest is {near!r}")
        if name not in parts:
            near = difflib.get_close_matches(name, parts, n=1, cutoff=0.0)[0]
            raise ValueError(f"{where}: unknown part {name!r}, the nearest is {near!r}")
        if end < 0 or _MARK.search(text, mark.end(), end):
            raise ValueError(f"{where}: the part {name!r} has no {_END}")
        yield home, name, scale or "small", mark.end(), end


def _load(results: Path, scale: str) -> Results:
    if results.parent.name == EVERYTHING:
        homes = sorted(results.parent.parent.glob("*/results"))
        papers = {home.parent.name: _load(home, scale) for home in homes}
        return {f"{paper}/{name}": row for paper, rows in papers.items() for name, row in rows.items()}
    rows = {}
    for path in results.glob(f"*.{scale}.json"):
        try:
            rows[path.name.removesuffix(f".{scale}.json")] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path}: not a results file: {error}") from None
    return dict(sorted(rows.items(), key=lambda item: (_natural(item[1]["recipe"]["title"]), item[0])))


def _natural(title: str) -> list[tuple[int, str]]:
    """A key that sorts L=8 before L=10."""
    return [(int(number or 0), word) for number, word in re.findall(r"(\d+)|(\D+)", title)]
