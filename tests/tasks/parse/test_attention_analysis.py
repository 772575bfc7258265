from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

import tiny_models
from treeformers.recipes import ParseRecipe
from treeformers.tasks.parse import attention_analysis as inspection
from treeformers.tasks.parse.attention_analysis import (
    compare_words,
    draw_attention,
    follow,
    one_word_attention,
)
from treeformers.tasks.parse.predictor import Parser
from treeformers.training.saving import save_model
from treeformers.trees.actions import (
    attended_positions_of,
    bottom_up,
    from_bottom_up,
    from_top_down,
    legal_bottom_up,
    top_down,
)
from treeformers.trees.tree import Tree

torch.set_num_threads(1)

TREES = [*tiny_models.TREES, Tree.from_brackets("(NP (DT the) (NN ferry))")]


def parser_of(trees: Sequence[Tree] = TREES, beam: int = 1, **model: Any) -> Parser:
    return tiny_models.tiny_parser(trees, beam=beam, **model)


def probabilistic(linearization: str, sharpness: float = 1.0) -> Parser:
    parser = parser_of(attention="probabilistic", decoder="conditional", linearization=linearization)
    parser.models[0].decoder.attention.score.weight.data *= sharpness
    return parser


class TestFollow:
    @pytest.mark.parametrize("heads", ["none", "right"])
    def test_deterministic_attention_is_the_positions(self, heads: str) -> None:
        parser = parser_of(heads=heads)
        for tree in TREES:
            steps = follow(parser, tree)
            assert steps.words == (*tree.words, "</s>")
            assert list(steps.actions) == bottom_up(tree)
            positions = attended_positions_of(steps.actions, len(tree), None if heads == "none" else "right")
            for row, read in zip(steps.attention, positions, strict=True):
                assert set(row.nonzero()[0]) == set(read)
            assert set(steps.attention.flat) <= {0.0, 1.0}

    def test_what_reads_nothing_is_not_drawn(self) -> None:
        steps = follow(parser_of(absent="nothing", heads="right"), TREES[3])  # "the ferry"
        read = [list(row.nonzero()[0]) for row in steps.attention]
        assert read == [
            [0, 2],
            *[[0, 1, 2]] * 5,
        ]  # 0 and the end mark always, and then the next word or a head

    @pytest.mark.parametrize("linearization", ["bottom-up", "top-down"])
    def test_probabilities_are_those_of_a_walk_step_by_step(self, linearization: str) -> None:
        parser = probabilistic(linearization, 4.0)
        (model,), (reader,) = parser.models, parser.readers
        tree = TREES[0]
        steps = follow(parser, tree)
        write = bottom_up if linearization == "bottom-up" else top_down
        assert list(steps.actions) == write(tree)
        with torch.no_grad():
            memory = model.read(**reader.batch([tree.words]))
            state, last = model.start(memory), torch.tensor([[len(model.config.actions)]])
            for row, action in zip(steps.attention, steps.actions, strict=True):
                state, _, alpha = model.decoder.attend(
                    state, model.decoder.known(model.decoder.actions(last)), memory
                )
                assert torch.allclose(torch.from_numpy(row), alpha[0, 0].double(), atol=1e-6)
                last = torch.tensor([[list(model.config.actions).index(action)]])

    @pytest.mark.parametrize(("absent", "place"), [("first", 0), ("nothing", -1)])
    def test_preferred_is_the_best_legal_action(self, absent: str, place: int) -> None:
        parser = parser_of(absent=absent)
        (model,), (reader,) = parser.models, parser.readers
        model.decoder.attention.alignment.data *= 30  # so that the positions decide
        tree = TREES[2]
        steps = follow(parser, tree)
        with torch.no_grad():
            memory = model.read(**reader.batch([tree.words]))
            state, last = model.start(memory), torch.tensor([[len(model.config.actions)]])
            starts: list[int] = []
            following = 0
            for step, action in enumerate(steps.actions):
                second, top = [place, place, *starts][-2:]
                seen = model.look(memory, torch.tensor([[[0, second, top, following, len(tree)]]]))
                if action == "sh":
                    starts.append(following)
                    following += 1
                elif action == "comb":
                    starts.pop()
                logits, state = model.step(memory, state, last, seen)
                kinds = legal_bottom_up(steps.actions[:step], len(tree))
                legal = {
                    name: float(logits[0, 0, number])
                    for number, name in enumerate(model.config.actions)
                    if name.split("-")[0] in kinds
                }
                assert steps.preferred[step] == max(legal, key=legal.__getitem__)
                last = torch.tensor([[list(model.config.actions).index(action)]])
        differ = [a != b for a, b in zip(steps.actions, steps.preferred, strict=True)]
        assert steps.errors == tuple(step for step, wrong in enumerate(differ) if wrong)
        assert 0 < len(steps.errors) < len(steps.actions)

    @pytest.mark.parametrize(
        "parser",
        [
            parser_of(),
            parser_of(absent="nothing", heads="right"),
            probabilistic("bottom-up"),
            probabilistic("top-down"),
        ],
        ids=["deterministic", "nothing", "bottom-up", "top-down"],
    )
    def test_a_greedy_parser_prefers_what_it_does(self, parser: Parser) -> None:
        words = ["the", "ferry", "of", "Rome", "sleeps"]
        steps = follow(parser, words)
        assert steps.preferred == steps.actions
        assert steps.errors == ()
        (tree,) = parser.parse([words])
        build = from_bottom_up if parser.models[0].config.linearization == "bottom-up" else from_top_down
        assert build(steps.actions, words) == tree
        assert follow(parser, "the ferry of Rome sleeps").actions == steps.actions
        assert steps.attention.shape == (len(steps.actions), 6)

    def test_errors(self) -> None:
        with pytest.raises(ValueError, match="the action 'label-FRAG', which no tree had in the training"):
            follow(parser_of(), Tree.from_brackets("(FRAG (DT the) (NN ferry))"))
        with pytest.raises(ValueError, match="the sentence has no words"):
            follow(parser_of(), [])


