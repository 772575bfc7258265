"""Training of classifiers of sentences and of pairs over the tree encoders."""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from treeformers.metrics import accuracy, mean_squared_error, pearson, spearman
from treeformers.models.accumulation import AccumulationConfig
from treeformers.recipes import ClassifyRecipe, Examples, SimilarityRecipe
from treeformers.tasks.classify.examples import (
    Example,
    build_encoder,
    check_model,
    classes_of,
    phrase_labels,
    read_examples,
)
from treeformers.tasks.classify.predictor import collate, longest_input, predict
from treeformers.tasks.inputs import TreeReader
from treeformers.training.batches import Features
from treeformers.training.fit import Fit
from treeformers.training.run import Run

logger = logging.getLogger(__name__)

IGNORED = -100
_NAMED = 10  # examples in a warning


def train_classifier(
    recipe: ClassifyRecipe | SimilarityRecipe,
    out: str | Path,
    seed: int | None = None,
    resume: bool = False,
    progress: bool = True,
) -> Fit:
    """Train a classifier and save it; the weights of the best validation figure are kept.

    That figure is the accuracy, or Pearson's r of scores. The folder gets `config.json`,
    `model.safetensors`, `reader.json`, the vocabulary, `recipe.json` and `history.json`; while training goes
    on it holds `checkpoints` to resume from.

    Args:
        recipe: what to train on and how.
        out: folder of the model.
        seed: the first of `recipe.train.seeds` by default.
        resume: go on with an unfinished run there.
        progress: show a progress bar.

    Raises:
        ValueError: a folder that holds the run of another recipe, or a corpus without such examples.
        OSError: a corpus that cannot be read or a folder that cannot be written.
    """
    check_model(recipe)
    run = Run(out, recipe, seed, resume, progress)
    pairs = isinstance(recipe, SimilarityRecipe)
    if pairs and recipe.data.phrases:
        raise ValueError("data.phrases: labels of phrases are not read of pairs, expected false")
    examples = read_examples(recipe.data, "train", pairs)
    kept = _short_enough(examples, recipe)
    held_out = read_examples(recipe.data, "validation", pairs)
    scores = recipe.model.get("task") == "relatedness"
    classes = [] if scores else classes_of(kept)
    unseen = Counter(one.label for one in held_out if not scores and one.label not in classes)
    if unseen:
        names = ", ".join(f"{name!r} ({count})" for name, count in unseen.items())
        logger.warning("classes that no training example has count as errors: %s", names)
    model, reader = build_encoder(recipe, [tree for one in kept for tree in one.trees], classes, run.seed)
    _check_lengths(held_out, longest_input(model), recipe.data)
    features = _features(kept, reader, classes, recipe.data)
    collator = _Collator(reader)
    return run.fit(
        model,
        reader,
        features,
        [],
        collator,
        lengths=[sum(map(len, one.trees)) for one in kept],
        evaluate=scorer(reader, held_out, classes, recipe.data.coarse),
        metric="pearson" if scores else "accuracy",
        higher_is_better=True,
        find_unused_parameters=True,
    )


def scorer(
    reader: TreeReader, examples: Sequence[Example], classes: Sequence[str], coarse: dict[str, str]
) -> Callable[[Any], dict[str, float]]:
    """A function from a model to its figures on some examples, whose trees are made ready once.

    Args:
        reader: how the model reads trees.
        examples: what is classified.
        classes: names of the classes; none for scores.
        coarse: as of `Examples`.

    Returns:
        A function whose figures are, of classes, `accuracy` and, where an example has a coarse class,
        `coarse_accuracy`, in per cent; of scores `pearson`, `spearman` and `mse`.
    """
    encoded = reader.encode([tree for one in examples for tree in one.trees])

    def score(model: Any) -> dict[str, float]:
        return figures(predict(model, encoded, reader), examples, classes, coarse)

    return score


