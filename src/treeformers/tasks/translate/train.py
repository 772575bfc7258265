"""Training of translation models that see the tree of the source (Nguyen et al. 2020, Section 5.1)."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import set_seed

from treeformers.data import corpora
from treeformers.data.examples import kind_of
from treeformers.data.splits import choose_part, sample_part, spread
from treeformers.models.accumulation import AccumulationConfig
from treeformers.models.translation import AccumulationForTranslation
from treeformers.recipes import ParallelText, TranslateRecipe
from treeformers.tasks.translate.predictor import UNKNOWN, SourceReader, train_units
from treeformers.tasks.tree_sources import find_trees
from treeformers.training.batches import Features
from treeformers.training.configuration import configure, wrap_config_errors
from treeformers.training.fit import Fit
from treeformers.training.run import Run
from treeformers.trees.batch import split_subwords
from treeformers.trees.escapes import unescape_word
from treeformers.trees.tree import Tree

logger = logging.getLogger(__name__)

IGNORED = -100


class ParallelPair(NamedTuple):
    """A sentence and its translation.

    Attributes:
        tree: of the source.
        target: the translation.
    """

    tree: Tree
    target: str


def train_translator(
    recipe: TranslateRecipe,
    out: str | Path,
    seed: int | None = None,
    resume: bool = False,
    progress: bool = True,
) -> Fit:
    """Train a translation model and save it; the weights of the smallest validation loss are kept.

    The folder gets `config.json`, `model.safetensors`, `reader.json`, the tokenizer, `recipe.json` and
    `history.json`; while training goes on it holds `checkpoints` to resume from.

    Args:
        recipe: what to train on and how.
        out: folder of the model.
        seed: the first of `recipe.train.seeds` by default.
        resume: go on with an unfinished run there.
        progress: show a progress bar.

    Raises:
        ValueError: a folder that holds the run of another recipe, or a corpus without such pairs.
        OSError: a corpus that cannot be read or a folder that cannot be written.
    """
    _configure(recipe)
    run = Run(out, recipe, seed, resume, progress)
    pairs = read_pairs(recipe.data, "train")
    held_out = read_pairs(recipe.data, "validation")
    model, reader = build_translator(recipe, pairs, run.seed)
    features = _features(pairs, reader)
    reads = model.config.max_position_embeddings
    most = min(recipe.data.max_length, reads)
    kept = [one for one in features if _longest(one) <= most]
    if len(kept) < len(features):
        logger.warning("%d pairs of more than %d units are left out", len(features) - len(kept), most)
    if not kept:
        raise ValueError(f"{recipe.data.corpus}: all pairs are of more than {most} units, none is left")
    validation = [one for one in _features(held_out, reader) if _longest(one) <= reads]
    if len(validation) < len(held_out):
        missing = len(held_out) - len(validation)
        logger.warning("%d validation pairs of more than %d units are not in the loss", missing, reads)
    collator = _Collator(reader)
    return run.fit(
        model,
        reader,
        kept,
        validation,
        collator,
        lengths=[(len(one["input_ids"]), len(one["labels"])) for one in kept],
        validation_lengths=[(len(one["input_ids"]), len(one["labels"])) for one in validation],
        find_unused_parameters=True,
    )


def build_translator(
    recipe: TranslateRecipe, pairs: Sequence[ParallelPair], seed: int
) -> tuple[AccumulationForTranslation, SourceReader]:
    """A fresh model of the recipe's sizes, with the units and labels of the training pairs.

    Raises:
        ValueError: a key that `AccumulationConfig` does not have, or a value it does not take.
    """
    data = recipe.data
    sources = [" ".join(map(unescape_word, pair.tree.words)) for pair in pairs]
    lines = [*sources, *(pair.target for pair in pairs)]
    units = train_units((line.lower() if data.lowercase else line for line in lines), data.vocab_size)
    labels = {label for pair in pairs for label in _labels(pair.tree)}
    reader = SourceReader(units, (UNKNOWN, *sorted(labels)), data.lowercase)
    config = _configure(
        recipe,
        vocab_size=len(units),
        node_vocab_size=len(reader.labels),
        pad_token_id=units.pad_token_id,
        bos_token_id=units.bos_token_id,
        eos_token_id=units.eos_token_id,
    )
    set_seed(seed)
    with wrap_config_errors():
        return AccumulationForTranslation(config), reader


def _configure(recipe: TranslateRecipe, **sizes: int | None) -> AccumulationConfig:
    derived = {"vocab_size", "target_vocab_size", "node_vocab_size", "is_encoder_decoder"}
    derived |= {f"{mark}_token_id" for mark in ("pad", "bos", "eos", "decoder_start")}
    return configure(AccumulationConfig, recipe.model, derived, **sizes)


def read_pairs(data: ParallelText, split: str) -> list[ParallelPair]:
    """A part of a corpus, with the trees of the source.

    Of a corpus of one part, such as a file, every tenth pair validates and does not train, and all of them
    are its test part. "grammar" is sampled from the embedded grammar; its translation is the sentence with
    the parts of every node in reverse order.

    Raises:
        ValueError: an unknown part or language, one without pairs, or no tree for a text.
        OSError: a corpus that cannot be read.
    """
    limit = data.sentences if split == "train" else data.scored_sentences
    if data.corpus == "grammar":
        return [ParallelPair(one.tree, " ".join(_mirrored(one.tree))) for one in sample_part(split, limit)]
    parts = corpora.load(data.corpus, root=data.data_dir or None)
    for name, pairs in parts.items():
        if not pairs:
            raise ValueError(f"{data.corpus}: no sentences with translations in its {name} part")
        if not isinstance(pairs[0], dict):
            raise ValueError(f"{data.corpus} holds {kind_of(pairs[0])}, expected sentences with translations")
        for language in (data.source, data.target):
            if language not in pairs[0]:
                raise ValueError(f"{data.corpus} has no {language!r}: expected {', '.join(pairs[0])}")
    if Path(data.trees).is_file():  # it has the trees of all parts
        trees = iter(_trees([pair[data.source] for pairs in parts.values() for pair in pairs], data))
        parts = {name: [pair | {data.source: next(trees)} for pair in pairs] for name, pairs in parts.items()}
        data = dataclasses.replace(data, trees="given")
    found = spread(choose_part(parts, split, data.corpus), limit)
    if not found:
        raise ValueError(f"{data.corpus}: no sentences with translations in its {split} part")
    sources, targets = ([one[language] for one in found] for language in (data.source, data.target))
    if not all(isinstance(target, str) for target in targets):
        raise ValueError(f"{data.corpus}: trees in {data.target!r}, expected sentences to translate into")
    return list(map(ParallelPair, _trees(sources, data), targets))


def _trees(sources: Sequence[Tree | str], data: ParallelText) -> list[Tree]:
    if data.trees != "given":
        words = [source.words if isinstance(source, Tree) else source for source in sources]
        return find_trees(words, data.trees)
    trees = [source for source in sources if isinstance(source, Tree)]
    if len(trees) < len(sources):
        raise ValueError(
            f"{data.corpus} has no trees: expected data.trees, the folder of a parser, a file or a shape"
        )
    return trees


def _mirrored(tree: Tree) -> list[str]:
    def words(node: Tree, below: list[list[str]]) -> list[str]:
        return [node.word] if node.word is not None else [word for part in reversed(below) for word in part]

    return tree.fold(words)


def _labels(tree: Tree) -> set[str]:
    """Labels of nodes, and the tags that words of several units would have as nodes."""
    return {span.label for span in split_subwords(tree, [("", "")] * len(tree)).spans()}


def _features(pairs: Sequence[ParallelPair], reader: SourceReader) -> Features:
    sources = reader.encode([pair.tree for pair in pairs])
    targets = reader.encode_target([pair.target for pair in pairs])
    return [source | {"labels": target} for source, target in zip(sources, targets, strict=True)]


def _longest(feature: dict[str, Any]) -> int:
    return max(len(feature["input_ids"]), len(feature["labels"]))


class _Collator:
    """Pairs to a batch."""

    def __init__(self, reader: SourceReader) -> None:
        self.reader = reader

    def __call__(self, features: Features) -> dict[str, Tensor]:
        batch = self.reader.collate(features)
        rows = [torch.tensor(feature["labels"]) for feature in features]
        batch["labels"] = pad_sequence(rows, batch_first=True, padding_value=IGNORED)
        return batch
