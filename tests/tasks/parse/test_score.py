"""Scores of parsers over gold trees."""

from __future__ import annotations

from pathlib import Path

from tiny_models import TREES, parser_folder
from treeformers.tasks.parse.predictor import Parser
from treeformers.tasks.parse.score import parse_gold, with_gold_tags


def test_parses_with_gold_tags_are_those_that_are_scored(tmp_path: Path) -> None:
    parser = Parser.from_pretrained(parser_folder(tmp_path / "parser"))
    parses = parser.parse([tree.words for tree in TREES])
    assert [tree.tags for tree in parses] != [tree.tags for tree in TREES]
    assert with_gold_tags(parses, TREES) == parse_gold(parser, TREES)
