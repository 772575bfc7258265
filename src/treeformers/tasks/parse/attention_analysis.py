"""What a trained parser looks at (Ma et al. 2017, Figures 1 and 3), and which words it finds alike."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treeformers.drawing import steps_svg
from treeformers.trees.actions import (
    bottom_up,
    legal_bottom_up,
    legal_top_down,
    open_labels,
    top_down,
)
from treeformers.trees.escapes import unescape_word
from treeformers.trees.files import atomic_write
from treeformers.trees.tree import Tree

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from treeformers.models.parser import ParserConfig, ParserOutput
    from treeformers.tasks.parse.predictor import Parser

ONE_WORD, MOST_STEPS = 0.9, 0.8
"""Of attention, and of the steps of a sentence (Section 1)."""
SEEN = 5  # times in training, of a word that is compared
NEAREST = 10
QUERIES = 2  # of each kind
KINDS = (("VB", "VBD", "VBG", "VBN", "VBP", "VBZ"), ("NN", "NNS"), ("JJ",))
PAPERS_QUERY = "listed"
BATCH = 32


@dataclass(frozen=True, slots=True)
class Steps:
    """A sentence as a parser went through it.

    Attributes:
        words: the T - 1 words and the end mark.
        actions: the S actions taken.
        preferred: at each step the most probable legal action after those taken before it.
        attention: (S, T), the probabilities of Eq. 5; of deterministic attention 1 at the positions of D_i.
        errors: along a gold tree, the steps at which another action was preferred to the gold one.
        probabilities: (S, A), of the model's A actions at each step, among the legal ones; 0 for others.
    """

    words: tuple[str, ...]
    actions: tuple[str, ...]
    preferred: tuple[str, ...]
    attention: NDArray[np.float64]
    errors: tuple[int, ...]
    probabilities: NDArray[np.float64]


def follow(parser: Parser, sentence: Tree | str | Sequence[str]) -> Steps:
    """Watch the first model of a parser over one sentence.

    Args:
        parser: whose first model is watched.
        sentence: a gold tree, whose actions the model is made to take (teacher forcing); or a string or a
            list of words, over which it takes the actions that it finds best itself.

    Raises:
        ValueError: no words, or a tree with an action that the model does not have.
    """
    import torch
    import torch.nn.functional as F

    from treeformers.data.penn_tokenizer import split_words
    from treeformers.data.sentences import END
    from treeformers.tasks.parse.train import position_lists

    model = parser.models[0]
    tags: Sequence[Sequence[str]] | None = None
    if isinstance(sentence, Tree):
        words, tags = sentence.words, [sentence.tags]
        actions = _number(model.config, sentence)
    else:
        words = tuple(split_words(sentence) if isinstance(sentence, str) else sentence)
        if not words:
            raise ValueError("the sentence has no words")
        actions = _search(parser, [words], None, parser.beam)[0]
    names = [model.config.actions[action] for action in actions]
    with torch.inference_mode():
        output = _teach(parser, [words], tags, [actions])
    assert output.logits is not None
    legal = torch.tensor([_legal(model.config, names[:step], len(words)) for step in range(len(names))])
    probabilities = output.logits[0].double().cpu().masked_fill(~legal, -torch.inf).softmax(-1)
    best = probabilities.argmax(-1)
    if output.attentions is not None:
        attention = output.attentions[0].double().cpu()
    else:
        positions = position_lists(names, len(words), model.config)[(torch.arange(len(names)) + 1) // 2]
        # One more place in front, for the position -1.
        attention = F.one_hot(positions + 1, len(words) + 2).amax(1)[:, 1:].double()
    preferred = [model.config.actions[action] for action in best.tolist()]
    errors = [step for step, name in enumerate(preferred) if name != names[step]]
    return Steps(
        (*words, END),
        tuple(names),
        tuple(preferred),
        attention.numpy(),
        tuple(errors) if tags else (),
        probabilities.numpy(),
    )


def draw_attention(model: str | Path, sentence: Tree | str | Sequence[str], out: str | Path) -> Path:
    """Draw what a parser looks at, step by step (Figures 1 and 3 of the paper).

    A row is a step, a column a word. Cells are the probabilities of probabilistic attention, or the positions
    D_i of deterministic attention. With a gold tree the parser takes its actions (teacher forcing), and the
    steps at which it preferred another one are marked with that one.

    Args:
        model: folder of a trained parser.
        sentence: a gold tree; or a string or a list of words, over which the parser takes its own actions.
        out: the SVG file.

    Returns:
        The file written.

    Raises:
        FileNotFoundError: no such model.
        ValueError: a sentence without words, or a tree with an action that the model does not have.
    """
    from treeformers.tasks.parse.predictor import Parser

    parser = Parser.from_pretrained(model)
    steps = follow(parser, sentence)
    title = f"{parser.models[0].config.attention.capitalize()} attention"
    picture = steps_svg(steps.words, steps.actions, steps.attention, steps.preferred, steps.errors, title)
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(Path(out)) as file:
        file.write(picture)
    return Path(out)


def one_word_attention(parser: Parser, trees: Sequence[Tree], beam: int) -> dict[str, float] | None:
    """How often probabilistic attention lies on a single word.

    Along the actions that the parser itself finds best, as in the paper: "for 91.46% of the sentences, more
    than 90% of the parser's attention was given to one specific source-side word in more than 80% of the
    parsing time steps". The end mark counts as a word.

    Args:
        parser: whose first model is watched.
        trees: of which the words are parsed, and the tags read where the model reads tags.
        beam: hypotheses kept.

    Returns:
        In per cent, `one_word_steps`, the share of all steps with more than 90 % on one word, and
        `one_word_sentences`, the share of sentences where it is more than 80 % of the steps. None for
        deterministic attention.
    """
    import torch

    if parser.models[0].config.attention != "probabilistic":
        return None
    steps = narrow = sentences = 0
    ordered = sorted(trees, key=len)
    for start in range(0, len(ordered), BATCH):
        batch = ordered[start : start + BATCH]
        words, tags = [tree.words for tree in batch], [tree.tags for tree in batch]
        actions = _search(parser, words, tags, beam)
        with torch.inference_mode():
            output = _teach(parser, words, tags, actions)
        assert output.attentions is not None
        largest = output.attentions.float().amax(-1).cpu()
        for row, taken in zip(largest, actions, strict=True):
            on_one = int((row[: len(taken)] > ONE_WORD).sum())
            steps, narrow = steps + len(taken), narrow + on_one
            sentences += on_one > MOST_STEPS * len(taken)
    return {"one_word_steps": 100 * narrow / steps, "one_word_sentences": 100 * sentences / len(trees)}


def compare_words(parser: Parser, trees: Iterable[Tree]) -> dict[str, Any] | None:
    """Which words have embeddings close to each other, and whether they are of one part of speech.

    Compared are the words seen at least five times in training; the tag of a word is its most frequent one.
    Table 5 of the paper shows the neighbours of one word, "listed", and finds that all are verbs; the shares
    here say how it is for all words.

    Args:
        parser: whose first model is looked at.
        trees: the treebank that it was trained on.

    Returns:
        `same_tag_euclidean` and `same_tag_cosine`, the share, in per cent, of the ten nearest words that have
        the tag of the word itself, the mean over all words; `same_tag_chance`, that of words drawn at random;
        `compared_words`, their number; `neighbours`, by distance and word, the ten nearest ones of frequent
        verbs, nouns and adjectives and of "listed". None where there are no embeddings of words, as in a
        pretrained encoder, or not ten words to be near to.
    """
    import torch
    import torch.nn.functional as F

    from treeformers.data.sentences import SentenceReader

    reader = parser.readers[0]
    if not isinstance(reader, SentenceReader):
        return None
    tag_of = _frequent_tags(trees)
    frequent = [number for number, times in enumerate(reader.counts) if times >= SEEN]
    if len(frequent) <= NEAREST:
        return None
    tags = [tag_of[reader.words[number]] for number in frequent]
    codes = {tag: code for code, tag in enumerate(sorted(set(tags)))}
    code_of = torch.full((len(reader.words),), -1)
    among = torch.tensor(frequent)
    code_of[among] = torch.tensor([codes[tag] for tag in tags])
    raw = parser.models[0].encoder.words.weight.detach().float().cpu()
    vectors = {"euclidean": raw, "cosine": F.normalize(raw, dim=-1)}  # of unit vectors the order is the same
    pairs = sum(words * (words - 1) for words in Counter(tags).values())
    figures: dict[str, Any] = {
        "same_tag_chance": 100 * pairs / (len(tags) * (len(tags) - 1)),
        "compared_words": len(tags),
        "neighbours": {},
    }
    queries = _queries(reader, frequent, tag_of)
    for name, table in vectors.items():
        same = code_of[_nearest(table, among, among)] == code_of[among][:, None]
        figures[f"same_tag_{name}"] = 100 * float(same.double().mean())
        found = _nearest(table, torch.tensor(queries, dtype=torch.long), among).tolist()
        figures["neighbours"][name] = {
            reader.words[query]: [reader.words[number] for number in row]
            for query, row in zip(queries, found, strict=True)
        }
    return figures


def _frequent_tags(trees: Iterable[Tree]) -> dict[str, str]:
    """The most frequent tag of every word; of several the first in the alphabet."""
    seen: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for tree in trees:
        for leaf in tree.leaves:
            seen[unescape_word(leaf.word or "")][leaf.label] += 1
    return {word: min(tags, key=lambda tag: (-tags[tag], tag)) for word, tags in seen.items()}


def _queries(reader: Any, frequent: Sequence[int], tag_of: Mapping[str, str]) -> list[int]:
    """The most frequent words of each kind, and the paper's own, if it was seen at all."""
    ranked = sorted(frequent, key=lambda number: (-reader.counts[number], reader.words[number]))
    chosen: list[int] = []
    for kind in KINDS:
        of_kind = (
            number
            for number in ranked
            if tag_of[reader.words[number]] in kind and reader.words[number].isalpha()
        )
        chosen += islice(of_kind, QUERIES)
    if PAPERS_QUERY in reader.words:
        chosen.append(reader.words.index(PAPERS_QUERY))
    return list(dict.fromkeys(chosen))


