"""What trained models see in one sentence, for the pictures of the papers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab.provenance import origin
from lab.recipes import VisualizeRecipe
from treeformers.recipes import ClassifyRecipe, InduceRecipe, ParseRecipe, Recipe
from treeformers.trees.tree import Tree


def collect(
    recipe: VisualizeRecipe, folders: Mapping[str, Path], rows: Mapping[str, Recipe]
) -> dict[str, Any]:
    """Watch the models of some rows over a sentence.

    Args:
        recipe: the sentence.
        folders: of the models, by row.
        rows: the recipes of the models.

    Returns:
        What is written to the results file. `pictures` has by row the `title` and, of an inducer, `words`, the
        `tree` that is read, and by layer (the lowest, the middle and the top one) `priors` and `attention`,
        T x T each; of a parser the `kind` of its attention and the entries of `inspection.Steps` but the
        probabilities; of a classifier of sentences the `tree`, its `class` and `probability`, and the
        `shares` of `Classifier.attention`.

    Raises:
        ValueError: a row of another task, a sentence without words, or a classifier and no tree.
    """
    text = recipe.data.sentence
    sentence: Tree | str = Tree.from_brackets(text) if text.lstrip().startswith("(") else text
    pictures = {}
    for name, row in rows.items():
        match row:
            case InduceRecipe():
                seen = _induce(row, folders[name], sentence)
            case ParseRecipe():
                seen = _parse(folders[name], sentence)
            case ClassifyRecipe():
                seen = _classify(folders[name], sentence)
            case _:
                raise ValueError(f"data.rows: {name} is of the task {row.task!r}, which has no pictures")
        pictures[name] = {"title": row.title, **seen}
    return {**origin(recipe), "pictures": pictures}


def _induce(row: InduceRecipe, folder: Path, sentence: Tree | str) -> dict[str, Any]:
    from treeformers.tasks.induce.predictor import Inducer

    inducer = Inducer.from_pretrained(folder)
    given = list(sentence.words) if isinstance(sentence, Tree) else sentence
    look = inducer.visualize(given)
    top = len(look.priors) - 1
    layers = sorted({0, top // 2, top})
    (tree,) = inducer.parse([given], decoding=row.decoding)
    return {
        "words": list(look.words),
        "tree": str(tree),
        "priors": {str(layer): look.priors[layer].tolist() for layer in layers},
        "attention": {str(layer): look.attentions[layer].tolist() for layer in layers},
    }


def _parse(folder: Path, sentence: Tree | str) -> dict[str, Any]:
    from treeformers.tasks.parse.attention_analysis import follow
    from treeformers.tasks.parse.predictor import Parser

    parser = Parser.from_pretrained(folder)
    steps = follow(parser, sentence)
    return {
        "kind": parser.models[0].config.attention,
        "words": list(steps.words),
        "actions": list(steps.actions),
        "preferred": list(steps.preferred),
        "attention": steps.attention.tolist(),
        "errors": list(steps.errors),
    }


def _classify(folder: Path, sentence: Tree | str) -> dict[str, Any]:
    from treeformers.tasks.classify.predictor import Classifier

    if not isinstance(sentence, Tree):
        raise ValueError(f"data.sentence is {sentence!r}, expected a tree in brackets for a classifier")
    classifier = Classifier.from_pretrained(folder)
    (found,) = classifier.classify([sentence])
    return {
        "tree": str(sentence),
        "class": found.label,
        "probability": found.probabilities[found.label],
        "shares": classifier.attention(sentence),
    }