def figures(
    found: Tensor, examples: Sequence[Example], classes: Sequence[str], coarse: dict[str, str]
) -> dict[str, float]:
    """The figures of `scorer` from what `predict` gave."""
    if not classes:
        gold = [example.score for example in examples]
        guesses, known = found.tolist(), [score for score in gold if score is not None]
        if len(known) < len(gold):
            raise ValueError(f"{len(gold) - len(known)} pairs have no score: expected one each")
        return {
            "pearson": pearson(known, guesses),
            "spearman": spearman(known, guesses),
            "mse": mean_squared_error(known, guesses),
        }
    labels = [example.label for example in examples]
    scores = {"accuracy": accuracy(labels, [classes[number] for number in found.argmax(-1).tolist()])}
    names = sorted({coarse[name] for name in classes if name in coarse})
    rows = [row for row, label in enumerate(labels) if label in coarse]
    if names and rows:
        # A coarse class is as probable as its classes together.
        members = torch.tensor([[float(coarse.get(name) == group) for group in names] for name in classes])
        guesses = [names[number] for number in (found[rows] @ members).argmax(-1).tolist()]
        scores["coarse_accuracy"] = accuracy([coarse[labels[row]] for row in rows], guesses)
    return scores


def _short_enough(examples: Sequence[Example], recipe: ClassifyRecipe | SimilarityRecipe) -> list[Example]:
    most = recipe.data.max_length
    if recipe.model.get("encoder") == "accumulation":
        reads = recipe.model.get("max_position_embeddings", AccumulationConfig.max_position_embeddings)
        most = min(most or reads, reads)
    long = [n for n, one in enumerate(examples, 1) if most and max(map(len, one.trees)) > most]
    if len(long) == len(examples):
        limit = f"{most} words (data.max_length, or what the encoder reads)"
        raise ValueError(f"{recipe.data.corpus}: all examples are of more than {limit}")
    if long:
        named = ", ".join(map(str, long[:_NAMED])) + (", ..." if len(long) > _NAMED else "")
        logger.warning("%d examples of more than %d words are left out: %s", len(long), most, named)
    left_out = set(long)
    return [one for n, one in enumerate(examples, 1) if n not in left_out]


def _check_lengths(held_out: Sequence[Example], longest: int | None, data: Examples) -> None:
    """What is scored is not left out."""
    for number, example in enumerate(held_out, start=1):
        words = max(map(len, example.trees))
        if longest and words > longest:
            raise ValueError(
                f"{data.corpus}: example {number} of the validation part has {words} words, the model reads "
                f"at most {longest}: expected a larger model.max_position_embeddings"
            )


def _features(
    examples: Sequence[Example], reader: TreeReader, classes: Sequence[str], data: Examples
) -> Features:
    encoded = iter(reader.encode([tree for one in examples for tree in one.trees]))
    ids = {name: number for number, name in enumerate(classes)}
    features: Features = []
    for example in examples:
        feature: dict[str, Any] = {"encoded": tuple(next(encoded) for _ in example.trees)}
        feature["label"] = ids.get(example.label) if classes else example.score
        if feature["label"] is None:
            what = "class" if classes else "score"
            raise ValueError(f"{data.corpus}: an example without a {what}, expected one each")
        if data.phrases:
            feature["phrases"] = phrase_labels(example.trees[0], classes, data.classes)
        features.append(feature)
    if data.phrases and all((labels == IGNORED).all() for one in features for labels in one["phrases"]):
        raise ValueError(
            f"{data.corpus}: data.phrases, but no node or word has a class, expected labelled trees"
        )
    return features


class _Collator:
    """Examples to a batch, with rare words unknown by chance; draws come from torch's generator."""

    def __init__(self, reader: TreeReader) -> None:
        self.reader = reader

    def __call__(self, features: Features) -> dict[str, Tensor]:
        chance = random.Random(int(torch.randint(2**62, ())))
        batch = collate(self.reader, [feature["encoded"] for feature in features], chance)
        if "phrases" in features[0]:  # roots are among them
            nodes, leaves = zip(*(feature["phrases"] for feature in features), strict=True)
            batch["node_labels"] = pad_sequence(list(nodes), True, IGNORED)
            batch["leaf_labels"] = pad_sequence(list(leaves), True, IGNORED)
        else:
            batch["labels"] = torch.tensor([feature["label"] for feature in features])
        return batch