def _nearest(vectors: Tensor, queries: Tensor, among: Tensor) -> Tensor:
    """The words (Q, 10) of those `among` (N,) that are nearest to the `queries` (Q,), but for themselves."""
    import torch

    found = [
        among[
            torch.cdist(vectors[part], vectors[among])
            .masked_fill(part[:, None] == among, torch.inf)
            .topk(NEAREST, largest=False)
            .indices
        ]
        for part in queries.split(1024)
    ]
    return torch.cat(found)


def _search(
    parser: Parser,
    words: Sequence[Sequence[str]],
    tags: Sequence[Sequence[str]] | None,
    beam: int,
) -> list[list[int]]:
    """The numbers of the best actions of the first model."""
    import torch

    from treeformers.tasks.parse.beam import search

    model = parser.models[0]
    with torch.inference_mode():
        inputs = parser.readers[0].batch(words, tags)
        memory = model.read(**{name: part.to(model.device) for name, part in inputs.items()})
        return [row[0] for row in search([model], [memory], beam).actions]


def _teach(
    parser: Parser,
    words: Sequence[Sequence[str]],
    tags: Sequence[Sequence[str]] | None,
    actions: Sequence[Sequence[int]],
) -> ParserOutput:
    """Logits and attention of the first model along these actions."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    from treeformers.models.parser import IGNORED
    from treeformers.tasks.parse.train import position_lists

    model = parser.models[0]
    batch = parser.readers[0].batch(words, tags)
    batch["actions"] = pad_sequence([torch.tensor(row) for row in actions], True, IGNORED)
    if model.config.attention == "deterministic":
        rows = []
        for taken, sentence in zip(actions, words, strict=True):
            names = [model.config.actions[action] for action in taken]
            rows.append(position_lists(names, len(sentence), model.config))
        batch["positions"] = pad_sequence(rows, True)
    inputs = {name: part.to(model.device) for name, part in batch.items()}
    return model(**inputs, output_attentions=True)


def _number(config: ParserConfig, tree: Tree) -> list[int]:
    names = bottom_up(tree) if config.linearization == "bottom-up" else top_down(tree)
    ids = {action: number for number, action in enumerate(config.actions)}
    for name in names:
        if name not in ids:
            raise ValueError(
                f"the tree has the action {name!r}, which no tree had in the training of the model"
            )
    return [ids[name] for name in names]


def _legal(config: ParserConfig, taken: Sequence[str], n_words: int) -> list[bool]:
    """Which of the model's actions may come after these."""
    from treeformers.tasks.parse.beam import MOST_OPENED

    if config.linearization == "bottom-up":
        kinds = legal_bottom_up(taken, n_words)
        return ["label" in kinds if name.startswith("label-") else name in kinds for name in config.actions]
    kinds = legal_top_down(taken, n_words, max_open=len(taken) + 1)
    if len(taken) >= MOST_OPENED and all(name.startswith("(") for name in taken[-MOST_OPENED:]):
        kinds -= {"("}  # as in the search; a gold tree may open more
    legal = {"XX"} & kinds
    if ")" in kinds:
        legal.add(f"){open_labels(taken)[-1]}")
    return [name in legal or ("(" in kinds and name.startswith("(")) for name in config.actions]
