"""Training on raw text: a Tree Transformer as a masked language model."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerBase, set_seed

from treeformers.data import corpora, text
from treeformers.data.examples import Labelled
from treeformers.data.packing import PackedCollator, pack
from treeformers.data.splits import check_part, sample_part
from treeformers.models.treebert import TreeBertConfig, TreeBertForMaskedLM
from treeformers.recipes import Data, InduceRecipe
from treeformers.training.configuration import configure, wrap_config_errors
from treeformers.training.fit import Fit
from treeformers.training.run import Run
from treeformers.trees.punctuation import is_word
from treeformers.trees.tree import Tree

GRAMMAR_SIZES = {"train": 10_000, "test": 500}
"""Sentences of the embedded grammar that are text, and those that are gold."""

logger = logging.getLogger(__name__)


def train_inducer(
    recipe: InduceRecipe,
    out: str | Path,
    seed: int | None = None,
    resume: bool = False,
    progress: bool = True,
) -> Fit:
    """Train a Tree Transformer as a masked language model (Wang et al. 2019) and save it.

    The folder gets `config.json`, `model.safetensors`, the tokenizer, `recipe.json` and
    `history.json`; while training goes on it holds `checkpoints` to resume from.

    Args:
        recipe: what to train on and how.
        out: folder of the model.
        seed: the first of `recipe.train.seeds` by default.
        resume: go on with an unfinished run there.
        progress: show a progress bar.

    Raises:
        ValueError: a folder that holds the run of another recipe, a text with too few sentences, settings of
            the model that are not taken, or a layer to read trees from that it does not have.
        OSError: text that cannot be read or a folder that cannot be written.
    """
    _check_decoding(recipe)
    run = Run(out, recipe, seed, resume, progress)
    lines = read_text(recipe.data)
    held_out = random.Random(0).sample(range(len(lines)), min(recipe.data.validation_size, len(lines) // 10))
    if not held_out:
        raise ValueError(f"{recipe.data.text}: {len(lines)} sentences, expected at least 10 to train on")
    tokenizer = text.train_tokenizer(
        lines,
        kind=recipe.data.tokenizer,
        vocab_size=recipe.data.vocab_size,
        min_frequency=recipe.data.min_frequency,
        end_token=recipe.data.end_token,
        lowercase=not recipe.data.normalize,  # which leaves N apart from n
    )
    if len(tokenizer) == len(tokenizer.all_special_tokens):
        raise ValueError(
            f"{recipe.data.text}: no word comes {recipe.data.min_frequency} times (data.min_frequency); "
            "expected more text, with spaces between words"
        )
    if 2 * sum(" " not in line for line in lines) > len(lines):
        logger.warning(
            "warning: most lines of %s are one word: expected spaces between words", recipe.data.text
        )
    packed = recipe.data.packing
    features = list(text.encode(tokenizer, lines, None if packed else recipe.data.max_length))
    kept_back = set(held_out)
    train = [feature for number, feature in enumerate(features) if number not in kept_back]
    validation = [features[number] for number in sorted(held_out)]
    if packed:
        train, validation = (list(pack(part, recipe.data.max_length)) for part in (train, validation))
    collator = PackedCollator if packed else text.MaskedWordCollator
    model = build_model(recipe, tokenizer, run.seed)
    with_word_ids = model.config.link_level == "word"
    return run.fit(
        model,
        tokenizer,
        train,
        validation,
        collator(tokenizer, recipe.data.mask_probability, with_word_ids),
        collator(tokenizer, recipe.data.mask_probability, with_word_ids, seed=0),
    )


def build_model(recipe: InduceRecipe, tokenizer: PreTrainedTokenizerBase, seed: int) -> TreeBertForMaskedLM:
    """A fresh model of the recipe's sizes.

    Raises:
        ValueError: a key that `TreeBertConfig` does not have, or a value it does not take.
    """
    config = _configure(recipe, vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id)
    set_seed(seed)
    with wrap_config_errors():
        return TreeBertForMaskedLM(config)


def _configure(recipe: InduceRecipe, **of_tokenizer: Any) -> TreeBertConfig:
    return configure(TreeBertConfig, recipe.model, ("vocab_size", "pad_token_id"), **of_tokenizer)


def _check_decoding(recipe: InduceRecipe) -> None:
    """Refuse a layer to read trees from that the model will not have; a plain Transformer has no trees."""
    config, layer = _configure(recipe), recipe.decoding.layer
    layers = config.num_hidden_layers
    if config.prior != "none" and not -layers <= layer < layers:
        raise ValueError(
            f"decoding.layer is {layer}, expected {-layers} to {layers - 1}: "
            f"model.num_hidden_layers is {layers}"
        )


def read_text(data: Data) -> list[str]:
    """The sentences to train on, one string each, words apart by spaces.

    As long as `data.splits` is the default, a corpus may be without a validation or test part.

    Raises:
        ValueError: an unknown part of the corpus, or no sentences.
    """
    if data.text == "grammar":
        sampled = sample_part("train", data.sentences, GRAMMAR_SIZES)
        lines = [" ".join(sample.words) for sample in sampled]
    else:
        lines = []
        for example in _parts(data.text, data.splits, data.data_dir, "data.splits", needed="train"):
            if isinstance(example, Labelled):
                example = example.text
            if isinstance(example, str):
                words: Sequence[str] = example.split()
            elif data.normalize and isinstance(example, Tree):
                words = () if (spoken := _spoken(example)) is None else spoken.words
            else:
                words = example.words
            if data.normalize:
                words = [text.normalize_word(word) for word in words]
            if words:
                lines.append(" ".join(words))
        lines = lines[: data.sentences or None]
    if not lines:
        raise ValueError(f"{data.text}: no sentences in {', '.join(data.splits)}")
    return lines


def read_gold(data: Data, key: str = "data.gold_splits") -> list[Tree]:
    """The trees to score against, without punctuation.

    Currency signs stay, as raw text has them; scores leave them out. As long as `data.gold_splits` is the
    default, parts that the treebank does not have are left out.

    Args:
        data: what to read.
        key: what named the parts, for errors.

    Raises:
        ValueError: no gold named, an unknown part of it, or no trees.
    """
    if not data.gold:
        raise ValueError("the recipe names no trees to score against: expected data.gold")
    if data.gold == "grammar":
        for split in data.gold_splits:
            check_part(split, data.gold)
        trees = [sample.tree for sample in sample_part("test", data.gold_sentences, GRAMMAR_SIZES)]
    else:
        trees = list(_parts(data.gold, data.gold_splits, data.data_dir, key))
        if not isinstance(next(iter(trees), None), Tree):
            raise ValueError(f"{data.gold}: no constituency trees in {', '.join(data.gold_splits)}")
    spoken = (_spoken(tree) for tree in trees)
    gold = [tree for tree in spoken if tree is not None][: data.gold_sentences or None]
    if not gold:
        raise ValueError(f"{data.gold}: no trees in {', '.join(data.gold_splits)}")
    return gold


def _spoken(tree: Tree) -> Tree | None:
    """The tree over what is read aloud: words and the signs $ and #."""
    return tree.filter_leaves(lambda leaf: is_word(leaf) or leaf.label in ("$", "#"))


def _parts(name: str, splits: Sequence[str], root: str, key: str, needed: str = "") -> Iterator[Any]:
    parts = corpora.load(name, root=root or None)
    if splits == Data.splits:
        splits = [split for split in splits if split in parts or split == needed]
    elif set(parts) == {"train"}:  # a single file
        for split in splits:
            check_part(split, f"{key}: {name}")
        splits = ("train",)
    for split in splits:
        if split not in parts:
            raise ValueError(f"{key}: {name} has no part {split!r}: expected {', '.join(parts)}")
        yield from parts[split]
