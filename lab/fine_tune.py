"""Results of fine-tuned classifiers of sentences: the figures of every seed on every test set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.provenance import origin
from lab.recipes import FineTuneRecipe
from treeformers.metrics.statistics import summarise


def collect(
    recipe: FineTuneRecipe, models: Sequence[Path], fits: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Score fine-tuned models of one recipe.

    Returns:
        What is written to the results file. A seed has accuracy, macro-averaged precision and recall and
        their harmonic mean on every test set, as "CORPUS_f1" and so on; "validation_f1"; and, by test set and
        group of it, such as the depth, the accuracy in `by_group`.
    """
    from transformers import AutoTokenizer

    from lab.fine_tuning import classes_of, figures, judge, read_sentences, read_tests
    from treeformers.metrics import accuracy
    from treeformers.models.treebert import TreeBertForSequenceClassification

    held_out, tests = read_sentences(recipe.data, "validation"), read_tests(recipe.data)
    seeds = []
    for folder, fit in zip(models, fits, strict=True):
        model = TreeBertForSequenceClassification.from_pretrained(folder, use_safetensors=True).eval()
        tokenizer = AutoTokenizer.from_pretrained(folder)
        classes = classes_of(model)
        seed: dict[str, Any] = {**fit, "by_group": {}}
        found = judge(model, tokenizer, [one.words for one in held_out], recipe.data.max_length)
        seed["validation_f1"] = figures(found, held_out, classes)["f1"]
        for name, part in tests.items():
            found = judge(model, tokenizer, [one.words for one in part], recipe.data.max_length)
            seed |= {f"{name}_{key}": value for key, value in figures(found, part, classes).items()}
            answers = [classes[number] for number in found.argmax(-1).tolist()]
            groups: dict[str, list[int]] = {}
            for row, one in enumerate(part):
                groups.setdefault(one.group, []).append(row)
            if set(groups) != {""}:
                seed["by_group"][name] = {
                    group: accuracy([part[row].label for row in rows], [answers[row] for row in rows])
                    for group, rows in sorted(groups.items())
                }
        seeds.append(seed)
    return {
        **origin(recipe),
        "data": {
            "train": len(read_sentences(recipe.data, "train")),
            "validation": len(held_out),
            "tests": {name: dict(Counter(one.label for one in part)) for name, part in tests.items()},
        },
        "seeds": seeds,
        "summary": summarise(seeds),
    }
