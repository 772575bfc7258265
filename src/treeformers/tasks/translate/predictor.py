"""Sentences or trees into another language, with trained translation models that see the tree of the source.

Shapes: B sentences, T leaves, N nodes, S target units.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedTokenizerFast, StoppingCriteria

from treeformers.models.accumulation import AccumulationConfig
from treeformers.models.translation import AccumulationForTranslation
from treeformers.recipes import Beam, TranslateRecipe
from treeformers.tasks.batching import by_tokens
from treeformers.tasks.inputs import check_kind, count_unseen
from treeformers.tasks.load import check_positive, listed
from treeformers.tasks.tree_sources import complete_trees
from treeformers.training.model_folder import load_weights, read_settings
from treeformers.trees.batch import collate_plans, plan_tree, split_subwords
from treeformers.trees.escapes import unescape_word
from treeformers.trees.files import atomic_write, read_object
from treeformers.trees.tree import Tree

__all__ = ["Look", "SourceReader", "Translator", "train_units"]

READER = "reader.json"
PAD, START, END, UNKNOWN = "[PAD]", "<s>", "</s>", "[UNK]"
LARGEST_BATCH = 2000
"""Source units in a batch, padding included."""
LONGER = 2
"""A translation has at most so many times the units of its source, and 20 more."""


@dataclass(frozen=True)
class SourceReader:
    """Trees of the source to the inputs of the encoder, and text of the target to ids and back.

    Attributes:
        units: byte-pair encoding that both languages share.
        labels: labels of nodes; the first stands for unknown ones.
        lowercase: whether both sides are read in lower case.
        unseen: how often labels of nodes that are not among `labels` were read as unknown.
    """

    units: PreTrainedTokenizerFast
    labels: tuple[str, ...]
    lowercase: bool = False
    unseen: Counter[str] = field(default_factory=Counter, compare=False, repr=False)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save_pretrained` wrote.

        Raises:
            FileNotFoundError: no such files.
            ValueError: a damaged file.
        """
        for name in (READER, "tokenizer.json"):
            if not (folder / name).is_file():
                raise FileNotFoundError(
                    f"{folder / name}: no such file, expected the folder of a translation model"
                )
        path = folder / READER
        content = read_object(path)
        try:
            labels, lowercase = tuple(content["labels"]), bool(content["lowercase"])
        except (TypeError, KeyError) as error:
            raise ValueError(f"{path}: damaged: {error}") from None
        try:
            return cls(PreTrainedTokenizerFast.from_pretrained(folder), labels, lowercase)
        except Exception as error:  # tokenizers raises kinds of its own
            raise ValueError(f"{folder}: damaged tokenizer: {' '.join(str(error).split())[:300]}") from None

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the units and `reader.json`."""
        self.units.save_pretrained(str(folder))
        with atomic_write(Path(folder) / READER) as file:
            json.dump({"labels": self.labels, "lowercase": self.lowercase}, file, ensure_ascii=False)

    def encode(self, trees: Sequence[Tree]) -> list[dict[str, Any]]:
        """Trees over words to trees over units: `input_ids` and the plan of each.

        A word of several units becomes a subtree (Nguyen et al. 2020, Fig. 7). Labels that are not among
        `labels` are read as unknown; each is reported when it first comes.
        """
        unseen: Counter[str] = Counter()
        labels = {label: number for number, label in enumerate(self.labels)}
        found = []
        for tree, pieces in zip(trees, self._pieces(trees), strict=True):
            split = split_subwords(tree, [[str(piece) for piece in of] for of in pieces])
            numbers = [piece for of in pieces for piece in of]
            found.append({"input_ids": numbers, "plan": plan_tree(split, labels, unknown=0, unseen=unseen)})
        count_unseen(unseen, self.unseen)
        return found

    def split(self, tree: Tree) -> Tree:
        """A tree over units, as the model sees it, with the text of each."""
        (pieces,) = self._pieces([tree])
        return split_subwords(tree, [[self.unit(piece) for piece in of] for of in pieces])

    def unit(self, number: int) -> str:
        """The text of a unit; what is part of a letter alone, or a blank, has a sign of its own."""
        return str(self.units.decode([number])).strip() or "\u2423"

    def _pieces(self, trees: Sequence[Tree]) -> list[list[list[int]]]:
        """Ids of the units of every word."""
        words = [[" " + self.form(unescape_word(word)) for word in tree.words] for tree in trees]
        cut = iter(self._cut([word for row in words for word in row]))
        return [[next(cut) for _ in row] for row in words]

    def encode_target(self, texts: Sequence[str]) -> list[list[int]]:
        """Texts to ids with the end mark."""
        rows = self._cut([" " + self.form(text.strip()) for text in texts])
        return [[*row, self.units.eos_token_id] for row in rows]

    def collate(self, encoded: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
        """A batch of sources."""
        batch = collate_plans([one["plan"] for one in encoded])
        batch["node_ids"] = batch.pop("node_labels").clamp_min(0)
        rows = [torch.tensor(one["input_ids"]) for one in encoded]
        batch["input_ids"] = pad_sequence(rows, batch_first=True)
        return batch

    def decode(self, ids: Sequence[int]) -> str:
        """Text of target ids."""
        return str(self.units.decode(list(ids), skip_special_tokens=True)).strip()

    def form(self, text: str) -> str:
        """A text as the model reads it."""
        return text.lower() if self.lowercase else text

    def _cut(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of the units of texts; what looks like a special token, such as "</s>", is text too."""
        if not texts:
            return []
        settings = {"add_special_tokens": False, "split_special_tokens": True}
        return list(self.units(list(texts), **settings)["input_ids"])


