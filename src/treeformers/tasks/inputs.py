"""Trees to the batches of the tree encoders: words to ids or to frozen vectors, trees to plans.

Shapes: B sentences, T words, N nodes, E width of the word vectors.
"""

from __future__ import annotations

import json
import logging
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeAlias, TypeVar, cast

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from treeformers.data.sentences import SentenceReader
from treeformers.models.words import find_pretrained
from treeformers.tasks.feature_extractor import FrozenEncoder
from treeformers.trees.batch import collate_plans, plan_tree
from treeformers.trees.dependency import DependencyTree
from treeformers.trees.escapes import unescape_word
from treeformers.trees.files import atomic_write, read_object
from treeformers.trees.levels import level_plan
from treeformers.trees.tree import Tree

__all__ = ["AnyTree", "Encoded", "TreeReader", "check_kind", "count_unseen"]

logger = logging.getLogger(__name__)

AnyTree: TypeAlias = Tree | DependencyTree
K = TypeVar("K", bound=AnyTree)
READER = "reader.json"
UNKNOWN = "[UNK]"
_NAMED = 10  # labels in a report


class Encoded(NamedTuple):
    """A tree that is ready to be put into a batch.

    Attributes:
        tree: the tree.
        words: its words as the model reads them.
        plan: of `treeformers.trees.batch.plan_tree`, where the encoder reads that.
        vectors: (T, E), where they are frozen.
    """

    tree: AnyTree
    words: tuple[str, ...]
    plan: Mapping[str, Any]
    vectors: Tensor | None


