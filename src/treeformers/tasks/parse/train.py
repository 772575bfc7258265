"""Training on a treebank: the parser of Ma et al. (2017)."""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoConfig, AutoModel, set_seed

from treeformers.data import corpora
from treeformers.data.sentences import END, PieceReader, SentenceReader
from treeformers.data.splits import choose_part, sample_part
from treeformers.metrics import parseval
from treeformers.models.parser import IGNORED, ParserConfig, TreeParser
from treeformers.models.words import find_pretrained
from treeformers.recipes import ParseRecipe, Treebanks
from treeformers.tasks.parse.predictor import Parser
from treeformers.training.batches import Features
from treeformers.training.configuration import configure, wrap_config_errors
from treeformers.training.fit import Fit
from treeformers.training.run import Run
from treeformers.trees.actions import attended_positions_of, bottom_up, top_down
from treeformers.trees.tree import Tree

logger = logging.getLogger(__name__)

GRAMMAR_SIZES = {"train": 2000, "validation": 200, "test": 500}
"""Trees of the parts of the embedded grammar."""


def train_parser(
    recipe: ParseRecipe,
    out: str | Path,
    seed: int | None = None,
    resume: bool = False,
    progress: bool = True,
) -> Fit:
    """Train a parser and save it; the weights of the best greedy parseval F1 on validation are kept.

    The folder gets `config.json`, `model.safetensors`, the vocabulary or tokenizer, `recipe.json` and
    `history.json`; while training goes on it holds `checkpoints` to resume from.

    Args:
        recipe: what to train on and how.
        out: folder of the model.
        seed: the first of `recipe.train.seeds` by default.
        resume: go on with an unfinished run there.
        progress: show a progress bar.

    Raises:
        ValueError: a folder that holds the run of another recipe, or a treebank without trees.
        OSError: a treebank that cannot be read or a folder that cannot be written.
    """
    _check_model(recipe)
    run = Run(out, recipe, seed, resume, progress)
    trees, validation = _read_trees(recipe.data)
    kept = [tree for tree in trees if not recipe.data.max_length or len(tree) <= recipe.data.max_length]
    if len(kept) < len(trees):
        longer = len(trees) - len(kept)
        logger.warning("%d sentences of more than %d words are left out", longer, recipe.data.max_length)
    model, reader = build_parser(recipe, kept, run.seed)
    features = [_feature(tree, model.config) for tree in kept]
    collator = _Collator(reader, model.config)
    return run.fit(
        model,
        reader,
        features,
        [],
        collator,
        lengths=reader.lengths([tree.words for tree in kept]),
        evaluate=_scorer(reader, validation),
        metric="f1",
        higher_is_better=True,
    )


def build_parser(
    recipe: ParseRecipe, trees: Sequence[Tree], seed: int
) -> tuple[TreeParser, SentenceReader | PieceReader]:
    """A fresh model of the recipe's sizes, with the vocabularies of a treebank.

    Raises:
        ValueError: no trees or none with a label, a key that `ParserConfig` does not have, or a value it
            does not take.
        FileNotFoundError: no such pretrained encoder.
    """
    if not trees:
        raise ValueError(f"{', '.join(recipe.data.train)}: no trees to train on")
    _check_model(recipe)
    given = dict(recipe.model)
    encoder = given.pop("pretrained", "")
    reader: SentenceReader | PieceReader
    if given.get("encoder") == "pretrained":
        folder = find_pretrained(encoder)
        reader = PieceReader.load(folder)
        settings = AutoConfig.from_pretrained(folder).to_dict()
        left_out = ("_name_or_path", "dtype")  # a place on this machine; here all is float32
        given["pretrained"] = {key: value for key, value in settings.items() if key not in left_out}
    else:
        reader = SentenceReader.from_trees(
            trees, recipe.data.min_frequency, bool(given.get("char_size")), bool(given.get("tag_size"))
        )
        given |= {
            "vocab_size": len(reader.words),
            "char_vocab_size": len(reader.chars),
            "tag_vocab_size": len(reader.tags),
        }
    if given.get("tag_weight"):
        given["tags"] = sorted({tag for tree in trees for tag in tree.tags})
    given["actions"] = _inventory(trees, given.get("linearization", "bottom-up"))
    set_seed(seed)
    with wrap_config_errors():
        model = TreeParser(ParserConfig(**given))
    if given.get("encoder") == "pretrained":
        body: Any = model.encoder.body
        trained = AutoModel.from_pretrained(folder, use_safetensors=True, dtype=torch.float32)
        body.load_state_dict(trained.state_dict())
        body.get_input_embeddings().requires_grad_(False)  # large, and a treebank has few of its pieces
    return model, reader


def _check_model(recipe: ParseRecipe) -> None:
    """Check the settings of the model as far as they go without a treebank."""
    given = {key: value for key, value in recipe.model.items() if key != "pretrained"}
    configure(ParserConfig, given, ("actions", "tags", "vocab_size", "char_vocab_size", "tag_vocab_size"))
    encoder = recipe.model.get("pretrained")
    if given.get("encoder") == "pretrained" and not isinstance(encoder, str):
        raise ValueError(f"model.pretrained is {encoder!r}, expected a folder or the name of a package")


