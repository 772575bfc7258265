"""A trained parser: raw strings or lists of words to trees with labels and tags."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, Self

import torch
from torch import Tensor, nn

from treeformers.data.penn_tokenizer import split_words
from treeformers.data.sentences import END, VOCABULARY, PieceReader, SentenceReader
from treeformers.models.parser import Memory, ParserConfig, TreeParser
from treeformers.recipes import ParseRecipe
from treeformers.tasks.batching import batches
from treeformers.tasks.load import Sentence, check_positive, words_of
from treeformers.tasks.parse.beam import Hypotheses, search
from treeformers.training.model_folder import EXPECTED, load_weights, wrap_load_errors, seed_folders, read_settings
from treeformers.trees.actions import from_bottom_up, from_top_down, is_well_formed
from treeformers.trees.tree import Tree

__all__ = ["Analysis", "Parser", "load_reader"]

logger = logging.getLogger(__name__)


class Reader(Protocol):
    """What turns words into the inputs of a model."""

    def batch(
        self,
        sentences: Sequence[Sequence[str]],
        tags: Sequence[Sequence[str]] | None = None,
    ) -> dict[str, Tensor]: ...


class Analysis(NamedTuple):
    """One tree of a sentence.

    Attributes:
        tree: the tree.
        score: the log-probability in nats of the best derivation found; of several models their mean.
            Bottom-up, a node of three parts or more has several derivations, top-down a tree has one.
    """

    tree: Tree
    score: float


class Parser:
    """Parses sentences with one trained model or an ensemble.

    The trees have exactly the words given: a raw string is cut as the Penn Treebank cuts it, a list of words
    is left as it is. Any words give a tree, at any length.

    Args:
        models: one, or several that share their log-probabilities; they differ in what they like but for the
            actions.
        readers: one a model.
        beam: hypotheses kept; 1 is greedy.

    Raises:
        ValueError: no models, models of different actions, or a beam below 1.
    """

    def __init__(self, models: Sequence[TreeParser], readers: Sequence[Reader], beam: int = 10) -> None:
        if not models:
            raise ValueError("no model was given, expected one or several")
        check_positive(beam=beam)
        self.models = [model.eval() for model in models]
        self.readers = list(readers)
        self.beam = beam
        self.actions = tuple(self.models[0].config.actions)
        for model in self.models:
            if tuple(model.config.actions) != self.actions:
                raise ValueError("the models of an ensemble have different actions: expected one treebank's")

    @classmethod
    def from_pretrained(cls, *folders: str | Path, device: str | None = None) -> Self:
        """Load what `treeformers train` wrote.

        Args:
            folders: a model folder; one that holds the folders of several seeds is an ensemble, and so are
                several folders.
            device: "cuda" where there is one by default, else "cpu".

        Raises:
            FileNotFoundError: no such folder, or one without a model.
            ValueError: a model of another kind, a damaged file, models of different actions, or no folder.
        """
        if not folders:
            raise ValueError("no model folder was given, expected one or several")
        target = device or ("cuda" if torch.cuda.is_available() else "cpu")
        places = [place for folder in folders for place in seed_folders(Path(folder))]
        loaded = [_load(place) for place in places]
        for model, _, _ in loaded:
            nn.Module.to(model, target)
        models, readers, recipes = zip(*loaded, strict=True)
        return cls(models, readers, recipes[0].beam.size)

    def parse(
        self,
        sentences: Iterable[Sentence],
        batch_size: int = 64,
        beam: int | None = None,
        tags: Iterable[Sequence[str]] | None = None,
        constrained: bool = True,
    ) -> list[Tree]:
        """Trees of the sentences, in their order.

        Args:
            sentences: strings or lists of words.
            batch_size: sentences computed at once, fewer where they have more than 30 words; those of like
                length go together.
            beam: hypotheses kept; those of the model's recipe by default.
            tags: part-of-speech tags to put into the trees, and to read where the model reads tags; a model
                that predicts tags uses its own by default, another writes "XX".
            constrained: follow legal moves only. Top-down, False shows what the model does by itself: its
                brackets are repaired.

        Raises:
            ValueError: a sentence without words or with an empty one, tags that do not fit the words, no
                tags for a model that reads them, or a batch or beam below 1.
        """
        found = self._analyse(sentences, batch_size, beam, tags, 1, constrained)
        return [analyses[0].tree for analyses in found]

    def parse_best(
        self,
        sentences: Iterable[Sentence],
        count: int,
        batch_size: int = 64,
        beam: int | None = None,
        tags: Iterable[Sequence[str]] | None = None,
    ) -> list[list[Analysis]]:
        """The best trees of every sentence, no two alike, best first.

        At most `count`, and fewer where the beam finds fewer: it is at least as wide as `count`, but holds
        derivations, and a tree may have several. Errors as in `parse`, and for a count below 1.
        """
        if count < 1:
            raise ValueError(f"{count} trees were asked for, expected at least 1")
        beam = max(count, self.beam if beam is None else beam)
        return self._analyse(sentences, batch_size, beam, tags, count)

    def malformed(
        self,
        sentences: Iterable[Sentence],
        batch_size: int = 64,
        beam: int | None = None,
        tags: Iterable[Sequence[str]] | None = None,
    ) -> float:
        """The share of sentences, in per cent, whose best unconstrained brackets are no tree."""
        split = _split(sentences)
        given = _split_tags(split, tags)
        wrong = 0
        for numbers, hypotheses, _ in self._batches(split, given, batch_size, beam, 1, False):
            for number, actions in zip(numbers, hypotheses.actions, strict=True):
                tokens = [self.actions[action] for action in actions[0]]
                wrong += tokens[-1] != END or not is_well_formed(tokens[:-1], len(split[number]))
        return 100 * wrong / max(1, len(split))

    def _analyse(
        self,
        sentences: Iterable[Sentence],
        batch_size: int,
        beam: int | None,
        tags: Iterable[Sequence[str]] | None,
        count: int,
        constrained: bool = True,
    ) -> list[list[Analysis]]:
        split = _split(sentences)
        given = _split_tags(split, tags)
        found: list[list[Analysis]] = [[] for _ in split]
        # Bottom-up the whole beam is read: it may hold several derivations of a tree.
        whole = count > 1 and self.models[0].config.linearization == "bottom-up"
        for numbers, hypotheses, predicted in self._batches(
            split, given, batch_size, beam, None if whole else count, constrained
        ):
            for place, number in enumerate(numbers):
                words = split[number]
                row = given[number] if given is not None else predicted[place] if predicted else None
                found[number] = _distinct(
                    (
                        Analysis(self._build(actions, words, row), score)
                        for actions, score in hypotheses.of(place)
                    ),
                    count,
                )
        return found

    def _batches(
        self,
        split: list[list[str]],
        tags: list[list[str]] | None,
        batch_size: int,
        beam: int | None,
        count: int | None,
        constrained: bool,
    ) -> Iterator[tuple[list[int], Hypotheses, list[list[str]] | None]]:
        """Numbers of the sentences, the best hypotheses, and the tags predicted, if a model does."""
        beam = self.beam if beam is None else beam
        check_positive(beam=beam, batch_size=batch_size)
        for batch in batches([len(words) + 1 for words in split], batch_size):
            words = [split[number] for number in batch]
            given = None if tags is None else [tags[number] for number in batch]
            yield batch, *self._search(words, given, beam, count, constrained)

    @torch.inference_mode()
    def _search(
        self,
        words: Sequence[Sequence[str]],
        tags: Sequence[Sequence[str]] | None,
        beam: int,
        count: int | None,
        constrained: bool,
    ) -> tuple[Hypotheses, list[list[str]] | None]:
        memories = [
            _read(model, reader, words, tags) for model, reader in zip(self.models, self.readers, strict=True)
        ]
        found = search(self.models, memories, beam, constrained, count)
        return found, self._predict_tags(memories, words)

    def _predict_tags(
        self, memories: Sequence[Memory], words: Sequence[Sequence[str]]
    ) -> list[list[str]] | None:
        for model, memory in zip(self.models, memories, strict=True):
            if memory.tag_logits is not None:
                names = model.config.tags
                best = memory.tag_logits.argmax(-1).tolist()
                return [[names[tag] for tag in row[: len(of)]] for row, of in zip(best, words, strict=True)]
        return None

    def _build(self, actions: Sequence[int], words: Sequence[str], tags: Sequence[str] | None) -> Tree:
        tokens = [self.actions[action] for action in actions]
        if self.models[0].config.linearization == "bottom-up":
            return from_bottom_up(tokens, words, tags)
        return from_top_down([token for token in tokens if token != END], words, tags)


def _distinct(analyses: Iterable[Analysis], count: int) -> list[Analysis]:
    """The first `count` trees, each as it comes first."""
    best: dict[Tree, Analysis] = {}
    for analysis in analyses:
        best.setdefault(analysis.tree, analysis)
        if len(best) == count:
            break
    return list(best.values())


def load_reader(folder: Path) -> Reader:
    """The reader that was saved with a model.

    Raises:
        ValueError: a damaged file.
    """
    if (folder / VOCABULARY).is_file():
        return SentenceReader.load(folder)
    return PieceReader.load(folder)


def _read(
    model: TreeParser,
    reader: Reader,
    words: Sequence[Sequence[str]],
    tags: Sequence[Sequence[str]] | None,
) -> Memory:
    inputs = reader.batch(words, tags)
    return model.read(**{name: part.to(model.device) for name, part in inputs.items()})


def _load(folder: Path) -> tuple[TreeParser, Reader, ParseRecipe]:
    recipe, config = read_settings(folder, ParseRecipe, ParserConfig.model_type)
    if config.get("encoder") != "pretrained" and not (folder / VOCABULARY).is_file():
        raise FileNotFoundError(f"{folder / VOCABULARY}: {EXPECTED}")
    model: TreeParser = load_weights(TreeParser, folder)
    with wrap_load_errors(folder if (folder / VOCABULARY).is_file() else folder / "tokenizer.json"):
        reader = load_reader(folder)
    if isinstance(reader, SentenceReader):
        sizes = len(reader.words), len(reader.chars), len(reader.tags)
        expected = model.config.vocab_size, model.config.char_vocab_size, model.config.tag_vocab_size
        if sizes != expected:
            raise ValueError(
                f"{folder / VOCABULARY}: {sizes} words, characters and tags, the model has {expected}"
            )
    return model, reader, recipe


def _split(sentences: Iterable[Sentence]) -> list[list[str]]:
    return words_of(sentences, split_words)


def _split_tags(
    split: Sequence[Sequence[str]], tags: Iterable[Sequence[str]] | None
) -> list[list[str]] | None:
    if tags is None:
        return None
    rows = list(tags)
    if len(split) != len(rows):
        raise ValueError(f"tags of {len(rows)} sentences were given for {len(split)} sentences")
    for number, (words, row) in enumerate(zip(split, rows, strict=True), start=1):
        if isinstance(row, str):
            raise ValueError(f"sentence {number} has the tags {row!r}: expected a list of tags")
        if len(words) != len(row):
            raise ValueError(f"sentence {number} has {len(words)} words and {len(row)} tags")
    return [list(row) for row in rows]
