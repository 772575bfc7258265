"""The card of a model: what a person who is given its folder wants to know."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from treeformers.data.catalogue import CORPORA
from treeformers.drawing.markdown import markdown_table
from treeformers.recipes import Recipe, TranslateRecipe
from treeformers.trees.files import atomic_write

__all__ = ["CARD", "model_card", "write_card"]

CARD = "README.md"
"""The file of the card in a model folder."""

_TASKS: Mapping[str, tuple[str, str, str]] = {
    "induce": (
        "A Tree Transformer, trained on raw text as a masked language model; its links give binary trees "
        "without labels.",
        "from treeformers import Inducer\n\n"
        'Inducer.from_pretrained("{folder}").parse(["the ferry left before the fog came in"])',
        "Nobody told the model what a constituent is: its trees are what its attention groups, and agree "
        "with a treebank only as far as the figures say.",
    ),
    "parse": (
        "A parser: text to labelled constituency trees.",
        "from treeformers import Parser\n\n"
        'Parser.from_pretrained("{folder}").parse(["The ferry left before the fog came in."])',
        "A parser knows the kind of text that it was trained on; on other genres expect lower figures.",
    ),
    "classify": (
        "A classifier of sentences that reads their trees.",
        "from treeformers import Classifier\n\n"
        'Classifier.from_pretrained("{folder}").classify(["a film that stays with you"], trees="{trees}")',
        "Its classes are those of its corpus. Give it trees of the kind that it was trained on.",
    ),
    "similarity": (
        "A model that compares two sentences by their trees.",
        'from treeformers import Similarity\n\nSimilarity.from_pretrained("{folder}")',
        "Its classes or scores are those of its corpus. Give it trees of the kind that it was trained on.",
    ),
    "translate": (
        "A translation model that reads the trees of the source.",
        "from treeformers import Translator\n\n"
        'Translator.from_pretrained("{folder}").translate(["two men wait for a bus"], trees="{trees}")',
        "It knows the kind of text that it was trained on, and no other.",
    ),
}
"""By task: what the model is, how it is used, and its limits."""
_ELSEWHERE = "a file or model from elsewhere, see there"
_HIDDEN = (
    "seed",
    "steps",
    "wall_seconds",
    "processor_seconds",
    "preparing_seconds",
    "scoring_seconds",
    "parameters",
    "best",
    "loss",
    "sentences",
    "peak_memory_mb",
)


def model_card(
    recipe: Recipe, seed: Mapping[str, Any], result: Mapping[str, Any] | None = None, folder: str = "MODEL"
) -> str:
    """The card as Markdown, with the head that model hubs read.

    Args:
        recipe: what the model was trained by.
        seed: what is known of it: what `train_once` gives, and the figures of a results file where there are
            some.
        result: the results file, for date and environment.
        folder: what to call the model in the example.
    """
    what, use, limits = _TASKS.get(recipe.task, (f"A model of the task {recipe.task}.", "", ""))
    corpora = _corpora(recipe)
    head = ["---", "library_name: treeformers", *_languages(recipe, corpora), "datasets:"]
    head += [*(f"- {name}" for name in corpora), "---"]
    terms = [
        (f"`{name}`", CORPORA[name].what, CORPORA[name].terms)
        if name in CORPORA
        else (f"`{name}`", "a grammar of ours" if name == "grammar" else _ELSEWHERE, "")
        for name in corpora
    ]
    figures = {
        name: value
        for name, value in seed.items()
        if isinstance(value, float) and name not in _HIDDEN and not name.endswith("_per_second")
    }
    if not figures and isinstance(seed.get("best"), float):
        figures = {f"{seed['metric']}, validation": seed["best"]}
    elif not figures and isinstance(seed.get("loss"), float):
        figures = {"validation loss, nats a token": seed["loss"]}
    result = result or {}
    environment = result.get("environment", {})
    made = {
        "scale": recipe.scale,
        "date": result.get("date"),
        "seed": seed["seed"],
        "steps": seed["steps"],
        "parameters": seed["parameters"],
        "commit": seed.get("commit"),
        "device": environment.get("device"),
        "torch": environment.get("torch"),
        "transformers": environment.get("transformers"),
    }
    parts = [
        "\n".join(head),
        f"# {recipe.title or 'A model'}",
        what,
        use and f"```python\n{use.format(folder=folder, trees=_trees(recipe))}\n```",
        "## Data and terms",
        markdown_table(("corpus", "what it is", "terms"), terms, numbers=False),
        "Whoever passes this model on should keep to the terms of the data.",
        "## Figures",
        markdown_table(
            ("figure", "value"),
            [(f"`{name}`", f"{value:.4g}") for name, value in figures.items() if math.isfinite(value)],
        )
        or "None were measured.",
        _measured_on(recipe),
        f"Signature: `{seed['signature']}`" if seed.get("signature") else "",
        limits and f"## Limits\n\n{limits}",
        "## How it was made",
        markdown_table(
            ("", ""), [(name, str(value)) for name, value in made.items() if value is not None], numbers=False
        ),
        "The recipe is `recipe.json`; `sha256sum --check SHA256SUMS` tells whether the files are whole.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def write_card(
    folder: Path, recipe: Recipe, seed: Mapping[str, Any], result: Mapping[str, Any] | None = None
) -> None:
    """Write the card into a model folder.

    Raises:
        OSError: the folder cannot be written.
    """
    with atomic_write(folder / CARD) as file:
        file.write(model_card(recipe, seed, result, folder.name))


def _languages(recipe: Recipe, corpora: Iterable[str]) -> list[str]:
    """Lines of the head: nothing is said of the language of files of the user's own."""
    if isinstance(recipe, TranslateRecipe):
        return ["language:", f"- {recipe.data.source}", f"- {recipe.data.target}"]
    known = all(name in (*CORPORA, "grammar", _vectors(recipe)) for name in corpora)
    return ["language: en"] if known else []


def _trees(recipe: Recipe) -> str:
    """What the trees of the example are made by: as in training, where that is a shape."""
    trees = getattr(recipe.data, "trees", "right")
    return trees if trees in ("left", "balanced", "random") else "right"


def _measured_on(recipe: Recipe) -> str:
    """Of which data the figures are."""
    data = recipe.data
    names = [getattr(data, name, ()) for name in ("gold", "test", "tests", "corpus", "train")]
    found = next((name for name in names if name), ())
    corpora = (found,) if isinstance(found, str) else found
    parts = ", ".join(f"`{name}`" for name in corpora)
    return f"Measured on the validation and test parts of {parts}."


def _corpora(recipe: Recipe) -> list[str]:
    """What was trained on, in order, each once."""
    data = recipe.data
    named: Iterable[str] = getattr(data, "train", ()) or (getattr(data, "corpus", "") or data.text,)
    vectors = _vectors(recipe)
    return list(dict.fromkeys([*named, *([vectors] if vectors else [])]))


def _vectors(recipe: Recipe) -> str:
    """The pretrained encoder or file that words are read through, if any."""
    return str(getattr(recipe.data, "vectors", "") or recipe.model.get("pretrained", ""))
