"""Models for the commands, each trained for seconds on the embedded grammar."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import (
    DEPENDENCIES,
    ROOT,
    output,
    with_decoding,
)
from treeformers.recipes import ClassifyRecipe, Examples, SimilarityRecipe
from treeformers.tasks.classify.build import build_model
from treeformers.training.saving import save_model


@pytest.fixture(scope="session")
def model(inducer_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_decoding(inducer_folder, tmp_path_factory.mktemp("models") / "model", method="cky")


@pytest.fixture(scope="session")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first of two parsers, each trained for seconds on the embedded grammar."""
    out = tmp_path_factory.mktemp("parsers") / "parser"
    output("train", ROOT / "experiments" / "ma2017" / "datt-bound.toml", "--scale", "smoke", "--out", out)
    return out / "seed-1"


@pytest.fixture(scope="session")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with models trained for two steps on the embedded grammar, one a task."""
    folder = tmp_path_factory.mktemp("encoders")
    for name, recipe in (
        ("classify", "nguyen2020/sst-tree"),
        ("scores", "ahmed2019/sick-r-dtt"),
        ("pairs", "ahmed2019/msrp-ctt"),
        ("translate", "nguyen2020/multi30k-en-de-tree"),
    ):
        path = ROOT / "experiments" / f"{recipe}.toml"
        few = ("--scale", "smoke", "train.seeds=[1]", "train.max_steps=2", "train.bf16=false")
        output("train", path, *few, "--out", folder / name)
    return folder


@pytest.fixture(scope="session")
def dependency_encoders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same for dependency trees, trained for none."""
    folder = tmp_path_factory.mktemp("dependencies")
    data = Examples(structure="dependencies")
    model = {
        "encoder": "dtt",
        "input_size": 8,
        "hidden_size": 8,
        "num_branches": 2,
    }
    for recipe in (ClassifyRecipe(data=data, model=model), SimilarityRecipe(data=data, model=model)):
        made, reader = build_model(recipe, DEPENDENCIES, ["one", "other"], seed=1)
        save_model(made, reader, folder / recipe.task, {"recipe.json": recipe.to_dict()})
    return folder
