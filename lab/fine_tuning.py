"""Fine-tuning of a Tree Transformer as a classifier of sentences (Ginn 2024, Section 5)."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoTokenizer, PreTrainedTokenizerBase, set_seed

from lab.recipes import FineTuneRecipe, FineTuningData
from treeformers.data import corpora, text
from treeformers.data.examples import Labelled, kind_of
from treeformers.data.splits import choose_part
from treeformers.metrics import accuracy, precision_recall
from treeformers.models.treebert import TreeBertConfig, TreeBertForSequenceClassification
from treeformers.recipes import Examples
from treeformers.tasks.classify.examples import read_examples
from treeformers.training.batches import Features, TokenBatchSampler
from treeformers.training.configuration import check_keys, wrap_config_errors
from treeformers.training.fit import Fit
from treeformers.training.run import Run

logger = logging.getLogger(__name__)

TOKENS = 8192
"""Tokens of a batch that is only classified, padding included."""


class Sentence(NamedTuple):
    """A sentence and its class.

    Attributes:
        words: of the sentence.
        label: the class.
        group: subset that it is reported with, such as its depth.
    """

    words: tuple[str, ...]
    label: str
    group: str = ""


def train_judge(
    recipe: FineTuneRecipe,
    out: str | Path,
    seed: int | None = None,
    resume: bool = False,
    progress: bool = True,
) -> Fit:
    """Fine-tune a Tree Transformer and save it; the weights of the least validation loss are kept.

    The folder gets `config.json` with the names of the classes, `model.safetensors`, the tokenizer,
    `recipe.json` and `history.json`; while training goes on it holds `checkpoints` to resume from.

    Args:
        recipe: what to train on and how.
        out: folder of the model.
        seed: the first of `recipe.train.seeds` by default.
        resume: go on with an unfinished run there.
        progress: show a progress bar.

    Raises:
        ValueError: a folder that holds the run of another recipe, a corpus without classes, a validation
            class that no training sentence has, or a base of another kind.
        OSError: a corpus or base that cannot be read, or a folder that cannot be written.
    """
    run = Run(out, recipe, seed, resume, progress)
    train, held_out = (read_sentences(recipe.data, part) for part in ("train", "validation"))
    classes = sorted({one.label for one in train})
    if len(classes) < 2:
        raise ValueError(f"{recipe.data.corpus}: {len(classes)} classes in training, expected two or more")
    tokenizer = _tokenizer(recipe.data, train)
    model = build_judge(recipe, tokenizer, classes, run.seed)
    features, validation = (
        _features(tokenizer, part, classes, recipe.data.max_length) for part in (train, held_out)
    )
    collator = _Collator(tokenizer)
    return run.fit(
        model,
        tokenizer,
        features,
        validation,
        collator,
        evaluate=_scorer(tokenizer, held_out, recipe.data.max_length),
    )


def build_judge(
    recipe: FineTuneRecipe, tokenizer: PreTrainedTokenizerBase, classes: Sequence[str], seed: int
) -> TreeBertForSequenceClassification:
    """A model to fine-tune: of the base's weights with a fresh head, or all fresh.

    Args:
        recipe: what is built.
        tokenizer: its tokenizer.
        classes: names of the classes.
        seed: of the fresh weights.

    Raises:
        FileNotFoundError: no such base.
        ValueError: a base of another kind, a key that `TreeBertConfig` does not have, or a value it does not
            take.
    """
    base = check_base(recipe.data)
    names = [field.name for field in dataclasses.fields(TreeBertConfig)]
    check_keys(recipe.model, names)
    labels = {"id2label": dict(enumerate(classes)), "label2id": {name: n for n, name in enumerate(classes)}}
    sizes = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id, **recipe.model, **labels}
    set_seed(seed)
    with wrap_config_errors():
        if base is None:
            return TreeBertForSequenceClassification(TreeBertConfig(**sizes))
        config = TreeBertConfig.from_pretrained(base, **sizes)
        if recipe.data.random_init:
            return TreeBertForSequenceClassification(config)
        return TreeBertForSequenceClassification.from_pretrained(base, config=config, use_safetensors=True)


def check_base(data: FineTuningData) -> Path | None:
    """The folder to start from, None for none.

    Raises:
        FileNotFoundError: no such folder, or one without a model.
        ValueError: a model of another kind.
    """
    if not data.pretrained:
        if data.random_init:
            raise ValueError("data.random_init: without data.pretrained all is fresh, expected a base")
        return None
    folder = Path(data.pretrained)
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        if not (folder / name).is_file():
            raise FileNotFoundError(
                f"{folder / name}: no such file; expected data.pretrained to be a folder of `treeformers train`"
            )
    kind = TreeBertConfig.get_config_dict(folder)[0].get("model_type")
    if kind != TreeBertConfig.model_type:
        raise ValueError(f"{folder / 'config.json'}: a model of kind {kind!r}, expected 'treebert'")
    return folder


def read_sentences(data: FineTuningData, split: str, corpus: str = "") -> list[Sentence]:
    """A part of a corpus of sentences with classes.

    Args:
        data: what to read.
        split: "train", "validation" or "test".
        corpus: one of `data.tests`; `data.corpus` by default.

    Raises:
        ValueError: an unknown part, or one without sentences that have classes.
        OSError: a corpus that cannot be read.
    """
    name = corpus or data.corpus
    limit = data.sentences if split == "train" else data.scored_sentences
    if name == "grammar":
        sampled = Examples(corpus=name, sentences=data.sentences, scored_sentences=data.scored_sentences)
        return [Sentence(one.trees[0].words, one.label) for one in read_examples(sampled, split)]
    found = choose_part(corpora.load(name, root=data.data_dir or None), split, name)[: limit or None]
    judged = [_read(one, name) for one in found]
    if not judged:
        raise ValueError(f"{name}: no sentences in its {split} part")
    return judged


def read_tests(data: FineTuningData) -> dict[str, list[Sentence]]:
    """The test parts that are scored, by the name of the corpus. Raises as `read_sentences` does."""
    return {name: read_sentences(data, "test", name) for name in data.tests or (data.corpus,)}


def judge(
    model: TreeBertForSequenceClassification,
    tokenizer: PreTrainedTokenizerBase,
    sentences: Iterable[Sequence[str]],
    max_length: int = 0,
) -> Tensor:
    """Probabilities of the classes (sentences, classes), of sentences as lists of words.

    Args:
        model: what judges; put it into evaluation.
        tokenizer: its tokenizer.
        sentences: lists of words, at least one a sentence.
        max_length: longer inputs are cut to so many tokens; 0 for no limit.
    """
    features = list(text.encode(tokenizer, sentences, max_length or None))
    collator = _Collator(tokenizer)
    lengths = [len(feature["input_ids"]) for feature in features]
    found = torch.empty(len(features), model.config.num_labels or 1)
    with torch.no_grad():
        for rows in TokenBatchSampler(lengths, TOKENS):
            batch = collator([features[row] for row in rows])
            logits = model(**{key: value.to(model.device) for key, value in batch.items()}).logits
            found[rows] = logits.float().softmax(-1).cpu()
    return found


def figures(found: Tensor, sentences: Sequence[Sentence], classes: Sequence[str]) -> dict[str, float]:
    """Accuracy, and macro-averaged precision, recall and F1, in per cent, from what `judge` gave."""
    gold = [one.label for one in sentences]
    predicted = [classes[number] for number in found.argmax(-1).tolist()]
    score = precision_recall(gold, predicted)
    return {"accuracy": accuracy(gold, predicted), **dataclasses.asdict(score)}


def classes_of(model: TreeBertForSequenceClassification) -> list[str]:
    """Names of the classes, in the order of the logits."""
    labels: Any = model.config.id2label or {}
    return [labels[number] for number in range(len(labels))]


def _read(one: Any, name: str) -> Sentence:
    if not isinstance(one, Labelled):
        raise ValueError(f"{name} holds {kind_of(one)}, expected sentences with classes")
    words = tuple(one.text.split()) if isinstance(one.text, str) else one.text.words
    return Sentence(words, one.label, one.group)


def _tokenizer(data: FineTuningData, train: Sequence[Sentence]) -> PreTrainedTokenizerBase:
    if base := check_base(data):
        return AutoTokenizer.from_pretrained(base, trust_remote_code=False)
    return text.train_tokenizer((" ".join(one.words) for one in train), kind="word", min_frequency=1)


def _features(
    tokenizer: PreTrainedTokenizerBase, judged: Sequence[Sentence], classes: Sequence[str], max_length: int
) -> Features:
    ids = {name: number for number, name in enumerate(classes)}
    if unseen := sorted({one.label for one in judged} - set(ids)):
        raise ValueError(f"validation has the class {unseen[0]!r}, which no training sentence has")
    encoded = text.encode(tokenizer, (one.words for one in judged), max_length or None)
    return [{**feature, "label": ids[one.label]} for feature, one in zip(encoded, judged, strict=True)]


def _scorer(
    tokenizer: PreTrainedTokenizerBase, held_out: Sequence[Sentence], max_length: int
) -> Callable[[Any], dict[str, float]]:
    def score(model: Any) -> dict[str, float]:
        found = judge(model, tokenizer, [one.words for one in held_out], max_length)
        return {"f1": figures(found, held_out, classes_of(model))["f1"]}

    return score


class _Collator:
    """Features to a padded batch."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.pad: int = tokenizer.pad_token_id

    def __call__(self, features: Features) -> dict[str, Tensor]:
        rows = [torch.tensor(feature["input_ids"]) for feature in features]
        batch = {
            "input_ids": pad_sequence(rows, True, self.pad),
            "attention_mask": pad_sequence([torch.ones_like(row) for row in rows], True),
            "word_ids": pad_sequence([torch.tensor(one["word_ids"]) for one in features], True, -1),
        }
        if "label" in features[0]:
            batch["labels"] = torch.tensor([feature["label"] for feature in features])
        return batch
