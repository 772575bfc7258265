"""A model folder as an engine, whichever kind of model it holds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from tiny_models import save_inducer, save_parser
from treeformers.recipes import InduceRecipe, ParseRecipe
from treeformers.tasks.induce.predictor import Inducer
from treeformers.tasks.load import load_engine, load_model, read_tree_recipe
from treeformers.tasks.parse.predictor import Parser
from treeformers.training.model_folder import model_files

torch.set_num_threads(1)

LINES = ["the dog can't see Ann.", "25 cats"]


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_parser(tmp_path_factory.mktemp("parser"))


@pytest.fixture(scope="module")
def inducer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_inducer(tmp_path_factory.mktemp("inducer"))


def test_a_parser(parser: Path) -> None:
    engine = load_engine(parser, beam=1)
    assert not engine.induces
    sentences = [engine.read(f"{line} \n") for line in LINES]
    assert engine.parse(sentences, 2) == Parser.from_pretrained(parser).parse(LINES, beam=1)
    assert engine.parse(sentences, 2)[0].words == ("the", "dog", "ca", "n't", "see", "Ann", ".")
    assert load_engine(parser, tokenized=True).read(LINES[0]) == LINES[0].split()
    assert not engine.read(" \n")


def test_an_inducer(inducer: Path) -> None:
    engine = load_engine(inducer, layer=0)
    assert engine.induces
    sentences = [engine.read(line) for line in LINES]
    assert engine.parse(sentences, 2) == Inducer.from_pretrained(inducer).parse(LINES, layer=0)


def test_several_seeds_of_a_parser(parser: Path, tmp_path: Path) -> None:
    for seed in (1, 2):
        save_parser(tmp_path / f"seed-{seed}", seed)
    engine = load_engine(tmp_path)
    assert engine.parse(LINES, 2) == Parser.from_pretrained(tmp_path).parse(LINES)
    names = [name for name, _ in model_files(tmp_path)]
    assert {name.split("/")[0] for name in names} == {"seed-1", "seed-2"}
    assert {name.removeprefix("seed-1/") for name in names if name.startswith("seed-1/")} == {
        name for name, _ in model_files(parser)
    }


def test_options_of_the_other_kind_of_model(parser: Path, inducer: Path) -> None:
    with pytest.raises(ValueError, match="--layer is for models that induce trees"):
        load_engine(parser, layer=1)
    with pytest.raises(ValueError, match="--beam and --tokenized are for parsers"):
        load_engine(inducer, beam=2)


def test_what_gives_no_trees_is_found_when_it_is_loaded(inducer: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="layer 3 is not a layer: expected -3 to 2"):
        load_engine(inducer, layer=3)
    with pytest.raises(ValueError, match="no links to read trees from"):
        load_engine(save_inducer(tmp_path, prior_position="none"))
    with pytest.raises(FileNotFoundError, match="no such file; expected a folder of `treeformers train`"):
        load_engine(tmp_path / "none")


def test_the_recipe_says_which_kind_of_model_it_is(parser: Path, inducer: Path, tmp_path: Path) -> None:
    assert isinstance(read_tree_recipe(parser), ParseRecipe)
    assert isinstance(load_model(str(parser)), Parser)
    assert isinstance(read_tree_recipe(inducer), InduceRecipe)
    assert isinstance(load_model(inducer), Inducer)
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "recipe.json").write_text('{"task": "translate"}')
    for read in (read_tree_recipe, load_model, load_engine):
        with pytest.raises(ValueError, match="a model of the task 'translate', expected 'parse' or 'induce'"):
            read(tmp_path)


def test_files_of_a_model_are_enough_to_load_it(parser: Path, inducer: Path, tmp_path: Path) -> None:
    for folder in (parser, inducer):
        home = tmp_path / folder.name
        home.mkdir()
        for name, path in model_files(folder):
            shutil.copy(path, home / name)
        assert load_engine(home).parse([["a", "b", "c"]], 1) == load_engine(folder).parse(
            [["a", "b", "c"]], 1
        )
