"""Analyses of parsers for the tables and figures of Ma et al. (2017): attention and word embeddings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from treeformers.data.sentences import SentenceReader
from treeformers.tasks.parse.attention_analysis import best_actions, teacher_forcing
from treeformers.tasks.parse.predictor import Parser
from treeformers.trees.escapes import unescape_word
from treeformers.trees.tree import Tree

MIN_ATTENTION = 0.9
"""Attention that counts as "on one word" (Section 1)."""
MIN_STEPS = 0.8
"""Fraction of such steps for which a sentence counts (Section 1)."""
MIN_COUNT = 5
"""Training count of the words in the comparison of embeddings."""
NEIGHBORS = 10
QUERIES_PER_GROUP = 2
TAG_GROUPS = (("VB", "VBD", "VBG", "VBN", "VBP", "VBZ"), ("NN", "NNS"), ("JJ",))
PAPER_QUERY = "listed"
BATCH_SIZE = 32


def one_word_attention(parser: Parser, trees: Sequence[Tree], beam: int) -> dict[str, float] | None:
    """How often probabilistic attention lies on a single word.

    The parser takes the best actions that it finds, as in the paper: "for 91.46% of the sentences, more than
    90% of the parser's attention was given to one specific source-side word in more than 80% of the parsing
    time steps". The end mark counts as a word.

    Args:
        parser: The parser; its first model is analysed.
        trees: Trees with the words to parse, and with the tags if the model reads tags.
        beam: Beam size.

    Returns:
        In per cent: `one_word_steps`, the steps with more than 90 % of the attention on one word, and
        `one_word_sentences`, the sentences in which more than 80 % of the steps are such steps. None for
        deterministic attention.
    """
    if parser.models[0].config.attention != "probabilistic":
        return None
    steps = on_one_word = sentences = 0
    ordered = sorted(trees, key=len)
    for start in range(0, len(ordered), BATCH_SIZE):
        batch = ordered[start : start + BATCH_SIZE]
        words, tags = [tree.words for tree in batch], [tree.tags for tree in batch]
        actions = best_actions(parser, words, tags, beam)
        output = teacher_forcing(parser, words, tags, actions)
        assert output.attentions is not None
        largest = output.attentions.float().amax(-1).cpu()
        for row, taken in zip(largest, actions, strict=True):
            count = int((row[: len(taken)] > MIN_ATTENTION).sum())
            steps, on_one_word = steps + len(taken), on_one_word + count
            sentences += count > MIN_STEPS * len(taken)
    return {"one_word_steps": 100 * on_one_word / steps, "one_word_sentences": 100 * sentences / len(trees)}


def compare_words(parser: Parser, trees: Iterable[Tree]) -> dict[str, Any] | None:
    """Whether words with similar embeddings have the same part of speech.

    The comparison covers words with a training count of at least 5. The tag of a word is its most frequent
    tag. Table 5 of the paper shows the neighbours of one word, "listed", and finds only verbs; these metrics
    cover all words.

    Args:
        parser: The parser; its first model is analysed.
        trees: Its training treebank.

    Returns:
        `same_tag_euclidean` and `same_tag_cosine`: per cent of the ten nearest words with the tag of the
        word, the mean over all words. `same_tag_chance`: the same for random words. `compared_words`: the
        number of words. `neighbours`: by distance and word, the ten nearest words of frequent verbs, nouns
        and adjectives and of "listed". None if the model has no word embeddings, as with a pretrained
        encoder, or if there are at most ten such words.
    """
    reader = parser.readers[0]
    if not isinstance(reader, SentenceReader):
        return None
    tag_of = _frequent_tags(trees)
    frequent = [number for number, count in enumerate(reader.counts) if count >= MIN_COUNT]
    if len(frequent) <= NEIGHBORS:
        return None
    tags = [tag_of[reader.words[number]] for number in frequent]
    tag_ids = {tag: number for number, tag in enumerate(sorted(set(tags)))}
    tag_of_word = torch.full((len(reader.words),), -1)
    candidates = torch.tensor(frequent)
    tag_of_word[candidates] = torch.tensor([tag_ids[tag] for tag in tags])
    raw = parser.models[0].encoder.words.weight.detach().float().cpu()
    # Among unit vectors, Euclidean distance and cosine give the same order.
    embeddings = {"euclidean": raw, "cosine": F.normalize(raw, dim=-1)}
    pairs = sum(count * (count - 1) for count in Counter(tags).values())
    metrics: dict[str, Any] = {
        "same_tag_chance": 100 * pairs / (len(tags) * (len(tags) - 1)),
        "compared_words": len(tags),
        "neighbours": {},
    }
    queries = _queries(reader, frequent, tag_of)
    for name, table in embeddings.items():
        same = tag_of_word[_nearest(table, candidates, candidates)] == tag_of_word[candidates][:, None]
        metrics[f"same_tag_{name}"] = 100 * float(same.double().mean())
        nearest = _nearest(table, torch.tensor(queries, dtype=torch.long), candidates).tolist()
        metrics["neighbours"][name] = {
            reader.words[query]: [reader.words[number] for number in row]
            for query, row in zip(queries, nearest, strict=True)
        }
    return metrics


def _frequent_tags(trees: Iterable[Tree]) -> dict[str, str]:
    """The most frequent tag of every word. Ties go to the first tag in alphabetical order."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for tree in trees:
        for leaf in tree.leaves:
            counts[unescape_word(leaf.word or "")][leaf.label] += 1
    return {word: min(tags, key=lambda tag: (-tags[tag], tag)) for word, tags in counts.items()}


def _queries(reader: SentenceReader, frequent: Sequence[int], tag_of: Mapping[str, str]) -> list[int]:
    """The most frequent words of each tag group, and the paper's query if it is in the vocabulary."""
    ranked = sorted(frequent, key=lambda number: (-reader.counts[number], reader.words[number]))
    chosen: list[int] = []
    for group in TAG_GROUPS:
        matching = (
            number
            for number in ranked
            if tag_of[reader.words[number]] in group and reader.words[number].isalpha()
        )
        chosen += islice(matching, QUERIES_PER_GROUP)
    if PAPER_QUERY in reader.words:
        chosen.append(reader.words.index(PAPER_QUERY))
    return list(dict.fromkeys(chosen))


def _nearest(embeddings: Tensor, queries: Tensor, candidates: Tensor) -> Tensor:
    """The 10 nearest other words (Q, 10) of each query (Q,), among the candidates (N,)."""
    found = [
        candidates[
            torch.cdist(embeddings[chunk], embeddings[candidates])
            .masked_fill(chunk[:, None] == candidates, torch.inf)
            .topk(NEIGHBORS, largest=False)
            .indices
        ]
        for chunk in queries.split(1024)
    ]
    return torch.cat(found)
