"""Recipes: experiments as data."""

from treeformers.recipes.recipe import (
    SCALES,
    ClassifyRecipe,
    InduceRecipe,
    JudgeRecipe,
    ParseRecipe,
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
    "Readout",
    "Recipe",
    "Scale",
    "SimilarityRecipe",
    "Train",
    "TranslateRecipe",
    "Treebanks",
]
