"""Recipes: training and evaluation as data, for the five tasks."""

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
from treeformers.recipes.sections import (
    Beam,
    Data,
    Decoding,
    Examples,
    ParallelText,
    Regularizer,
    Train,
    Treebanks,
    TreeFiles,
)

__all__ = [
    "SCALES",
    "Beam",
    "ClassifyRecipe",
    "Data",
    "Decoding",
    "Examples",
    "InduceRecipe",
    "ParallelText",
    "ParseRecipe",
    "Recipe",
    "Regularizer",
    "Scale",
    "SimilarityRecipe",
    "Train",
    "TranslateRecipe",
    "TreeFiles",
    "Treebanks",
]
