"""A trained TreeBert as a parser: raw sentences to links, trees, heat maps and pseudo-perplexity."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from treeformers.data.text import normalize_word
from treeformers.induction import build_tree, cky_trees, greedy_tree
from treeformers.models.treebert import TreeBertConfig, TreeBertForMaskedLM
from treeformers.recipes import Decoding, InduceRecipe
from treeformers.tasks.batching import batches
from treeformers.tasks.load import Sentence, check_positive, words_of
from treeformers.training.model_folder import load_tokenizer, load_weights, read_settings
from treeformers.trees.tree import Tree

__all__ = ["Inducer", "Look", "Pieces"]

logger = logging.getLogger(__name__)

_SURROGATE = re.compile("[\ud800-\udfff]")


LONGEST_BLOCKS = 1000
"""Words of the longest sentence decoded by "cky", which takes O(T^3); half a second at this length."""
LONGEST_HEAT_MAP = 100
"""Words of the longest sentence whose heat maps a notebook shows: they have the square of it in cells."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a model computes inside for one sentence of T words.

    Attributes:
        words: as given.
        links: (L, T-1), the probability that neighbouring words share a constituent.
        priors: (L, T, T), the constituent prior C of Eqs. 3-4.
        attentions: (L, T, T), the attention E of Eq. 2, mean of the heads.
    """

    words: tuple[str, ...]
    links: NDArray[np.float64]
    priors: NDArray[np.float64]
    attentions: NDArray[np.float64]

    def _repr_html_(self) -> str | None:
        """Heat maps by layer for a notebook; none of more words than can be told apart."""
        from treeformers.drawing import heat_maps_unscripted

        if len(self.words) > LONGEST_HEAT_MAP:
            return None
        maps = {"Prior": (list(self.priors), 1.0), "Attention": (list(self.attentions), None)}
        return heat_maps_unscripted(maps, self.words)


@dataclass(frozen=True, slots=True)
class Pieces:
    """The links of one sentence between all its K tokens.

    Attributes:
        tokens: as the tokenizer cuts the sentence, without those that it adds.
        words: the word of each token, counted from 0.
        links: (L, K-1).
    """

    tokens: tuple[str, ...]
    words: tuple[int, ...]
    links: NDArray[np.float64]


class _Case(NamedTuple):
    """A sentence of which some places are to be masked.

    Attributes:
        number: of the sentence.
        tokens: all its tokens.
        words: the word of each, -1 for none.
        places: of the tokens of one word.
    """

    number: int
    tokens: list[int]
    words: list[int]
    places: list[int]


class Inducer:
    """Parses sentences with a TreeBert trained on raw text.

    A word cut into several tokens is linked to the next word by the link between its last token and
    the first one of the next.

    Args:
        model: with a prior; a plain Transformer has no links to read.
        tokenizer: its tokenizer.
        decoding: how trees are read from links.
        normalize: the model reads lower-cased words and N for numbers, as it was trained.
    """

    def __init__(
        self,
        model: TreeBertForMaskedLM,
        tokenizer: PreTrainedTokenizerBase,
        decoding: Decoding | None = None,
        normalize: bool = False,
    ) -> None:
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.decoding = decoding or Decoding()
        self.normalize = normalize

    @classmethod
    def from_pretrained(cls, folder: str | Path, device: str | None = None) -> Self:
        """Load a model folder that `treeformers train` wrote.

        Args:
            folder: the model folder.
            device: "cuda" where there is one by default, else "cpu".

        Raises:
            FileNotFoundError: no such folder, or one without a model.
            ValueError: a model of another kind, or a damaged file.
        """
        folder = Path(folder)
        recipe, _ = read_settings(folder, InduceRecipe, TreeBertConfig.model_type)
        model = load_weights(TreeBertForMaskedLM, folder, attn_implementation="sdpa")
        tokenizer = load_tokenizer(folder)
        if model.config.prior == "none":
            logger.info("%s is a plain Transformer: it has perplexity, but no trees", folder)
        target = device or ("cuda" if torch.cuda.is_available() else "cpu")
        return cls(model.to(target), tokenizer, recipe.decoding, recipe.data.normalize)

    def parse(
        self,
        sentences: Iterable[Sentence],
        batch_size: int = 64,
        layer: int | None = None,
        decoding: Decoding | None = None,
    ) -> list[Tree]:
        """Trees of the sentences, in their order, over their words as given.

        Args:
            sentences: strings, split at white space, or lists of words.
            batch_size: sentences computed at once, fewer where they have more than 30 tokens; those of
                like length go together.
            layer: read this layer alone; negative ones count from the top.
            decoding: how to read trees; the model's own way by default.

        Raises:
            ValueError: a sentence without words, a batch below 1, a layer that is not there, or a model
                without a prior.
        """
        split = words_of(sentences)
        decoding = decoding or self.decoding
        if layer is not None:
            decoding = Decoding(method="greedy", layer=layer)
        trees: list[Tree | None] = [None] * len(split)
        for numbers, links in self._word_links(split, batch_size):
            words = [split[number] for number in numbers]
            for number, tree in zip(numbers, read_trees(links, words, decoding), strict=True):
                trees[number] = tree
        return [tree for tree in trees if tree is not None]

    def links(self, sentences: Iterable[Sentence], batch_size: int = 64) -> list[NDArray[np.float64]]:
        """The links (L, T-1) of every sentence; arguments and errors as in `parse`."""
        split = words_of(sentences)
        result: list[Any] = [None] * len(split)
        for numbers, links in self._word_links(split, batch_size):
            for number, link in zip(numbers, links, strict=True):
                result[number] = link
        return result

    def token_links(self, sentences: Iterable[Sentence], batch_size: int = 64) -> list[Pieces]:
        """The links between the tokens of every sentence, those within words too.

        Raises:
            ValueError: as in `parse`, and for a model that links whole words: there the tokens of a word
                belong together by construction.
        """
        if self.model.config.link_level == "word":
            raise ValueError('a model with link_level="word" has no links within words')
        split = words_of(sentences)
        result: list[Any] = [None] * len(split)
        for numbers, links, ids, tokens in self._batches(split, batch_size):
            for number, link, index, row in zip(numbers, links, ids, tokens.tolist(), strict=True):
                (inside,) = (index >= 0).nonzero()
                names = self.tokenizer.convert_ids_to_tokens([row[place] for place in inside])
                result[number] = Pieces(tuple(names), tuple(index[inside].tolist()), link[:, inside[:-1]])
        return result

    def look(self, sentence: Sentence) -> Look:
        """Links, priors and attention of one sentence, for heat maps.

        Between words of several tokens a prior is that of their first tokens, and attention is
        summed over the tokens of the word attended to and averaged over those that attend.

        Raises:
            ValueError: a sentence without words, or a model without a prior.
        """
        (words,) = words_of([sentence])
        batch, ids = self._encode([words])
        with torch.inference_mode():
            output = self.model(**batch, output_links=True, output_priors=True, output_attentions=True)
        self._require_links(output)
        index = ids[0]
        firsts = np.unique(index[index >= 0], return_index=True)[1] + int((index >= 0).argmax())
        member = np.equal.outer(np.arange(len(words)), index).astype(np.float64)  # (words, tokens)
        attention = torch.stack(output.attentions)[:, 0].mean(1).double().cpu().numpy()
        mean = member / member.sum(1, keepdims=True)
        return Look(
            words=tuple(words),
            links=_between_words(torch.stack(output.links)[:, 0].double().cpu().numpy(), index),
            priors=torch.stack(output.priors)[:, 0].double().cpu().numpy()[:, firsts][:, :, firsts],
            attentions=mean @ attention @ member.T,
        )

    def masked_log_probabilities(
        self, sentences: Iterable[Sentence], batch_size: int = 64
    ) -> Iterator[float]:
        """Log-probability of every word with this word alone masked (Wang et al. 2019, footnote 3), in nats.

        All tokens of a word are masked together and their log-probabilities summed. Words that the
        vocabulary does not have are left out: nothing could predict them.
        """
        cases, _ = self._mask_each(words_of(sentences))
        yield from (value for _, value in self._fill(cases, batch_size))

    def pseudo_log_likelihoods(
        self, sentences: Iterable[Sentence], batch_size: int = 64
    ) -> list[tuple[float, tuple[str, ...]]]:
        """The sum of `masked_log_probabilities` of every sentence (Salazar et al. 2020).

        Returns:
            For every sentence the sum in nats, and the words left out of it.

        Raises:
            ValueError: a sentence without words.
        """
        cases, unknown = self._mask_each(words_of(sentences))
        sums = [0.0] * len(unknown)
        for number, value in self._fill(cases, batch_size):
            sums[number] += value
        return list(zip(sums, unknown, strict=True))

    def unknown_words(self, sentences: Iterable[Sentence]) -> list[tuple[str, ...]]:
        """The words of every sentence that the vocabulary does not have, or not whole.

        Raises:
            ValueError: a sentence without words.
        """
        return self._mask_each(words_of(sentences))[1]

    def token_id(self, word: str) -> int | None:
        """The token of a word that is one token of the vocabulary, else None."""
        batch, ids = self._encode([[word]])
        (token,) = batch["input_ids"][0, np.flatnonzero(ids[0] == 0)[:1]].tolist()
        return None if (ids[0] == 0).sum() > 1 or token == self.tokenizer.unk_token_id else token

    def next_words(
        self, prefixes: Iterable[Sentence], words: Sequence[str], batch_size: int = 64
    ) -> NDArray[np.float64]:
        """Log-probabilities of some words in a masked place at the end of every prefix, in nats.

        Args:
            prefixes: what stands before.
            words: the candidates, each one token of the vocabulary: see `token_id`.
            batch_size: prefixes computed at once.

        Returns:
            (prefixes, words).

        Raises:
            ValueError: a prefix without words, or a candidate that is not one token.
        """
        tokens = [self.token_id(word) for word in words]
        if None in tokens:
            raise ValueError(f"{words[tokens.index(None)]!r} is not one token of the vocabulary")
        split = [[*prefix, words[0]] for prefix in words_of(prefixes)]
        cases = [case for number, row in enumerate(split) for case in self._mask(number, row, [len(row) - 1])]
        found = np.zeros((len(split), len(words)))
        for chunk, scores, _, _ in self._predict(cases, batch_size):
            found[[case.number for case in chunk]] = scores[:, tokens].double().cpu().numpy()
        return found

    def _mask_each(self, split: list[list[str]]) -> tuple[list[_Case], list[tuple[str, ...]]]:
        """Each word of the sentences masked alone, and the words that the vocabulary does not have."""
        cases: list[_Case] = []
        unknown: list[tuple[str, ...]] = []
        for number, words in enumerate(split):
            row = self._mask(number, words, range(len(words)))
            lacking = [
                any(case.tokens[p] == self.tokenizer.unk_token_id for p in case.places) for case in row
            ]
            cases += [case for case, lacks in zip(row, lacking, strict=True) if not lacks]
            unknown.append(tuple(word for word, lacks in zip(words, lacking, strict=True) if lacks))
        return cases, unknown

    def _mask(self, number: int, words: list[str], masked: Iterable[int]) -> list[_Case]:
        """Some words of a sentence, each to be masked alone."""
        batch, ids = self._encode([words])
        tokens, index = batch["input_ids"][0].tolist(), ids[0].tolist()
        return [_Case(number, tokens, index, np.flatnonzero(ids[0] == word).tolist()) for word in masked]

    def _fill(self, cases: list[_Case], batch_size: int) -> Iterator[tuple[int, float]]:
        """Sentence and log-probability of every masked word."""
        for chunk, scores, gold, rows in self._predict(cases, batch_size):
            chosen = scores.gather(1, gold[:, None])[:, 0].cpu()
            values = torch.zeros(len(chunk)).index_add_(0, rows, chosen).tolist()
            yield from zip((case.number for case in chunk), values, strict=True)

    def _predict(
        self, cases: list[_Case], batch_size: int
    ) -> Iterator[tuple[list[_Case], torch.Tensor, torch.Tensor, torch.Tensor]]:
        """Batches of cases; of their M masked tokens log-probabilities (M, V), the tokens, and the rows."""
        check_positive(batch_size=batch_size)
        device = self.model.device
        for batch in batches([len(case.tokens) for case in cases], batch_size):
            chunk = [cases[number] for number in batch]
            inputs = torch.full((len(chunk), len(chunk[0].tokens)), int(self.tokenizer.pad_token_id))
            labels = torch.full_like(inputs, -100)
            word_ids = torch.full_like(inputs, -1)
            for row, case in enumerate(chunk):
                inputs[row, : len(case.tokens)] = torch.tensor(case.tokens)
                word_ids[row, : len(case.tokens)] = torch.tensor(case.words)
                labels[row, case.places] = inputs[row, case.places]
                inputs[row, case.places] = int(self.tokenizer.mask_token_id)
            attention = inputs != self.tokenizer.pad_token_id
            given = {"input_ids": inputs.to(device), "attention_mask": attention.to(device)}
            if self.model.config.link_level == "word":
                given["word_ids"] = word_ids.to(device)
            with torch.inference_mode():
                hidden = self.model.treebert(**given).last_hidden_state
                chosen = (labels != -100).to(device)
                scores = self.model.score(hidden[chosen]).float().log_softmax(-1)
            yield chunk, scores, labels.to(device)[chosen], (labels != -100).nonzero()[:, 0]

    def _word_links(
        self, split: list[list[str]], batch_size: int
    ) -> Iterator[tuple[list[int], list[NDArray[np.float64]]]]:
        for numbers, links, ids, _ in self._batches(split, batch_size):
            yield numbers, [_between_words(link, index) for link, index in zip(links, ids, strict=True)]

    def _batches(
        self, split: list[list[str]], batch_size: int
    ) -> Iterator[tuple[list[int], NDArray[np.float64], NDArray[np.int64], torch.Tensor]]:
        """Numbers of the sentences, links (B, L, T-1), the word of every token (B, T), and the tokens."""
        check_positive(batch_size=batch_size)
        marks = self.tokenizer.num_special_tokens_to_add()
        for batch in batches([len(words) + marks for words in split], batch_size):
            inputs, ids = self._encode([split[number] for number in batch])
            with torch.inference_mode():
                output = self.model.treebert(**inputs, output_links=True)
            self._require_links(output)
            links = torch.stack(output.links, dim=1).double().cpu().numpy()
            yield batch, links, ids, inputs["input_ids"]

    def _encode(self, sentences: list[list[str]]) -> tuple[dict[str, torch.Tensor], NDArray[np.int64]]:
        """Input tensors, and the word of every token (B, T), -1 where there is none."""
        if self.normalize:
            sentences = [[normalize_word(word) for word in words] for words in sentences]
        for word in (word for words in sentences for word in words):
            if not word.isascii() and _SURROGATE.search(word):
                raise ValueError(f"the word {word!r} is no text: expected no lone surrogates")
        encoded = self.tokenizer(sentences, is_split_into_words=True, padding=True, return_tensors="pt")
        rows = (encoded.word_ids(row) for row in range(len(sentences)))
        ids = np.array([[-1 if word is None else word for word in row] for row in rows])
        for words, index in zip(sentences, ids, strict=True):
            if np.unique(index[index >= 0]).size != len(words):
                lost = sorted(set(range(len(words))) - set(index.tolist()))
                raise ValueError(f"the tokenizer has nothing for the word {words[lost[0]]!r}")
        batch = {"input_ids": encoded["input_ids"], "attention_mask": encoded["attention_mask"]}
        if self.model.config.link_level == "word":
            batch["word_ids"] = torch.from_numpy(ids)
        return {key: value.to(self.model.device) for key, value in batch.items()}, ids

    def _require_links(self, output: Any) -> None:
        if output.links is None:
            raise ValueError('a plain Transformer (prior="none") has no links to read trees from')


def read_trees(
    links: Sequence[NDArray[np.float64]], sentences: Sequence[Sequence[str]], decoding: Decoding
) -> list[Tree]:
    """Trees from the links (L, T-1) of every sentence, by the decoding.

    Raises:
        ValueError: a layer that is not there.
    """
    if decoding.method == "cky":
        return _read_cky(links, sentences, decoding)
    return [_read_tree(link, words, decoding) for link, words in zip(links, sentences, strict=True)]


def _read_cky(
    links: Sequence[NDArray[np.float64]], sentences: Sequence[Sequence[str]], decoding: Decoding
) -> list[Tree]:
    short = [number for number, words in enumerate(sentences) if len(words) <= LONGEST_BLOCKS]
    found = cky_trees(
        [links[number] for number in short],
        [sentences[number] for number in short],
        decoding.layer,
        decoding.right_bias,
    )
    trees = dict(zip(short, found, strict=True))
    for number, words in enumerate(sentences):
        if number not in trees:
            logger.warning(
                "a sentence of %d words is split greedily: the best tree takes too long", len(words)
            )
            trees[number] = _read_tree(links[number], words, replace(decoding, method="greedy"))
    return [trees[number] for number in range(len(sentences))]


def _read_tree(links: NDArray[np.float64], words: Sequence[str], decoding: Decoding) -> Tree:
    if decoding.method == "algorithm1":
        lowest = min(decoding.min_layer, len(links) - 1)
        return build_tree(links, words, lowest, decoding.threshold, algorithm=decoding.algorithm)
    if not -len(links) <= decoding.layer < len(links):
        raise ValueError(f"layer {decoding.layer} is not a layer: expected {-len(links)} to {len(links) - 1}")
    return greedy_tree(links[decoding.layer], words)


def _between_words(links: NDArray[np.float64], index: NDArray[np.int64]) -> NDArray[np.float64]:
    """Links between tokens (L, T-1) to those between words, given the word of every token (T,)."""
    return links[:, (index[:-1] >= 0) & (index[1:] == index[:-1] + 1)]
