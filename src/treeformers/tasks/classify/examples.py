"""Examples of classification and comparison: corpora to trees with classes, and fresh models for them."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import PreTrainedConfig, PreTrainedModel, set_seed

from treeformers.data import corpora
from treeformers.data.embeddings import read_vectors
from treeformers.data.examples import Labelled, Pair, Text, kind_of
from treeformers.data.splits import GRAMMAR_SIZES, choose_part, sample_part, spread
from treeformers.models.accumulation import AccumulationConfig, AccumulationForSequenceClassification
from treeformers.models.heads import (
    PairClassifier,
    PairClassifierConfig,
    SentenceClassifier,
    SentenceClassifierConfig,
)
from treeformers.models.recurrent import SEQUENCES, RecurrentConfig
from treeformers.models.traversal import TraversalConfig
from treeformers.models.treebert_config import TreeBertConfig
from treeformers.recipes import ClassifyRecipe, Examples, SimilarityRecipe
from treeformers.tasks.feature_extractor import FrozenEncoder
from treeformers.tasks.inputs import UNKNOWN, AnyTree, TreeReader, vocabulary
from treeformers.tasks.tree_sources import find_any_trees
from treeformers.training.configuration import check_keys, wrap_config_errors
from treeformers.trees.dependency import DependencyTree
from treeformers.trees.files import suffix_of
from treeformers.trees.tree import Tree

logger = logging.getLogger(__name__)

_ENCODERS: Mapping[str, type[PreTrainedConfig]] = {
    "accumulation": AccumulationConfig,
    "traversal": TraversalConfig,
    "recurrent": RecurrentConfig,
    "treebert": TreeBertConfig,
}


class Example(NamedTuple):
    """One tree, or the two of a pair, with what is to be found.

    Attributes:
        trees: one or two.
        label: its class, "" where it has none.
        score: relatedness of a pair, where there is one.
        group: subset that it is reported with.
    """

    trees: tuple[AnyTree, ...]
    label: str
    score: float | None = None
    group: str = ""


def read_examples(data: Examples, split: str, pairs: bool = False) -> list[Example]:
    """A part of a corpus, with its trees.

    Of a corpus of one part, such as a file, every tenth example validates and does not train, and all of them
    are its test part. "grammar" is sampled from the embedded grammar: the class is the number of the subject,
    and two of a pair are more related the more categories they share.

    Args:
        data: what to read.
        split: "train", "validation" or "test".
        pairs: examples of two sentences.

    Raises:
        ValueError: an unknown part, one without such examples, no tree for a text, or one of the other kind.
        OSError: a corpus, or where its trees come from, that cannot be read.
    """
    limit = data.sentences if split == "train" else data.scored_sentences
    if data.corpus == "grammar":
        found: Sequence[Any] = _sample_pairs(split, limit) if pairs else _sample(split, limit)
    else:
        given = data.structure == "dependencies" and data.trees == "given"
        kind: Any = "dependencies" if given else None
        parts = corpora.load(data.corpus, root=data.data_dir or None, trees=kind)
        if Path(data.trees).is_file():
            parts = _with_trees_of_file(parts, data, pairs)
            data = dataclasses.replace(data, trees="given")
        found = spread(choose_part(parts, split, data.corpus), limit)
    examples = [_read(one, pairs, data.corpus) for one in found]
    if data.classes:
        named = [one._replace(label=data.classes.get(one.label, "")) for one in examples]
        examples = [one for one in named if one.label]
    if not examples:
        raise ValueError(f"{data.corpus}: no examples in its {split} part")
    return _with_trees(examples, data)


def classes_of(examples: Sequence[Example]) -> list[str]:
    """The classes, in order.

    Raises:
        ValueError: fewer than two.
    """
    classes = sorted({example.label for example in examples} - {""})
    if len(classes) < 2:
        raise ValueError(f"the examples have {len(classes)} classes, expected two or more")
    return classes


def phrase_labels(tree: AnyTree, classes: Sequence[str], mapping: Mapping[str, str]) -> tuple[Any, Any]:
    """Classes of the nodes in the order of `tree.spans()`, and of the words; -100 for other labels.

    Raises:
        ValueError: a dependency tree.
    """
    if not isinstance(tree, Tree):
        raise ValueError("data.phrases: dependency trees have no labels of phrases, expected constituency")
    ids = {name: number for number, name in enumerate(classes)}

    def numbers(labels: Sequence[str]) -> torch.Tensor:
        found = [ids.get(mapping.get(label, "") if mapping else label, -100) for label in labels]
        return torch.tensor(found, dtype=torch.int64)

    return numbers([span.label for span in tree.spans()]), numbers(tree.tags)


def build_encoder(
    recipe: ClassifyRecipe | SimilarityRecipe, trees: Sequence[AnyTree], classes: Sequence[str], seed: int
) -> tuple[PreTrainedModel, TreeReader]:
    """A fresh model of the recipe's sizes, with the vocabulary of the training trees.

    A recipe of sentences with the accumulation encoder is `AccumulationForSequenceClassification` as long as
    it sets nothing else than the encoder; with vectors, or with a setting of `SentenceClassifierConfig`, it
    is a `SentenceClassifier` over that encoder.

    Args:
        recipe: what is built.
        trees: all trees that are trained on.
        classes: names of the classes; none for scores.
        seed: of the weights.

    Raises:
        ValueError: an unknown encoder or key, or a value that a configuration does not take.
        FileNotFoundError: no such vectors.
    """
    check_model(recipe)
    data, given = recipe.data, dict(recipe.model)
    kind = given.pop("encoder")
    sequence = kind == "treebert" or given.get("kind") in SEQUENCES
    reader = TreeReader(
        plan="branches" if kind == "accumulation" else "words" if sequence else "levels",
        structure=data.structure,
        lowercase=data.lowercase,
        arity=given.get("arity", RecurrentConfig.arity) if given.get("kind") == "n-ary" else None,
    )
    table = None
    if data.vectors and not _is_text(data.vectors):
        reader = dataclasses.replace(reader, vectors=data.vectors, vector_layers=data.vector_layers)
        width = FrozenEncoder.load(data.vectors, layers=data.vector_layers).width
    else:
        reader = dataclasses.replace(reader, words=vocabulary(trees, data.lowercase, data.min_frequency))
        if data.vectors:
            assert reader.words is not None
            table = read_vectors(data.vectors, set(reader.words.words))
            width = table.dimension
    if data.vectors:
        given["input_size"] = width
    if data.labels:
        found = {span.label for tree in trees if isinstance(tree, Tree) for span in tree.spans()}
        reader = dataclasses.replace(reader, labels=(UNKNOWN, *sorted(found - {UNKNOWN})))
        given["node_vocab_size"] = len(reader.labels)
    names: dict[str, Any] = {"num_labels": 5}  # scores from 1 to 5
    if classes:
        ids = {name: number for number, name in enumerate(classes)}
        names = {"id2label": dict(enumerate(classes)), "label2id": ids}
    size = len(reader.words.words) if reader.words else 1
    config = _configure(recipe, given, vocab_size=size, **names)
    set_seed(seed)
    with wrap_config_errors():
        if isinstance(config, AccumulationConfig):
            return AccumulationForSequenceClassification(config), reader
        model = (
            PairClassifier(config) if isinstance(config, PairClassifierConfig) else SentenceClassifier(config)
        )
    if table is not None and reader.words is not None:
        rows = {word: row for row, word in enumerate(reader.words.words)}
        with torch.no_grad():
            for word, vector in zip(table.words, table.vectors, strict=True):
                model.embeddings.weight[rows[word]] = torch.from_numpy(vector)
    return model, reader


def check_model(recipe: ClassifyRecipe | SimilarityRecipe) -> None:
    """Check the settings of the model, which takes no data.

    Raises:
        ValueError: an unknown encoder or key, or a value that a configuration does not take.
    """
    given = dict(recipe.model)
    kind = given.pop("encoder", None)
    if kind not in _ENCODERS:
        raise ValueError(f"model.encoder is {kind!r}, expected one of {', '.join(_ENCODERS)}")
    derived = ("encoder", "vocab_size", "id2label", "label2id", "num_labels")
    names = [
        field.name for config in (_ENCODERS[kind], _head(recipe)) for field in dataclasses.fields(config)
    ]
    check_keys(given, [name for name in names if name not in derived])
    _check_data(kind, given, recipe.data)
    _configure(recipe, given)


def _head(recipe: ClassifyRecipe | SimilarityRecipe) -> type[SentenceClassifierConfig]:
    return PairClassifierConfig if isinstance(recipe, SimilarityRecipe) else SentenceClassifierConfig


def _configure(
    recipe: ClassifyRecipe | SimilarityRecipe, given: Mapping[str, Any], **sizes: Any
) -> AccumulationConfig | SentenceClassifierConfig:
    """The configuration of a classifier, whose encoder has the settings that are its own."""
    encoder = _ENCODERS[recipe.model["encoder"]]
    inner = {field.name for field in dataclasses.fields(encoder)} & set(given)
    with wrap_config_errors():
        # The paper's own classifier has no settings but those of its encoder.
        if encoder is AccumulationConfig and not isinstance(recipe, SimilarityRecipe) and inner == set(given):
            return AccumulationConfig(**given, **sizes)
        outer = {key: value for key, value in given.items() if key not in inner}
        return _head(recipe)(encoder=encoder(**{key: given[key] for key in inner}), **sizes, **outer)


def _check_data(kind: str, given: Mapping[str, Any], data: Examples) -> None:
    dependencies, tree = data.structure == "dependencies", given.get("tree", TraversalConfig.tree)
    if kind == "traversal" and (tree == "dependency") != dependencies:
        raise ValueError(f"model.tree is {tree!r}, but data.structure is {data.structure!r}")
    if dependencies and (kind == "accumulation" or given.get("kind") == "n-ary"):
        name = given.get("kind", kind)
        raise ValueError(f"model: {name!r} reads constituency trees, but data.structure is 'dependencies'")
    if data.vector_layers != 1 and (not data.vectors or _is_text(data.vectors)):
        given_by = data.vectors or "training"
        raise ValueError(
            f"data.vector_layers is {data.vector_layers}, but vectors come from {given_by}: "
            "expected 1, or a pretrained encoder as data.vectors"
        )
    if data.labels and kind != "accumulation":
        raise ValueError(f"data.labels: the encoder {kind!r} reads no labels of nodes, expected false")


def _is_text(vectors: str) -> bool:
    return suffix_of(vectors) in (".txt", ".vec")


def _with_trees_of_file(
    parts: Mapping[str, list[Any]], data: Examples, pairs: bool
) -> dict[str, list[Example]]:
    """All parts, as a file has the trees of the whole corpus."""
    examples = [_read(one, pairs, data.corpus) for part in parts.values() for one in part]
    found = iter(_with_trees(examples, data))
    return {name: [next(found) for _ in part] for name, part in parts.items()}


def _read(one: Any, pairs: bool, corpus: str) -> Example:
    match one:
        case Example():
            return one
        case Pair() if pairs:
            return Example((one.first, one.second), one.label, one.score)  # type: ignore[arg-type]
        case Labelled() if not pairs:
            return Example((one.text,), one.label, group=one.group)  # type: ignore[arg-type]
        case Tree() if not pairs:
            return Example((one,), one.label)
    expected = "pairs of sentences" if pairs else "sentences with classes"
    raise ValueError(f"{corpus} holds {kind_of(one)}, expected {expected}")


def _with_trees(examples: Sequence[Example], data: Examples) -> list[Example]:
    """The examples with the trees that the recipe asks for."""
    texts: list[Text] = [text for example in examples for text in example.trees]
    if data.trees == "given":
        expected = DependencyTree if data.structure == "dependencies" else Tree
        other = next((text for text in texts if not isinstance(text, expected)), None)
        if isinstance(other, str):
            raise ValueError(
                f"{data.corpus} has no trees: expected data.trees, the folder of a parser, a file or a shape"
            )
        if other is not None:
            raise ValueError(
                f"{data.corpus}: a {type(other).__name__}, but data.structure is {data.structure!r}: "
                f"expected a {expected.__name__}"
            )
        return list(examples)
    plain = [text if isinstance(text, str) else text.words for text in texts]
    trees = iter(find_any_trees(plain, data.trees, data.documents, data.structure == "dependencies"))
    return [example._replace(trees=tuple(next(trees) for _ in example.trees)) for example in examples]


def _sample(split: str, limit: int) -> list[Labelled]:
    return [Labelled(one.tree, _grammar_class(one.tree)) for one in sample_part(split, limit)]


def _sample_pairs(split: str, limit: int) -> list[Pair]:
    sentences = _sample(split, 2 * (limit or GRAMMAR_SIZES[split]))
    pairs = []
    for first, second in zip(sentences[::2], sentences[1::2], strict=True):
        assert isinstance(first.text, Tree) and isinstance(second.text, Tree)
        ours, theirs = ({span.label for span in text.spans()} for text in (first.text, second.text))
        label = "same" if first.label == second.label else "different"
        pairs.append(Pair(first.text, second.text, label, 1 + 4 * len(ours & theirs) / len(ours | theirs)))
    return pairs


def _grammar_class(tree: Tree) -> str:
    return "singular" if any(child.label == "VP_3Sg" for child in tree.children) else "plural"