class TestDrawing:
    @staticmethod
    def saved(parser: Parser, folder: Path) -> Path:
        recipe = ParseRecipe.from_dict({"task": "parse", "beam": {"size": 2}}).to_dict()
        save_model(parser.models[0], parser.readers[0], folder, {"recipe.json": recipe})
        return folder

    @pytest.mark.parametrize("attention", ["deterministic", "probabilistic"])
    def test_steps_words_and_errors(self, attention: str, tmp_path: Path) -> None:
        decoder = "gru" if attention == "deterministic" else "conditional"
        parser = parser_of(attention=attention, decoder=decoder)
        steps = follow(parser, TREES[0])
        path = draw_attention(
            self.saved(parser, tmp_path / "model"), TREES[0], tmp_path / "new" / "steps.svg"
        )
        assert path == tmp_path / "new" / "steps.svg"
        picture = ElementTree.fromstring(path.read_text())
        texts = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
        assert texts[0] == f"{attention.capitalize()} attention, {len(steps.errors)} errors"
        assert texts[1:8] == [*TREES[0].words, "</s>"]
        labels = [f"{step}  {action}" for step, action in enumerate(steps.actions)]
        assert [text for text in texts if text in labels] == labels
        wrong = [text for text in texts if text and text.startswith("instead: ")]
        assert wrong == [f"instead: {steps.preferred[step]}" for step in steps.errors]
        shades = [
            float(cell.get("fill-opacity", ""))
            for cell in picture.iter("{http://www.w3.org/2000/svg}rect")
            if cell.get("class") == "cell"
        ]
        assert shades == pytest.approx([shade for shade in steps.attention.flat if shade >= 0.005], abs=0.006)

    def test_without_a_gold_tree_nothing_is_wrong(self, tmp_path: Path) -> None:
        parser = parser_of(beam=3)
        steps = follow(parser, ["The", "ferry", "sleeps"])
        assert (
            steps.preferred != steps.actions and steps.errors == ()
        )  # the beam found better than the greedy way
        model = self.saved(parser, tmp_path)
        text = draw_attention(model, "The ferry (of Oslo) sleeps.", tmp_path / "a.svg").read_text()
        same = ["The", "ferry", "-LRB-", "of", "Oslo", "-RRB-", "sleeps", "."]
        assert draw_attention(str(model), same, tmp_path / "b.svg").read_text() == text
        ElementTree.fromstring(text)
        assert ">(</text>" in text
        assert draw_attention(model, same[:1], tmp_path / "c.svg").is_file()


