"""Recipes: experiments as data."""

from treeformers.recipes.recipe import (
    SCALES,
    ClassifyRecipe,
    InduceRecipe,
    ParseRecipe,
    Recipe,
    Scale,
    SimilarityRecipe,
    TranslateRecipe,
)
from treeformers.recipes.sections import Beam, Data, Examples, ParallelText, Readout, Train, Treebanks

__all__ = [
    "SCALES",
    "Beam",
    "ClassifyRecipe",
    "Data",
    "Examples",
    "InduceRecipe",
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
