"""The analyses of parsers that only the tables of Ma et al. (2017) need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

import tiny_models
from lab.evaluate import parse_analysis
from lab.evaluate.parse_analysis import compare_words, one_word_attention
from treeformers.tasks.parse.attention_analysis import follow
from treeformers.tasks.parse.predictor import Parser
from treeformers.trees.tree import Tree

torch.set_num_threads(1)

TREES = [*tiny_models.TREES, Tree.from_brackets("(NP (DT the) (NN ferry))")]


def parser_of(trees: Sequence[Tree] = TREES, beam: int = 1, **model: Any) -> Parser:
    return tiny_models.tiny_parser(trees, beam=beam, **model)


def probabilistic(linearization: str, sharpness: float = 1.0) -> Parser:
    parser = parser_of(attention="probabilistic", decoder="conditional", linearization=linearization)
    parser.models[0].decoder.attention.score.weight.data *= sharpness
    return parser


class TestOneWordAttention:
    @pytest.mark.parametrize("linearization", ["bottom-up", "top-down"])
    def test_a_batch_equals_its_sentences(self, linearization: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(parse_analysis, "BATCH_SIZE", 3)
        found = []
        for sharpness in (100.0, 200.0, 400.0, 800.0):
            parser = probabilistic(linearization, sharpness)
            on_one_word = [follow(parser, tree.words).attention.max(1) > 0.9 for tree in TREES]
            expected = {
                "one_word_steps": 100 * sum(row.sum() for row in on_one_word) / sum(map(len, on_one_word)),
                "one_word_sentences": 100 * sum(row.mean() > 0.8 for row in on_one_word) / len(on_one_word),
            }
            assert one_word_attention(parser, TREES, 1) == pytest.approx(expected)
            found.append(expected["one_word_steps"])
        assert any(0 < percentage < 100 for percentage in found)

    def test_uniform_and_sharp_attention(self) -> None:
        uniform, sharp = probabilistic("bottom-up", 0.0), probabilistic("bottom-up", 1e6)
        assert one_word_attention(uniform, TREES, 2) == {"one_word_steps": 0.0, "one_word_sentences": 0.0}
        assert one_word_attention(sharp, TREES, 2) == {"one_word_steps": 100.0, "one_word_sentences": 100.0}

    def test_deterministic_attention_has_no_such_metrics(self) -> None:
        assert one_word_attention(parser_of(), TREES, 1) is None


NOUNS = ["boats", "piers", "gulls", "nets", "ropes", "masts"]
VERBS = ["sail", "drift", "sink", "land", "wait", "turn", "listed"]


def treebank() -> list[Tree]:
    """Every word occurs at least five times, except "listed". "sink" is a noun once."""
    trees = []
    for count in range(6):
        for number, noun in enumerate(NOUNS):
            verb = VERBS[(number + count) % 6]
            trees.append(Tree.from_spans([noun, verb], [(0, 2, "S")], ["NNS", "VBP"]))
    trees.append(Tree.from_spans(["boats", "listed"], [(0, 2, "S")], ["NNS", "VBD"]))
    trees.append(Tree.from_spans(["sink", "-RRB-"], [(0, 2, "NP")], ["NN", "-RRB-"]))
    return trees


class TestCompareWords:
    def test_neighbours_against_brute_force(self) -> None:
        parser = parser_of(treebank())
        reader, table = parser.readers[0], parser.models[0].encoder.words.weight
        embeddings = {word: table[reader.word_id(word)].tolist() for word in NOUNS + VERBS}
        frequent = NOUNS + VERBS[:-1]

        def euclidean(a: str, b: str) -> float:
            return sum((x - y) ** 2 for x, y in zip(embeddings[a], embeddings[b], strict=True))

        def cosine(a: str, b: str) -> float:
            def dot(u: list[float], v: list[float]) -> float:
                return sum(x * y for x, y in zip(u, v, strict=True))

            a_, b_ = embeddings[a], embeddings[b]
            return -dot(a_, b_) / (dot(a_, a_) * dot(b_, b_)) ** 0.5

        metrics = compare_words(parser, treebank())
        assert metrics is not None
        assert metrics["compared_words"] == 12
        assert metrics["same_tag_chance"] == pytest.approx(100 * 5 / 11)
        for name, distance in (("euclidean", euclidean), ("cosine", cosine)):
            near = {
                word: sorted(set(frequent) - {word}, key=lambda other: distance(word, other))[:10]
                for word in (*frequent, "listed")
            }
            same = [(word in NOUNS) == (other in NOUNS) for word in frequent for other in near[word]]
            assert metrics[f"same_tag_{name}"] == pytest.approx(100 * sum(same) / 120)
            shown = metrics["neighbours"][name]
            assert list(shown) == ["sink", "drift", "boats", "gulls", "listed"]
            assert all(found == near[word] for word, found in shown.items())

    def test_words_of_one_tag_with_similar_embeddings(self) -> None:
        parser = parser_of(treebank())
        reader, table = parser.readers[0], parser.models[0].encoder.words.weight.data
        for number, word in enumerate(NOUNS):
            table[reader.word_id(word)] = torch.eye(8)[0] * (number + 1)
        for number, word in enumerate(VERBS[:-1]):
            table[reader.word_id(word)] = torch.eye(8)[1] * (number + 1)
        metrics = compare_words(parser, treebank())
        assert metrics is not None
        assert metrics["same_tag_cosine"] == pytest.approx(50.0)  # five other nouns, then verbs
        assert metrics["same_tag_euclidean"] < 50.0 + 1e-6

    def test_few_words_or_no_word_embeddings(self) -> None:
        parser = parser_of()
        assert compare_words(parser, TREES) is None
        parser.readers[0] = object()  # type: ignore[assignment]
        assert compare_words(parser, treebank()) is None