class TestOneWord:
    @pytest.mark.parametrize("linearization", ["bottom-up", "top-down"])
    def test_shares_are_those_of_sentences_one_by_one(
        self, linearization: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(inspection, "BATCH", 3)
        found = []
        for sharpness in (100.0, 200.0, 400.0, 800.0):
            parser = probabilistic(linearization, sharpness)
            narrow = [follow(parser, tree.words).attention.max(1) > 0.9 for tree in TREES]
            expected = {
                "one_word_steps": 100 * sum(row.sum() for row in narrow) / sum(map(len, narrow)),
                "one_word_sentences": 100 * sum(row.mean() > 0.8 for row in narrow) / len(narrow),
            }
            assert one_word_attention(parser, TREES, 1) == pytest.approx(expected)
            found.append(expected["one_word_steps"])
        assert any(0 < share < 100 for share in found)

    def test_even_attention_is_on_no_word_and_a_sharp_one_on_one(self) -> None:
        even, sharp = probabilistic("bottom-up", 0.0), probabilistic("bottom-up", 1e6)
        assert one_word_attention(even, TREES, 2) == {"one_word_steps": 0.0, "one_word_sentences": 0.0}
        assert one_word_attention(sharp, TREES, 2) == {"one_word_steps": 100.0, "one_word_sentences": 100.0}

    def test_deterministic_attention_has_no_shares(self) -> None:
        assert one_word_attention(parser_of(), TREES, 1) is None


NOUNS = ["boats", "piers", "gulls", "nets", "ropes", "masts"]
VERBS = ["sail", "drift", "sink", "land", "wait", "turn", "listed"]


def pairs() -> list[Tree]:
    """Every noun five times and more, every verb likewise but for "listed"; "sink" is a noun once."""
    trees = []
    for count in range(6):
        for number, noun in enumerate(NOUNS):
            verb = VERBS[(number + count) % 6]
            trees.append(Tree.from_spans([noun, verb], [(0, 2, "S")], ["NNS", "VBP"]))
    trees.append(Tree.from_spans(["boats", "listed"], [(0, 2, "S")], ["NNS", "VBD"]))
    trees.append(Tree.from_spans(["sink", "-RRB-"], [(0, 2, "NP")], ["NN", "-RRB-"]))
    return trees


class TestWords:
    def test_neighbours_and_shares_against_brute_force(self) -> None:
        parser = parser_of(pairs())
        reader, table = parser.readers[0], parser.models[0].encoder.words.weight
        vectors = {word: table[reader.word_id(word)].tolist() for word in NOUNS + VERBS}
        frequent = NOUNS + VERBS[:-1]

        def euclidean(a: str, b: str) -> float:
            return sum((x - y) ** 2 for x, y in zip(vectors[a], vectors[b], strict=True))

        def cosine(a: str, b: str) -> float:
            def dot(u: list[float], v: list[float]) -> float:
                return sum(x * y for x, y in zip(u, v, strict=True))

            a_, b_ = vectors[a], vectors[b]
            return -dot(a_, b_) / (dot(a_, a_) * dot(b_, b_)) ** 0.5

        figures = compare_words(parser, pairs())
        assert figures is not None
        assert figures["compared_words"] == 12
        assert figures["same_tag_chance"] == pytest.approx(100 * 5 / 11)
        for name, distance in (("euclidean", euclidean), ("cosine", cosine)):
            near = {
                word: sorted(set(frequent) - {word}, key=lambda other: distance(word, other))[:10]
                for word in (*frequent, "listed")
            }
            same = [(word in NOUNS) == (other in NOUNS) for word in frequent for other in near[word]]
            assert figures[f"same_tag_{name}"] == pytest.approx(100 * sum(same) / 120)
            shown = figures["neighbours"][name]
            assert list(shown) == ["sink", "drift", "boats", "gulls", "listed"]
            assert all(found == near[word] for word, found in shown.items())

    def test_words_of_one_tag_in_one_place_are_all_near(self) -> None:
        parser = parser_of(pairs())
        reader, table = parser.readers[0], parser.models[0].encoder.words.weight.data
        for number, word in enumerate(NOUNS):
            table[reader.word_id(word)] = torch.eye(8)[0] * (number + 1)
        for number, word in enumerate(VERBS[:-1]):
            table[reader.word_id(word)] = torch.eye(8)[1] * (number + 1)
        figures = compare_words(parser, pairs())
        assert figures is not None
        assert figures["same_tag_cosine"] == pytest.approx(50.0)  # five nouns, then verbs: there are no more
        assert figures["same_tag_euclidean"] < 50.0 + 1e-6

    def test_few_words_and_no_word_embeddings(self) -> None:
        parser = parser_of()
        assert compare_words(parser, TREES) is None
        parser.readers[0] = object()  # type: ignore[assignment]
        assert compare_words(parser, pairs()) is None
