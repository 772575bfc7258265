"""Recipes: experiments as data."""

from treeformers.recipes.recipe import (
    SCALES,
    ClassifyRecipe,
    InduceRecipe,
    JudgeRecipe,
    ParseRecipe,
    ProbeRecipe,
    Recipe,
    Scale,
    SimilarityRecipe,
    TranslateRecipe,
)
from treeformers.recipes.sections import (
    Beam,
    Data,
    Examples,
    Judgements,
    ParallelText,
    Probes,
    Readout,
    Train,
    Treebanks,
)

__all__ = [
    "SCALES",
    "Beam",
    "ClassifyRecipe",
    "Data",
    "Examples",
    "InduceRecipe",
    "JudgeRecipe",
    "Judgements",
    "ParallelText",
    "ParseRecipe",
    "ProbeRecipe",
    "Probes",
    "Readout",
    "Recipe",
    "Scale",
    "SimilarityRecipe",
    "Train",
    "TranslateRecipe",
    "Treebanks",
]