def read_treebank(name: str, split: str, data: Treebanks) -> list[Tree]:
    """A part of a treebank.

    Of one that has but one part, such as a file, every tenth tree validates and does not train, and all of
    them are its test part. "grammar" is sampled from the embedded grammar.

    Raises:
        ValueError: an unknown part, or one without constituency trees.
    """
    return treebank_reader(data)(name, split)


def treebank_reader(data: Treebanks) -> Callable[[str, str], list[Tree]]:
    """`read_treebank` for many parts: a treebank is loaded with the first of them, and stays in memory."""

    @cache
    def load(name: str) -> Mapping[str, Sequence[Any]]:
        return corpora.load(name, root=data.data_dir or None)

    def read(name: str, split: str) -> list[Tree]:
        limit = data.sentences if split == "train" else data.scored_sentences
        if name == "grammar":
            return [sample.tree for sample in sample_part(split, limit, GRAMMAR_SIZES)]
        trees = choose_part(load(name), split, name)
        if not trees or not isinstance(trees[0], Tree):
            raise ValueError(f"{name}: no constituency trees in its {split} part")
        return trees[: limit or None]

    return read


def _read_trees(data: Treebanks) -> tuple[list[Tree], dict[str, list[Tree]]]:
    """All trees to train on, and the validation part of every treebank."""
    read = treebank_reader(data)
    trees = [tree for name in data.train for tree in read(name, "train")]
    return trees, {name: read(name, "validation") for name in data.validation or data.train}


def _inventory(trees: Sequence[Tree], linearization: str) -> list[str]:
    """The actions of a treebank in the order that `ParserConfig` asks for."""
    labels = sorted({span.label for tree in trees for span in tree.spans()})
    if not labels:
        raise ValueError("the trees have no labels: expected trees with more than a single word each")
    if linearization == "bottom-up":
        seen = {action for tree in trees for action in bottom_up(tree)}
        return ["sh", "comb", "nolabel", *sorted(seen - {"sh", "comb", "nolabel"})]
    return ["XX", END, *(f"({label}" for label in labels), *(f"){label}" for label in labels)]


def _feature(tree: Tree, config: ParserConfig) -> dict[str, Any]:
    ids = {action: number for number, action in enumerate(config.actions)}
    tags = {tag: number for number, tag in enumerate(config.tags)}
    feature: dict[str, Any] = {"words": tree.words, "tags": tree.tags}
    if config.linearization == "bottom-up":
        actions = bottom_up(tree)
        feature["positions"] = position_lists(actions, len(tree), config)
    else:
        actions = [*top_down(tree), END]
    feature["actions"] = torch.tensor([ids[action] for action in actions])
    if tags:
        feature["tag_targets"] = torch.tensor([*(tags[tag] for tag in tree.tags), IGNORED])  # the end mark
    return feature


def position_lists(actions: Sequence[str], n_words: int, config: ParserConfig) -> Tensor:
    """The lists D_i that the model is taught with (Ma et al. 2017, Section 3.3).

    Returns:
        (S/2 + 1, M), those of step 0 and of the label steps: the structure step after one sees the same
        stack, so that step i reads row (i + 1) // 2. A position of -1 reads nothing.
    """
    heads: Literal["right"] | None = None if config.heads == "none" else "right"
    lists = attended_positions_of(actions, n_words, heads)
    positions = torch.tensor(lists[:1] + lists[1::2])
    if config.absent == "nothing":
        for place in (1, 2):
            absent = positions[:, place + 1] == 0  # what would stand on it starts where it does
            positions[absent, place] = -1
            if heads:
                positions[absent, place + 3] = -1
    return positions


class _Collator:
    """Examples to a batch, with rare words unknown by chance; draws come from torch's generator."""

    def __init__(self, reader: SentenceReader | PieceReader, config: ParserConfig) -> None:
        self.reader = reader
        self.attended = config.attention == "deterministic"

    def __call__(self, features: Features) -> dict[str, Tensor]:
        chance = random.Random(int(torch.randint(2**62, ())))
        batch = self.reader.batch(
            [feature["words"] for feature in features], [feature["tags"] for feature in features], chance
        )
        for name in ("actions", "tag_targets"):
            if name in features[0]:
                rows = [feature[name] for feature in features]
                batch[name] = pad_sequence(rows, batch_first=True, padding_value=IGNORED)
        if self.attended:
            batch["positions"] = pad_sequence([feature["positions"] for feature in features], True)
        return batch


def _scorer(
    reader: SentenceReader | PieceReader, validation: Mapping[str, Sequence[Tree]]
) -> Callable[[TreeParser], dict[str, float]]:
    """Greedy parseval F1 on every treebank, and their mean as "f1"."""

    def score(model: TreeParser) -> dict[str, float]:
        parser = Parser([model], [reader], beam=1)
        scores = {}
        for name, gold in validation.items():
            trees = parser.parse([tree.words for tree in gold], tags=[tree.tags for tree in gold])
            f1 = parseval(gold, trees).f1
            scores[f"f1_{name}"] = 0.0 if math.isnan(f1) else f1  # nan: not one bracket is right
        return {**scores, "f1": sum(scores.values()) / len(scores)}

    return score