def train_units(lines: Iterable[str], size: int) -> PreTrainedTokenizerFast:
    """Byte-pair encoding over the bytes of lines, so that no text is unknown.

    Args:
        lines: of both languages.
        size: most entries, the special ones and the 256 bytes among them.
    """
    units = Tokenizer(models.BPE())
    units.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    units.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[PAD, START, END, UNKNOWN],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    units.train_from_iterator((" " + line for line in lines), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=units, pad_token=PAD, bos_token=START, eos_token=END, unk_token=UNKNOWN
    )


@dataclass(frozen=True, slots=True)
class Look:
    """Where a translation model looks.

    Attributes:
        tree: of the source, over the units that the model sees.
        units: of the target, the end mark last.
        shares: for each of them, the share of attention of each node of the tree in pre-order, leaves too, a
            mean over layers and heads; they sum to 1.
    """

    tree: Tree
    units: tuple[str, ...]
    shares: tuple[tuple[float, ...], ...]


class Translator:
    """Translates with one trained model.

    Args:
        model: the translation model.
        reader: how it reads trees.
        trees: where the trees of raw text come from, as in `ParallelText.trees`.
        beam: how it searches.
    """

    def __init__(
        self,
        model: AccumulationForTranslation,
        reader: SourceReader,
        trees: str = "right",
        beam: Beam | None = None,
    ) -> None:
        self.model, self.reader, self.trees = model.eval(), reader, trees
        self.beam = Beam(size=5) if beam is None else beam

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
        folder = Path(folder)
        recipe, _ = read_settings(folder, TranslateRecipe, AccumulationConfig.model_type)
        model = load_weights(AccumulationForTranslation, folder)
        reader = SourceReader.load(folder)
        sizes = len(reader.units), len(reader.labels)
        expected = model.config.vocab_size, model.config.node_vocab_size
        if sizes != expected:
            raise ValueError(f"{folder}: {sizes} units and labels, the model has {expected}")
        model.to(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        return cls(model, reader, recipe.data.trees, recipe.beam)

    def translate(
        self, texts: Iterable[Tree | str | Sequence[str]], trees: str | None = None, beam: int | None = None
    ) -> list[str]:
        """Translations of texts, in their order.

        Args:
            texts: trees, strings, or lists of words.
            trees: where the trees of those that are none come from, see
                `treeformers.tasks.tree_sources.find_trees`; as in training by default.
            beam: hypotheses kept; those of the recipe by default.

        Raises:
            ValueError: one string, a text without words or one longer than the model reads, text without a
                tree and nothing to make one, or a beam below 1.
        """
        beam = self.beam.size if beam is None else beam
        check_positive(beam=beam)
        given = listed(texts, "texts")
        encoded = self.reader.encode(check_kind(complete_trees(given, trees, self.trees), Tree))
        longest = self.model.config.max_position_embeddings
        for number, one in enumerate(encoded, start=1):
            if len(one["input_ids"]) > longest:
                raise ValueError(
                    f"text {number} has {len(one['input_ids'])} units, the model reads at most {longest}"
                )
        found: dict[int, str] = {}
        for numbers in by_tokens([len(one["input_ids"]) for one in encoded], LARGEST_BATCH):
            rows = self._search([encoded[number] for number in numbers], beam)
            found.update(zip(numbers, rows, strict=True))
        return [found[number] for number in range(len(given))]

    @torch.inference_mode()
    def look(self, text: Tree | str | Sequence[str], translation: str = "", trees: str | None = None) -> Look:
        """Where the decoder looks in the tree of the source as it writes each unit of the target.

        Args:
            text: of the source.
            translation: what the decoder is made to write; by default what it writes itself.
            trees: where the tree of what is none comes from, see `translate`.

        Raises:
            ValueError: as in `translate`, or a model that sees no trees.
        """
        if not self.model.config.tree:
            raise ValueError("this model sees no trees: there is no attention on nodes")
        (tree,) = check_kind(complete_trees([text], trees, self.trees), Tree)
        (target,) = self.reader.encode_target([translation or self.translate([tree])[0]])
        inputs = self.reader.collate(self.reader.encode([tree]))
        inputs["labels"] = torch.tensor([target])
        inputs = {name: part.to(self.model.device) for name, part in inputs.items()}
        output = self.model(**inputs, output_attentions=True)
        weights = torch.stack(output.cross_attentions).mean((0, 2))[0].cpu()  # over layers and heads
        split = self.reader.split(tree)
        nodes, leaves = weights.split((weights.shape[1] - len(split), len(split)), dim=1)
        shares = []
        for of_nodes, of_leaves in zip(nodes.tolist(), leaves.tolist(), strict=True):
            left = iter(of_nodes), iter(of_leaves)
            shares.append(tuple(next(left[node.is_leaf]) for node in split.nodes()))
        return Look(split, (*map(self.reader.unit, target[:-1]), END), tuple(shares))

    @torch.inference_mode()
    def node_shares(self, pairs: Iterable[tuple[Tree, str]]) -> tuple[float, float]:
        """How much of the cross-attention lies on nodes rather than leaves (Nguyen et al. 2020, Table 4).

        Args:
            pairs: trees of the source, and their translations, which the decoder is made to write.

        Returns:
            In per cent, the share of the attention of all target units, layers and heads that lies on nodes;
            and the share of nodes among nodes and leaves.

        Raises:
            ValueError: no pairs, or a model that sees no trees.
        """
        given = list(pairs)
        if not given or not self.model.config.tree:
            raise ValueError(f"{len(given)} pairs, expected some and a model that sees trees")
        encoded = self.reader.encode([tree for tree, _ in given])
        targets = self.reader.encode_target([text for _, text in given])
        on_nodes = units = nodes = leaves = 0.0
        for numbers in by_tokens([len(one["input_ids"]) for one in encoded], LARGEST_BATCH):
            batch = self.reader.collate([encoded[number] for number in numbers])
            rows = [torch.tensor(targets[number]) for number in numbers]
            labels = pad_sequence(rows, batch_first=True, padding_value=-100)
            inputs = {name: part.to(self.model.device) for name, part in batch.items()}
            output = self.model(**inputs, labels=labels.to(self.model.device), output_attentions=True)
            count = batch["node_mask"].shape[1]
            weights = torch.stack(output.cross_attentions)[..., :count].sum(-1).mean((0, 2)).cpu()
            on_nodes += float(weights[labels != -100].sum())
            units += float((labels != -100).sum())
            nodes += float(batch["node_mask"].sum())
            leaves += float(batch["attention_mask"].sum())
        return 100 * on_nodes / units, 100 * nodes / (nodes + leaves)

    @torch.inference_mode()
    def _search(self, encoded: Sequence[dict[str, Any]], beam: int) -> list[str]:
        batch = self.reader.collate(encoded)
        most = torch.tensor([LONGER * len(one["input_ids"]) + 20 for one in encoded])
        ids = self.model.generate(
            **{name: part.to(self.model.device) for name, part in batch.items()},
            num_beams=beam,
            length_penalty=self.beam.length_penalty,
            max_new_tokens=int(most.max()),
            stopping_criteria=[_Lengths(most.to(self.model.device))],
            do_sample=False,
        )
        return [self.reader.decode(row) for row in ids.tolist()]


class _Lengths(StoppingCriteria):
    """Ends each translation at a length of its own, so that it does not depend on the others of its batch."""

    def __init__(self, most: Tensor) -> None:
        self.most = most

    def __call__(self, input_ids: Tensor, scores: Any, **kwargs: Any) -> Tensor:
        hypotheses = len(input_ids) // len(self.most)
        written = input_ids.shape[1] - 1  # without the start mark
        return written >= self.most.repeat_interleave(hypotheses)
