"""Sentences for the parser: vocabularies, classes of unknown words, and padded batches.

Shapes: B batch, T words of the longest sentence with the end mark, U different words in a batch, C characters
of the longest of them, P pieces, S actions, M positions that a step reads.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerBase

from treeformers.trees.escapes import unescape_word
from treeformers.trees.files import atomic_write
from treeformers.trees.tree import Tree

__all__ = ["END", "VOCABULARY", "PieceReader", "SentenceReader", "word_class"]

VOCABULARY = "vocabulary.json"
PAD, END = "[PAD]", "</s>"
RARE = 0.8375
"""z: in training a word seen f times is unknown with probability z / (z + f) (Cross and Huang 2016)."""
LONGEST_WORD = 24
"""Characters read of a word; of a longer one its two ends."""

_SUFFIX = re.compile(
    r"(?:ings?|ed|ly|tions?|sions?|ness|ments?|ity|ies|able|ible|al|ous|ive|ers?|ors?|est|ists?|isms?|ful|"
    r"less|ize[sd]?|ate[sd]?|ian|an|ic|y|es|s)$"
)


@lru_cache(maxsize=1 << 16)
def word_class(word: str) -> str:
    """The class that an unknown word is read as: capitals, digits, hyphen and suffix, as in "<Aa-ing>".

    Such classes are older than neural parsers; Petrov et al. (2006) use them much alike.
    """
    if not any(map(str.isalnum, word)):
        return "<sign>"
    if word[0].isdigit() or (word[0] in "+-.,'$" and any(map(str.isdigit, word))):
        return "<0-0>" if "-" in word else "<0a>" if any(map(str.isalpha, word)) else "<0>"
    shape = "AA" if word.isupper() and len(word) > 1 else "Aa" if word[0].isupper() else "a"
    if any(map(str.isdigit, word)):
        shape += "0"
    if "-" in word:
        shape += "-"
    suffix = _SUFFIX.search(word.lower()) if len(word) > 3 else None
    return f"<{shape}-{suffix[0]}>" if suffix else f"<{shape}>"


@dataclass(frozen=True)
class SentenceReader:
    """Words to tensors.

    A word that is not in the vocabulary is read as its lower-cased form, as its class, or as "<a>", the first
    of these that is there.

    Attributes:
        words: words and classes, with "[PAD]" and the end mark "</s>" first.
        chars: characters, with "[PAD]" and "[UNK]" first; none without a character channel.
        tags: part-of-speech tags, with "[PAD]" and "[UNK]" first; none if no tags are read.
        counts: how often each of `words` was seen in training; 0 for the classes.
    """

    words: tuple[str, ...]
    chars: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    counts: tuple[int, ...] = field(default=(), repr=False)

    @classmethod
    def from_trees(
        cls, trees: Iterable[Tree], min_frequency: int = 1, chars: bool = False, tags: bool = False
    ) -> Self:
        """Collect the vocabularies of a treebank.

        Args:
            trees: the treebank.
            min_frequency: rarer words are left to their class.
            chars: with a character channel.
            tags: with a channel for tags that the user gives.
        """
        kept = list(trees)
        reader = cls.from_words((map(unescape_word, tree.words) for tree in kept), min_frequency)
        letters = sorted({letter for tree in kept for word in tree.words for letter in unescape_word(word)})
        seen_tags = sorted({tag for tree in kept for tag in tree.tags})
        return replace(
            reader,
            chars=(PAD, "[UNK]", *letters) if chars else (),
            tags=(PAD, "[UNK]", *seen_tags) if tags else (),
        )

    @classmethod
    def from_words(cls, sentences: Iterable[Iterable[str]], min_frequency: int = 1) -> Self:
        """Collect the words of sentences.

        Args:
            sentences: their words.
            min_frequency: rarer words are left to their class.
        """
        seen = Counter(word for words in sentences for word in words)
        kept = sorted(word for word, count in seen.items() if count >= min_frequency)
        classes = sorted({word_class(word) for word in seen} | {"<a>"})
        return cls(
            words=(PAD, END, *classes, *kept),
            counts=(*[0] * (2 + len(classes)), *(seen[word] for word in kept)),
        )

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save_pretrained` wrote.

        Raises:
            FileNotFoundError: no such file.
            ValueError: a damaged file.
        """
        path = folder / VOCABULARY
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            reader = cls(**{name: tuple(values) for name, values in content.items()})
            if reader.words[:2] != (PAD, END) or "<a>" not in reader.words:
                raise TypeError(f"expected words that begin with {PAD} and {END}, and <a> among them")
            return reader
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"{path}: damaged vocabulary: {error}") from None

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the vocabularies to `vocabulary.json`."""
        with atomic_write(Path(folder) / VOCABULARY) as file:
            json.dump(asdict(self), file, ensure_ascii=False)

    def word_id(self, word: str) -> int:
        """The number that a word is read as; "-LRB-" and "(" are the same word."""
        ids = self._word_ids
        word = unescape_word(word)
        for form in (word, word.lower(), word_class(word)):
            if form in ids:
                return ids[form]
        return ids["<a>"]

    def class_id(self, word: str) -> int:
        """The number of the class of a word."""
        return self._word_ids.get(word_class(unescape_word(word)), self._word_ids["<a>"])

    def batch(
        self,
        sentences: Sequence[Sequence[str]],
        tags: Sequence[Sequence[str]] | None = None,
        chance: random.Random | None = None,
    ) -> dict[str, Tensor]:
        """Sentences to the inputs of `WordEncoder`.

        Args:
            sentences: the words, at least one a sentence.
            tags: their tags, where the model reads tags.
            chance: in training, decides which rare words are read as unknown.

        Returns:
            `lengths` (B,) counting the end mark, `word_ids` (B, T), and by the channels `char_ids` (U, C),
            `char_index` (B, T) and `tag_ids` (B, T).
        """
        ids = [[*self.ids(words, chance), 1] for words in sentences]
        batch = {"lengths": torch.tensor([len(row) for row in ids]), "word_ids": _padded(ids)}
        if self.chars:
            different = dict.fromkeys(word for words in sentences for word in words)
            index = {word: row for row, word in enumerate(different, start=1)}
            batch["char_ids"] = _padded([[1], *map(self._char_ids, different)])
            batch["char_index"] = _padded([[*(index[word] for word in words), 0] for words in sentences])
        if self.tags:
            if tags is None:
                raise ValueError("the model reads part-of-speech tags, and none were given")
            known = self._tag_ids
            batch["tag_ids"] = _padded([[*(known.get(tag, 1) for tag in row), 1] for row in tags])
        return batch

    def lengths(self, sentences: Sequence[Sequence[str]]) -> list[tuple[int, ...]]:
        """What `batch` pads of each sentence: its words."""
        return [(len(words),) for words in sentences]

    def ids(self, words: Sequence[str], chance: random.Random | None = None) -> list[int]:
        """The numbers that words are read as; see `batch`."""
        return [self._read(word, chance) for word in words]

    def _read(self, word: str, chance: random.Random | None) -> int:
        number = self.word_id(word)
        if chance is not None and chance.random() * (RARE + self.counts[number]) < RARE:
            return self.class_id(word)
        return number

    def _char_ids(self, word: str) -> list[int]:
        text = unescape_word(word)
        if len(text) > LONGEST_WORD:
            text = text[: LONGEST_WORD // 2] + text[-LONGEST_WORD // 2 :]
        return [self._letter_ids.get(letter, 1) for letter in text] or [1]

    @cached_property
    def _word_ids(self) -> dict[str, int]:
        # Nobody's word is the padding or the end mark.
        return {word: number for number, word in enumerate(self.words[2:], start=2)}

    @cached_property
    def _letter_ids(self) -> dict[str, int]:
        return {letter: number for number, letter in enumerate(self.chars)}

    @cached_property
    def _tag_ids(self) -> dict[str, int]:
        return {tag: number for number, tag in enumerate(self.tags)}


@dataclass(frozen=True)
class PieceReader:
    """Words to the pieces that a pretrained encoder reads.

    A word stands for the last of its pieces, the end mark for the last piece of the sentence.

    Attributes:
        tokenizer: of the encoder.
        limit: pieces that it reads at once.

    Raises:
        ValueError: a tokenizer without the marks of an encoder such as BERT, or no room for a piece.
    """

    tokenizer: PreTrainedTokenizerBase
    limit: int = 512

    def __post_init__(self) -> None:
        if self.limit < 3:
            raise ValueError(f"limit is {self.limit}, expected at least 3: a piece between two marks")
        for mark in ("cls_token", "sep_token", "pad_token"):
            if getattr(self.tokenizer, mark) is None:
                raise ValueError(f"the tokenizer has no {mark}, expected one of an encoder such as BERT")

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save_pretrained` wrote; an encoder's own folder does as well."""
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False).to_dict()
        settings = config.get("pretrained") or config
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        # Some encoders have more positions than they use: the RoBERTa family, two.
        limit = min(settings.get("max_position_embeddings") or 512, tokenizer.model_max_length)
        return cls(tokenizer, limit)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the tokenizer."""
        self.tokenizer.save_pretrained(folder)

    def batch(
        self,
        sentences: Sequence[Sequence[str]],
        tags: Sequence[Sequence[str]] | None = None,
        chance: random.Random | None = None,
    ) -> dict[str, Tensor]:
        """Sentences to `lengths` (B,) counting the end mark, `piece_ids` (B', P) and `piece_index` (B, T).

        `piece_index` counts through the rows of `piece_ids`. A sentence longer than the encoder reads stands
        on several rows that overlap by half, and a word is taken from where it is farthest from an end. A
        word for which the tokenizer has nothing is read as its token for unknown words, and of one with more
        pieces than the encoder reads the first ones are read.
        """
        rows, places = self.cut(sentences)
        piece_ids = _padded(rows, self.tokenizer.pad_token_id)
        index = [[row * piece_ids.shape[1] + stop - 1 for row, _, stop in place] for place in places]
        return {
            "lengths": torch.tensor([len(place) for place in places]),
            "piece_ids": piece_ids,
            "piece_index": _padded(index),
        }

    def lengths(self, sentences: Sequence[Sequence[str]]) -> list[tuple[int, ...]]:
        """What `batch` pads of each sentence: its words, and its pieces with the marks."""
        rows, places = self.cut(sentences)
        return [(len(place) - 1, sum(map(len, rows[place[0][0] : place[-1][0] + 1]))) for place in places]

    def cut(
        self, sentences: Sequence[Sequence[str]]
    ) -> tuple[list[list[int]], list[list[tuple[int, int, int]]]]:
        """Sentences to rows of pieces, and by sentence the place of every word and of the end mark.

        Returns:
            The rows, marks included, and of each word its row, its first piece there and the one behind its
            last. Of long sentences and odd words see `batch`.
        """
        rows: list[list[int]] = []
        places: list[list[tuple[int, int, int]]] = []
        for words in sentences:
            # By the blank before it, tokenizers over bytes tell a word from the inside of one.
            cut = self.tokenizer(
                [" " + unescape_word(word) for word in words],
                add_special_tokens=False,
                return_attention_mask=False,
                verbose=False,  # a word of more pieces than the model has positions is cut below
            )["input_ids"]
            room = self.limit - 2
            pieces = [word[:room] or [self.tokenizer.unk_token_id] for word in cut]
            found: dict[int, tuple[int, int, int]] = {}
            for start, stop, first in _windows([len(word) for word in pieces], room):
                row = [self.tokenizer.cls_token_id]
                for word in range(start, stop):
                    row += pieces[word]
                    if word >= first:
                        found[word] = (len(rows), len(row) - len(pieces[word]), len(row))
                rows.append([*row, self.tokenizer.sep_token_id])
            end = len(rows[-1])
            places.append([*(found[word] for word in range(len(words))), (len(rows) - 1, end - 1, end)])
        return rows, places


def _windows(sizes: Sequence[int], limit: int) -> Iterator[tuple[int, int, int]]:
    """Start and stop of windows over words of so many pieces, and the first word to take from each.

    No word has more pieces than the limit.
    """
    start = first = 0
    while True:
        stop, total = start, 0
        while stop < len(sizes) and total + sizes[stop] <= limit:
            total += sizes[stop]
            stop += 1
        yield start, stop, first
        if stop == len(sizes):
            return
        middle = (start + stop + 1) // 2
        start, first = middle, (middle + stop) // 2


def _padded(rows: Sequence[Sequence[Any]], value: int = 0) -> Tensor:
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=value)
