"""The English part of the demonstration with models of the smallest sizes."""

from __future__ import annotations

import importlib
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tiny_models import save_parser
from treeformers.cli import app
from treeformers.data.open_english import load_open_english
from treeformers.recipes import Recipe
from treeformers.tasks import demo, english_demo
from treeformers.tasks.demo import Demo, run_demo
from treeformers.tasks.english_demo import (
    NUM_TREES,
    READABLE,
    RECIPE,
    EnglishDemo,
    ParsedEnglish,
    induce_beside,
    parse_open_english,
)
from treeformers.tasks.induce.predictor import Inducer
from treeformers.tasks.parse.predictor import Parser

TINY = replace(
    RECIPE,
    model={**RECIPE.model, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1},
    train=replace(RECIPE.train, max_steps=2, num_evaluations=1),
)
TINY_GRAMMAR = replace(
    demo.RECIPE,
    data=replace(demo.RECIPE.data, sentences=100, gold_sentences=20),
    train=replace(demo.RECIPE.train, max_steps=2, num_evaluations=1),
)


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> ParsedEnglish:
    return parse_open_english(Parser.from_pretrained(save_parser(tmp_path_factory.mktemp("parser"))))


@pytest.fixture(scope="module")
def result(parsed: ParsedEnglish, tmp_path_factory: pytest.TempPathFactory) -> EnglishDemo:
    return induce_beside(parsed, tmp_path_factory.mktemp("demo"), TINY)


def test_the_parser_reads_every_sentence_as_it_stands(parsed: ParsedEnglish) -> None:
    assert parsed.gold == load_open_english()
    assert {name: score.sentences for name, score in parsed.scores.items()} == {"masc": 50, "craft": 50}
    for name, gold in parsed.gold.items():
        assert [tree.words for tree in parsed.trees[name]] == [tree.words for tree in gold]


def test_scores_are_of_the_same_sentences(result: EnglishDemo) -> None:
    assert list(result.scores) == ["parser", "induced", "right", "left", "random"]
    assert {score["sentences"] for score in result.scores.values()} == {100}
    assert {score["signature"] for score in result.scores.values()} == {result.signature}
    assert result.scores["right"]["sentence_f1"] > 2 * result.scores["left"]["sentence_f1"]


def test_gold_trees_as_a_parser_are_right_without_labels(tmp_path: Path, parsed: ParsedEnglish) -> None:
    perfect = replace(parsed, trees=parsed.gold)
    result = induce_beside(perfect, tmp_path, TINY)
    assert result.scores["parser"]["sentence_f1"] == 100
    figures = re.findall(
        r"<figcaption>(parser|induced)</figcaption>(.*?)</figure>", result.report.read_text(), re.DOTALL
    )
    crossed = {name for name, drawing in figures if "branch cross" in drawing}
    assert crossed == {"induced"}


def test_the_inducer_reads_the_words_of_the_sentences(result: EnglishDemo) -> None:
    inducer = Inducer.from_pretrained(result.model)
    assert inducer.normalize
    assert not any(inducer.unknown_words(["the results of the mice"]))
    assert "." not in inducer.tokenizer.get_vocab()


def test_the_report_shows_all_trees_and_scores(result: EnglishDemo, parsed: ParsedEnglish) -> None:
    page = result.report.read_text(encoding="utf-8")
    shown = sum(min(NUM_TREES, sum(len(tree) in READABLE for tree in gold)) for gold in parsed.gold.values())
    names = re.findall(r"<figcaption>(\w+)</figcaption>", page)
    assert names == ["parsed", "gold"] * shown + ["gold", "parser", "induced"] * shown
    for name, score in result.scores.items():
        assert f"<td>{name}</td><td>{score['sentence_f1']:.1f}</td>" in page
    assert "far too few to learn from" in page
    assert not re.search(r"<(img|link|iframe|script src)|@import|url\(", page)


@pytest.fixture
def tiny_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    def english(
        parsed: ParsedEnglish, out: Path, recipe: Recipe = TINY, progress: bool = False
    ) -> EnglishDemo:
        return induce_beside(parsed, out, recipe, progress)

    def grammar(out: Path, recipe: Recipe = TINY_GRAMMAR, progress: bool = False) -> Demo:
        return run_demo(out, recipe, progress)

    monkeypatch.setattr(english_demo, "induce_beside", english)
    monkeypatch.setattr(demo, "run_demo", grammar)


@pytest.mark.usefixtures("tiny_sizes")
def test_command_with_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "installed" / "treeformers_en"
    save_parser(package / "model")
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(package.parent)
    importlib.invalidate_caches()
    out = tmp_path / "demo"
    result = CliRunner().invoke(app, ["demo", "--out", str(out)])
    assert result.exit_code == 0, result.stderr
    printed = result.stdout
    places = [
        printed.index(text)
        for text in ("stove", "masc: F1", "craft: F1", "│ parser", f"{out / 'english.html'}", "induced:\n")
    ]
    assert places == sorted(places)
    assert f"report: {out / 'report.html'}" in printed
    for written in ("english.html", "induced", "report.html", "model"):
        assert (out / written).exists()


@pytest.mark.usefixtures("tiny_sizes")
def test_command_without_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    out = tmp_path / "demo"
    result = CliRunner().invoke(app, ["demo", "--out", str(out)])
    assert result.exit_code == 0, result.stderr
    (line,) = [line for line in result.stderr.splitlines() if "en: the model is not installed" in line]
    assert line.endswith("; the demonstration goes on without it")
    assert (out / "report.html").is_file() and not (out / "english.html").exists()
