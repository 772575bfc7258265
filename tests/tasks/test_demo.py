"""The demonstration at the smallest size: scores, trees, and a self-contained report."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from treeformers.cli import app
from treeformers.recipes import Recipe
from treeformers.tasks import demo
from treeformers.tasks.demo import RECIPE, Demo, run_demo
from treeformers.tasks.induce.predictor import Inducer

TINY = replace(
    RECIPE,
    data=replace(RECIPE.data, sentences=200, gold_sentences=40),
    train=replace(RECIPE.train, max_steps=3, num_evaluations=2),
)


class Links(HTMLParser):
    """Everything that a page makes a browser fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str | None] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name in ("src", "href", "srcset", "data")]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    return run_demo(tmp_path_factory.mktemp("demo"), TINY)


def test_scores_include_trivial_trees(result: Demo) -> None:
    assert list(result.scores) == ["induced", "random", "left", "balanced", "right", "best binary"]
    assert result.scores["best binary"]["sentence_f1"] > result.scores["right"]["sentence_f1"]
    assert result.signature.startswith("unlabeled-f1|")


def test_pairs_hold_the_trees_of_the_model(result: Demo) -> None:
    assert len(result.pairs) == demo.NUM_TREES
    gold = [gold for _, gold in result.pairs]
    induced = Inducer.from_pretrained(result.model).parse(tree.words for tree in gold)
    assert [tree for tree, _ in result.pairs] == induced


def test_report_is_self_contained(result: Demo) -> None:
    page = result.report.read_text(encoding="utf-8")
    assert not Links(page).found
    assert not re.search(r"@import|url\(", page)
    assert page.count('class="card pair"') == demo.NUM_TREES
    layers = RECIPE.model["num_hidden_layers"]
    assert page.count('class="layer"') == demo.NUM_HEAT_MAPS * layers
    assert "validation ends at" in page
    assert f"{result.scores['induced']['sentence_f1']:.1f}</td>" in page


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def tiny(out: Path, recipe: Recipe = TINY, progress: bool = False) -> Demo:
        return run_demo(out, recipe, progress)

    monkeypatch.setattr(demo, "run_demo", tiny)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)  # no parser of English is installed
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo")])
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("induced:") == result.stdout.count("gold:") == 3
    assert f"report: {tmp_path / 'demo' / 'report.html'}" in result.stdout
    assert re.search(r"│ induced +│ +\d", result.stdout)
    assert "loss" in result.stderr
    assert "loss" not in result.stdout


def test_unwritable_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "file" / "demo")])
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith(f"treeformers: error: {tmp_path / 'file'}")