@dataclass(frozen=True)
class TreeReader:
    """Trees to the inputs of an encoder, as it was trained.

    Attributes:
        plan: what the encoder is told of the trees: "branches" for `treeformers.models.accumulation`,
            "levels" for encoders that go bottom-up, "words" for those that see words and, of constituency
            trees, the spans.
        structure: the kind of tree that it reads.
        lowercase: whether words are read in lower case.
        arity: most children of a node, of the N-ary Tree-LSTM.
        labels: labels of nodes, where the encoder reads them; the first stands for unknown ones.
        vectors: folder or package of the frozen encoder that gives word vectors, if one does.
        vector_layers: how many of its last layers are joined, see `FrozenEncoder`.
        words: the vocabulary where word vectors were trained.
        unseen: how often labels of nodes that are not among `labels` were read as unknown.
    """

    plan: Literal["branches", "levels", "words"]
    structure: Literal["constituency", "dependencies"] = "constituency"
    lowercase: bool = True
    arity: int | None = None
    labels: tuple[str, ...] = ()
    vectors: str = ""
    vector_layers: int = 1
    words: SentenceReader | None = None
    unseen: Counter[str] = field(default_factory=Counter, compare=False, repr=False)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save_pretrained` wrote.

        Raises:
            FileNotFoundError: no such file.
            ValueError: a damaged file.
        """
        path = folder / READER
        if not path.is_file():
            raise FileNotFoundError(f"{path}: no such file, expected the folder of a trained encoder")
        content = read_object(path)
        try:
            content["labels"] = tuple(content["labels"])
            reader = cls(**content)
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{path}: damaged: {error}") from None
        return reader if reader.vectors else replace(reader, words=SentenceReader.load(folder))

    def save_pretrained(self, folder: str | Path) -> None:
        """Write `reader.json`, and the vocabulary if there is one."""
        names = [field.name for field in fields(self) if field.name not in ("words", "unseen")]
        content = {name: getattr(self, name) for name in names}
        with atomic_write(Path(folder) / READER) as file:
            json.dump(content, file)
        if self.words is not None:
            self.words.save_pretrained(folder)

    def encode(self, trees: Sequence[AnyTree]) -> list[Encoded]:
        """Make trees ready, once for all batches that they will be in.

        Labels that are not among `labels` are read as unknown; each is reported when it first comes.

        Raises:
            ValueError: a tree of the other kind.
        """
        expected: type[AnyTree] = Tree if self.structure == "constituency" else DependencyTree
        check_kind(trees, expected)
        words = [tuple(_form(word, self.lowercase) for word in tree.words) for tree in trees]
        vectors: Sequence[Tensor | None] = [None] * len(trees)
        if self.vectors and trees:
            folder = str(find_pretrained(self.vectors).resolve())
            vectors = _frozen_vectors(folder, self.vector_layers, tuple(tree.words for tree in trees))
        found: Counter[str] = Counter()
        plans = [self._plan(tree, found) for tree in trees]
        count_unseen(found, self.unseen)
        return [Encoded(*of) for of in zip(trees, words, plans, vectors, strict=True)]

    def collate(self, encoded: Sequence[Encoded], chance: random.Random | None = None) -> dict[str, Tensor]:
        """A batch: `input_ids` (B, T) or `inputs_embeds` (B, T, E), and what `plan` says.

        Args:
            encoded: the trees.
            chance: in training, decides which rare words are read as unknown.
        """
        trees: list[Any] = [one.tree for one in encoded]
        if self.plan == "branches":
            batch = collate_plans([one.plan for one in encoded])
            if self.labels:
                batch["node_ids"] = batch.pop("node_labels").clamp_min(0)
        elif self.plan == "levels":
            batch = level_plan(trees, self.arity)
        else:
            lengths = torch.tensor([len(tree) for tree in trees])
            batch = {"attention_mask": (torch.arange(int(lengths.max())) < lengths[:, None]).long()}
            if self.structure == "constituency":
                batch["spans"] = collate_plans([one.plan for one in encoded])["spans"]
        if self.vectors:
            rows = [one.vectors.float() for one in encoded if one.vectors is not None]
            batch["inputs_embeds"] = pad_sequence(rows, batch_first=True)
        else:
            assert self.words is not None
            ids = [torch.tensor(self.words.ids(one.words, chance)) for one in encoded]
            batch["input_ids"] = pad_sequence(ids, batch_first=True)
        return batch

    def _plan(self, tree: AnyTree, unseen: Counter[str]) -> Mapping[str, Any]:
        if self.plan == "levels" or not isinstance(tree, Tree):
            return {}
        ids = {label: number for number, label in enumerate(self.labels)}
        return plan_tree(tree, ids, unknown=0, unseen=unseen) if ids else plan_tree(tree)


def count_unseen(found: Counter[str], unseen: Counter[str]) -> None:
    """Count labels of nodes that were read as unknown, and report those that come for the first time.

    Args:
        found: of this call.
        unseen: of all calls before, to which they are added.
    """
    new = [f"{label!r} ({count})" for label, count in found.most_common() if label not in unseen]
    unseen.update(found)
    if new:
        more = f" and {len(new) - _NAMED} more" if len(new) > _NAMED else ""
        logger.warning(
            "labels that no training tree had are read as unknown: %s%s", ", ".join(new[:_NAMED]), more
        )


@lru_cache(maxsize=1)
def _frozen_encoder(folder: str, layers: int) -> FrozenEncoder:
    return FrozenEncoder.load(folder, layers=layers)


@lru_cache(maxsize=3)  # the parts of a corpus, which every seed reads anew
def _frozen_vectors(folder: str, layers: int, sentences: tuple[tuple[str, ...], ...]) -> list[Tensor]:
    return [found.half() for found in _frozen_encoder(folder, layers).encode(sentences)]


def check_kind(trees: Sequence[AnyTree], expected: type[K]) -> Sequence[K]:
    """The trees, all of the one kind.

    Raises:
        ValueError: a tree of another kind.
    """
    for number, tree in enumerate(trees, start=1):
        if not isinstance(tree, expected):
            raise ValueError(f"tree {number} is a {type(tree).__name__}, expected a {expected.__name__}")
    return cast(Sequence[K], trees)


def vocabulary(trees: Sequence[AnyTree], lowercase: bool, min_frequency: int = 1) -> SentenceReader:
    """The words of trees, with classes for unknown ones.

    Args:
        trees: what is trained on.
        lowercase: as of `TreeReader`.
        min_frequency: rarer words are left to their class.
    """
    return SentenceReader.from_words(
        ([_form(word, lowercase) for word in tree.words] for tree in trees), min_frequency
    )


def _form(word: str, lowercase: bool) -> str:
    word = unescape_word(word)
    return word.lower() if lowercase else word
