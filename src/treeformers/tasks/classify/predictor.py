"""Classes of sentences, and classes or scores of pairs, from trained tree encoders.

Shapes: n examples, K classes.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor
from transformers import PreTrainedModel

from treeformers.data.checks import ensure_list
from treeformers.data.examples import Text
from treeformers.data.sentences import VOCABULARY
from treeformers.models.accumulation import AccumulationConfig, AccumulationForSequenceClassification
from treeformers.models.heads import PairClassifier, SentenceClassifier
from treeformers.models.traversal import TraversalModel
from treeformers.recipes import ClassifyRecipe, Recipe, SimilarityRecipe
from treeformers.tasks.batching import by_tokens
from treeformers.tasks.inputs import AnyTree, Encoded, TreeReader
from treeformers.tasks.tree_sources import complete_trees
from treeformers.training.model_folder import load_weights, read_settings
from treeformers.trees.tree import Tree

__all__ = ["Classified", "Classifier", "Compared", "Similarity", "predict"]

LARGEST_BATCH = 4000
"""Words in a batch, their padding included."""

_MODELS: Mapping[str, type[PreTrainedModel]] = {
    "accumulation": AccumulationForSequenceClassification,
    "treeformers-sentence": SentenceClassifier,
    "treeformers-pair": PairClassifier,
}


@dataclass(frozen=True, slots=True)
class Classified:
    """The class of a sentence.

    Attributes:
        label: the most probable class.
        probabilities: of every class.
    """

    label: str
    probabilities: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Compared:
    """What was found of a pair.

    Attributes:
        label: the most probable class; "" where scores are predicted.
        score: the score, from 1 to 5; None where classes are predicted.
        probabilities: of every class; none where scores are predicted.
    """

    label: str
    score: float | None
    probabilities: Mapping[str, float]


class _Encoder:
    """What both share: a model with its reader, and where trees of raw text come from."""

    def __init__(
        self, model: PreTrainedModel, reader: TreeReader, trees: str = "given", documents: bool = False
    ) -> None:
        self.model, self.reader, self.trees, self.documents = model.eval(), reader, trees, documents

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""
        return tuple(self.model.config.id2label[number] for number in range(self.model.config.num_labels))

    def trees_of(self, texts: Iterable[Text | Sequence[str]], trees: str | None = None) -> list[AnyTree]:
        """The trees of texts: those that are trees already, and others from a parser.

        Args:
            texts: trees, strings, or lists of words.
            trees: where those of the others come from, see `treeformers.tasks.tree_sources.find_trees`; what
                the recipe says by default.

        Raises:
            ValueError: one string, text without a tree and nothing to make one, or text without words.
            FileNotFoundError: no such parser or file of trees.
        """
        dependencies = self.reader.structure == "dependencies"
        return complete_trees(ensure_list(texts, "texts"), trees, self.trees, self.documents, dependencies)

    def _encode(self, texts: Iterable[Text | Sequence[str]], trees: str | None) -> list[Encoded]:
        found, longest = self.trees_of(texts, trees), longest_input(self.model)
        for number, tree in enumerate(found, start=1):
            if longest and len(tree) > longest:
                raise ValueError(f"text {number} has {len(tree)} words, the model reads at most {longest}")
        return self.reader.encode(found)


class Classifier(_Encoder):
    """Classifies sentences with one trained model.

    Args:
        model: a classifier.
        reader: how it reads trees.
        trees: where trees of raw text come from, as in `Examples.trees`.
        documents: whether raw texts may hold several sentences, as in `Examples.documents`.
    """

    @torch.inference_mode()
    def attention(self, tree: AnyTree) -> list[float]:
        """Where attention lies on a constituency tree, a share a node in pre-order, leaves too.

        Of the accumulation encoder it is what the root gives to nodes and leaves in the last layer, a mean
        over the heads; of CTT what each child gets from the cell that composes its parent, and 0 at the root.

        Raises:
            ValueError: an encoder without attention over constituency trees, or a tree of the other kind.
        """
        encoded = self.reader.encode([tree])
        batch = self.reader.collate(encoded)
        batch = {name: part.to(self.model.device) for name, part in batch.items()}
        model: Any = self.model
        if isinstance(model, AccumulationForSequenceClassification) and model.config.tree:
            weights = model.encoder(**batch, output_attentions=True).attentions[-1][0].mean(0)[0]
            nodes, leaves = weights.split((weights.shape[0] - len(tree), len(tree)))
        elif isinstance(getattr(model, "encoder", None), TraversalModel) and isinstance(tree, Tree):
            ids, given = batch.pop("input_ids", None), batch.pop("inputs_embeds", None)
            words = model.embeddings(ids) if given is None else given
            output = model.encoder(words, batch, output_attentions=True)
            nodes, leaves = output.node_attention[0], output.leaf_attention[0]
        else:
            raise ValueError("this encoder has no attention over constituency trees")
        assert isinstance(tree, Tree)
        of_nodes, of_leaves = iter(nodes.tolist()), iter(leaves.tolist())
        return [next(of_leaves if node.is_leaf else of_nodes) for node in tree.nodes()]

    @classmethod
    def from_pretrained(cls, folder: str | Path, device: str | None = None) -> Self:
        """Load what `treeformers train` wrote.

        Args:
            folder: of the model.
            device: "cuda" where there is one by default, else "cpu".

        Raises:
            FileNotFoundError: no such folder, or one without a model.
            ValueError: a model of another kind, or a damaged file.
        """
        return cls(*_load(Path(folder), ClassifyRecipe, device))

    def classify(self, texts: Iterable[Text | Sequence[str]], trees: str | None = None) -> list[Classified]:
        """Classes of texts, in their order.

        Args:
            texts: trees, strings, or lists of words.
            trees: where trees of text come from, see `trees_of`.

        Raises:
            ValueError: as `trees_of`, a text longer than the model reads, or a tree of the other kind.
        """
        rows = predict(self.model, self._encode(texts, trees), self.reader).tolist()
        found = [dict(zip(self.classes, row, strict=True)) for row in rows]
        return [Classified(max(row, key=row.__getitem__), row) for row in found]


class Similarity(_Encoder):
    """Compares the two sentences of pairs with one trained model.

    Args:
        model: a classifier of pairs.
        reader: how it reads trees.
        trees: where trees of raw text come from, as in `Examples.trees`.
        documents: whether raw texts may hold several sentences, as in `Examples.documents`.
    """

    @classmethod
    def from_pretrained(cls, folder: str | Path, device: str | None = None) -> Self:
        """Load what `treeformers train` wrote; as `Classifier.from_pretrained`."""
        return cls(*_load(Path(folder), SimilarityRecipe, device))

    def compare(
        self, pairs: Iterable[tuple[Text | Sequence[str], Text | Sequence[str]]], trees: str | None = None
    ) -> list[Compared]:
        """Classes or scores of pairs, in their order.

        Args:
            pairs: two trees, strings, or lists of words each.
            trees: where trees of text come from, see `trees_of`.

        Raises:
            ValueError: other than two texts, a text longer than the model reads, a tree of the other kind, or
                as `trees_of` says.
        """
        texts: list[Text | Sequence[str]] = []
        for number, pair in enumerate(ensure_list(pairs, "pairs"), start=1):
            match pair:
                case str():
                    given = "one string"
                case (first, second):
                    texts += first, second
                    continue
                case [*some]:
                    given = f"{len(some)} texts"
                case _:
                    given = repr(pair)
            raise ValueError(f"pair {number} is {given}, expected two texts")
        rows = predict(self.model, self._encode(texts, trees), self.reader)
        if self.model.config.task == "relatedness":
            return [Compared("", score, {}) for score in rows.tolist()]
        found = [dict(zip(self.classes, row, strict=True)) for row in rows.tolist()]
        return [Compared(max(row, key=row.__getitem__), None, row) for row in found]


@torch.inference_mode()
def predict(model: Any, encoded: Sequence[Encoded], reader: TreeReader) -> Tensor:
    """Probabilities of the classes (n, K), or for relatedness the scores (n,).

    Args:
        model: a classifier of sentences, or of pairs.
        encoded: the trees; of pairs the two beside each other.
        reader: how the model reads them.

    Raises:
        ValueError: what the model gives is no number.
    """
    each = 2 if isinstance(model, PairClassifier) else 1
    examples = [encoded[start : start + each] for start in range(0, len(encoded), each)]
    lengths = [max(len(one.words) for one in example) for example in examples]
    found: dict[int, Tensor] = {}
    for numbers in by_tokens(lengths, LARGEST_BATCH // each):
        batch = collate(reader, [examples[number] for number in numbers])
        output = model(**{name: part.to(model.device) for name, part in batch.items()})
        rows = output.logits.float().softmax(-1) if getattr(output, "scores", None) is None else output.scores
        if not rows.isfinite().all():
            raise ValueError("the model gives no probabilities but nan: its weights are damaged")
        found.update(zip(numbers, rows.cpu(), strict=True))
    return torch.stack([found[number] for number in range(len(examples))]) if found else torch.empty(0)


def longest_input(model: Any) -> int | None:
    """The most words that a classifier reads; None for no limit."""
    config = getattr(model.config, "encoder", model.config)
    return config.max_position_embeddings if isinstance(config, AccumulationConfig) else None


def collate(
    reader: TreeReader, examples: Sequence[Sequence[Encoded]], chance: random.Random | None = None
) -> dict[str, Tensor]:
    """A batch of sentences, or of pairs with the two beside each other.

    Args:
        reader: how the model reads trees.
        examples: one tree each, or two.
        chance: in training, decides which rare words are read as unknown.
    """
    batch = reader.collate([one for example in examples for one in example], chance)
    if len(examples[0]) == 2:
        for name in {"input_ids", "inputs_embeds"} & set(batch):
            batch[name] = batch[name].unflatten(0, (-1, 2))
    return batch


def _load(
    folder: Path, task: type[Recipe], device: str | None
) -> tuple[PreTrainedModel, TreeReader, str, bool]:
    recipe, config = read_settings(folder, task, *_MODELS)
    model = load_weights(_MODELS[config["model_type"]], folder)
    reader = TreeReader.load(folder)
    if reader.words and len(reader.words.words) != model.config.vocab_size:
        count, expected = len(reader.words.words), model.config.vocab_size
        raise ValueError(f"{folder / VOCABULARY}: {count} words, the model has {expected}")
    model.to(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    return model, reader, recipe.data.trees, recipe.data.documents
