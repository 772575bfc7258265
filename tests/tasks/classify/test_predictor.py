"""Classifiers over every encoder: what a batch gives, what texts they take, what they are loaded from."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tiny_encoders import tiny_bert
from tree_strategies import dependency_trees, right_branching, trees
from treeformers.data.sentences import SentenceReader
from treeformers.recipes import ClassifyRecipe, Examples, SimilarityRecipe
from treeformers.tasks.classify import predictor as classification
from treeformers.tasks.classify.examples import build_encoder
from treeformers.tasks.classify.predictor import Classified, Classifier, Similarity, predict
from treeformers.tasks.inputs import TreeReader
from treeformers.training.saving import save_model
from treeformers.trees.dependency import DependencyTree
from treeformers.trees.heads import to_dependencies
from treeformers.trees.tree import Tree

torch.set_num_threads(1)

TREES = [
    Tree.from_brackets(
        "(S (NP (DT the) (NN owl)) (VP (VBZ hoots) (PRN (-LRB- -LRB-) (RB now) (-RRB- -RRB-))))"
    ),
    Tree.from_brackets("(NN owl)"),
    right_branching(9),
    Tree.from_brackets("(3 (2 the) (2 (2 (2 owl)) (4 hoots)) (1 (0 zyzzyva) (2 25)))"),
    Tree.from_brackets("(S (NN mouse) (NN owl))"),
    Tree.from_brackets("(S (NN owl) (NN mouse))"),
]
DEPENDENCIES = [
    DependencyTree(["the", "owl", "hoots", "now", "(", "unheard"], [2, 3, 0, 3, 4, 5]),
    DependencyTree(["owl"], [0]),
    DependencyTree(["owls", "hunt", "mice", "now"], [2, 4, 4, 0]),
    DependencyTree(["now", "owls", "hunt", "mice"], [4, 1, 1, 0]),
]
CLASSES = ["bad", "good", "so-so"]

SMALL = {"input_size": 12, "hidden_size": 12}
TRAVERSAL = {"encoder": "traversal", "num_branches": 2, "intermediate_size": 9, **SMALL}
RECURRENT = {"encoder": "recurrent", **SMALL}
TRANSFORMER = {**RECURRENT, "kind": "transformer", "num_layers": 2, "num_attention_heads": 2}
ACCUMULATION = {
    **{"encoder": "accumulation", "hidden_size": 12, "num_hidden_layers": 2},
    **{"num_attention_heads": 2, "intermediate_size": 16},
}
ENCODERS: dict[str, dict[str, Any]] = {
    "traversal": TRAVERSAL,
    "traversal, heads and places": {**TRAVERSAL, "composition": "multihead", "positions": "sibling"},
    "n-ary": {**RECURRENT, "kind": "n-ary"},
    "child-sum": RECURRENT,
    "lstm": {**RECURRENT, "kind": "lstm"},
    "bilstm": {**RECURRENT, "kind": "bilstm", "num_layers": 2},
    "transformer": TRANSFORMER,
    "mean": {**RECURRENT, "kind": "mean"},
}
SENTENCES = {**ENCODERS, "accumulation": ACCUMULATION, "plain": {**ACCUMULATION, "tree": False}}
OVER_DEPENDENCIES = {
    "traversal": {**TRAVERSAL, "tree": "dependency"},
    "traversal of the authors": {**TRAVERSAL, "tree": "dependency", "variant": "authors"},
    "child-sum": RECURRENT,
    "lstm": {**RECURRENT, "kind": "lstm"},
    "transformer": TRANSFORMER,
}

Recipe = ClassifyRecipe | SimilarityRecipe


def recipe(model: dict[str, Any], pairs: bool = False, **data: Any) -> Recipe:
    return (SimilarityRecipe if pairs else ClassifyRecipe)(
        model=model, data=Examples(corpus="grammar", **data)
    )


def build(asked: Recipe, read: Sequence[Any] = TREES, seed: int = 1) -> tuple[Any, TreeReader]:
    """A model with weights so large that sentences differ."""
    classes = [] if asked.model.get("task") == "relatedness" else CLASSES
    model, reader = build_encoder(asked, [*read[:2], *read[4:]], classes, seed)
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1 and "branch" not in name:
            with torch.no_grad():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.7)
    return model.eval(), reader


def classifier(
    model: dict[str, Any], trees: str = "given", read: Sequence[Any] = TREES, **data: Any
) -> Classifier:
    return Classifier(*build(recipe(model, **data), read), trees)


def found(made: tuple[Any, TreeReader], trees: Sequence[Any]) -> Tensor:
    model, reader = made
    return predict(model, reader.encode(trees), reader)


def check_batches(made: tuple[Any, TreeReader], given: Sequence[Any], each: int = 1) -> Tensor:
    """That batches of any size and order give what each example gives alone."""
    together = found(made, given)
    examples = [list(given[start : start + each]) for start in range(0, len(given), each)]
    alone = torch.cat([found(made, example) for example in examples])
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-5)
    backwards = found(made, [tree for example in examples[::-1] for tree in example])
    torch.testing.assert_close(backwards.flip(0), alone, rtol=1e-5, atol=1e-5)
    return together


class TestBatches:
    @pytest.mark.parametrize("name", SENTENCES)
    def test_sentences(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        made = build(recipe(SENTENCES[name]))
        together = check_batches(made, TREES * 2)
        assert together.shape == (12, 3)
        torch.testing.assert_close(together.sum(1), torch.ones(12))
        torch.testing.assert_close(together[:6], together[6:], rtol=1e-5, atol=1e-5)
        assert together.std(0).max() > 0.05  # not one answer for all
        monkeypatch.setattr(classification, "LARGEST_BATCH", 12)
        torch.testing.assert_close(found(made, TREES * 2), together, rtol=1e-5, atol=1e-5)

    @pytest.mark.parametrize("name", OVER_DEPENDENCIES)
    def test_dependencies(self, name: str) -> None:
        asked = recipe(OVER_DEPENDENCIES[name], structure="dependencies")
        together = check_batches(build(asked, DEPENDENCIES), DEPENDENCIES)
        assert together.std(0).max() > 0.05

    @pytest.mark.parametrize("name", ENCODERS)
    def test_pairs(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        made = build(recipe(ENCODERS[name], pairs=True))
        given = [*TREES, *TREES[::-1]]
        together = check_batches(made, given, each=2)
        assert together.shape == (6, 3) and together.std(0).max() > 0.001
        # It makes no difference which of the two comes first.
        swapped = [given[place ^ 1] for place in range(len(given))]
        torch.testing.assert_close(found(made, swapped), together, rtol=1e-5, atol=1e-5)
        monkeypatch.setattr(classification, "LARGEST_BATCH", 20)
        torch.testing.assert_close(found(made, given), together, rtol=1e-5, atol=1e-5)

    def test_scores_of_pairs(self) -> None:
        asked = recipe(
            {**TRAVERSAL, "tree": "dependency", "task": "relatedness"}, pairs=True, structure="dependencies"
        )
        together = check_batches(build(asked, DEPENDENCIES), DEPENDENCIES, each=2)
        assert together.shape == (2,) and ((together > 1) & (together < 5)).all()

    def test_the_tree_is_seen_and_by_the_others_not(self) -> None:
        words = ["the", "owl", "hoots", "now", "the", "mouse"]
        shapes = [Tree.from_spans(words, spans) for spans in ([(0, 2), (2, 6)], [(1, 6), (2, 4)], [])]
        for name, model in SENTENCES.items():
            rows = found(build(recipe(model)), shapes)
            same = torch.allclose(rows[0], rows[1], atol=1e-4) and torch.allclose(rows[0], rows[2], atol=1e-4)
            assert same == (name in ("lstm", "bilstm", "transformer", "mean", "plain")), name

    @pytest.mark.parametrize(
        "name", ["traversal", "n-ary", "child-sum", "accumulation", "plain", "transformer"]
    )
    @settings(max_examples=8, deadline=None)
    @given(data=st.data())
    def test_any_trees(self, name: str, data: st.DataObject) -> None:
        check_batches(MADE[name], data.draw(st.lists(trees(), min_size=1, max_size=5)))

    @settings(max_examples=8, deadline=None)
    @given(given=st.lists(dependency_trees(), min_size=1, max_size=5))
    def test_any_dependencies(self, given: list[DependencyTree]) -> None:
        check_batches(MADE["dependencies"], given)

    def test_batches_hold_so_many_words(self, monkeypatch: pytest.MonkeyPatch) -> None:
        sizes: list[list[int]] = []
        collate = TreeReader.collate

        def watched(self: TreeReader, encoded: Any, chance: Any = None) -> Any:
            sizes.append([len(one.words) for one in encoded])
            return collate(self, encoded, chance)

        monkeypatch.setattr(TreeReader, "collate", watched)
        monkeypatch.setattr(classification, "LARGEST_BATCH", 12)
        found(MADE["child-sum"], [right_branching(n) for n in (1, 5, 3, 20, 3, 6, 6, 1, 2)])
        assert sizes == [[20], [6, 6], [5, 3], [3, 2, 1, 1]]


MADE = {name: build(recipe(SENTENCES[name])) for name in SENTENCES} | {
    "dependencies": build(recipe(OVER_DEPENDENCIES["traversal"], structure="dependencies"), DEPENDENCIES)
}


class TestClassify:
    def test_the_most_probable_class(self) -> None:
        made = classifier(TRAVERSAL)
        rows = found((made.model, made.reader), TREES).tolist()
        for one, row in zip(made.classify(TREES), rows, strict=True):
            assert one == Classified(CLASSES[row.index(max(row))], dict(zip(CLASSES, row, strict=True)))
        assert made.classes == tuple(CLASSES)
        assert made.classify(iter(TREES)) == made.classify(TREES)

    def test_nothing_gives_nothing(self, tmp_path: Path) -> None:
        for model in SENTENCES.values():
            assert classifier(model).classify([]) == []
        frozen = classifier({**TRAVERSAL, "hidden_size": 8}, vectors=str(tiny_bert(tmp_path)))
        assert frozen.classify([]) == []

    def test_text_gets_trees_and_trees_stay(self) -> None:
        made = classifier(TRAVERSAL, trees="right")
        words = ["the", "owl", "hoots", "-LRB-", "now", "-RRB-"]
        right = Tree.from_spans(words, [(start, 6) for start in range(5)])
        assert made.trees_of(["the owl hoots (now)", TREES[0], words]) == [right, TREES[0], right]
        mixed = made.classify([TREES[0], "the owl hoots (now)", TREES[1], ["owl"]])
        expected = made.classify([TREES[0], right, TREES[1], Tree.from_spans(["owl"], [(0, 1)])])
        assert [one.label for one in mixed] == [one.label for one in expected]
        left = made.classify([words], trees="left")
        assert left != made.classify([words]) and left[0].probabilities.keys() == set(CLASSES)

    def test_documents_have_a_root_over_their_sentences(self) -> None:
        model, reader = build(recipe(ACCUMULATION))
        one = Classifier(model, reader, "right", documents=True)
        (found,) = one.trees_of(["Owls hoot. They hunt."])
        assert (found.label, len(found.children)) == ("ROOT", 2)  # type: ignore[union-attr]
        assert one.trees_of(TREES[:1]) == TREES[:1]
        assert one.classify(["Owls hoot. They hunt."]) == one.classify([found])

    def test_texts_longer_than_the_model_reads(self) -> None:
        one = classifier({**ACCUMULATION, "max_position_embeddings": 4}, "right")
        assert len(one.classify(["a b c d"])) == 1
        with pytest.raises(ValueError, match=r"^text 2 has 5 words, the model reads at most 4$"):
            one.classify(["a b c d", "a b c d e"])
        assert len(classifier(RECURRENT, "right").classify(["a b c d e"])) == 1

    def test_escaped_words_are_the_same(self) -> None:
        made = classifier(RECURRENT)
        plain = TREES[0].map_words(lambda word: {"-LRB-": "(", "-RRB-": ")"}.get(word, word))
        assert made.classify([plain]) == made.classify([TREES[0]])
        assert made.classify([plain.map_words(str.upper)]) == made.classify([TREES[0]])
        capitals = classifier(RECURRENT, lowercase=False)
        assert capitals.reader.encode([plain.map_words(str.upper)])[0].words[1] == "OWL"

    @pytest.mark.parametrize("text", ["an owl", ["an", "owl"]])
    def test_text_for_a_model_of_given_trees(self, text: Any) -> None:
        with pytest.raises(ValueError) as error:
            classifier(TRAVERSAL).classify([TREES[0], text])
        assert str(error.value) == (
            "text 2 is no tree, but this model was trained on trees that were given: expected trees, or for "
            "sentences the folder of a parser or the name of a shape"
        )
        assert classifier(TRAVERSAL).classify([TREES[0], text], trees="right")

    def test_text_for_a_model_of_dependencies(self, tmp_path: Path) -> None:
        setting = {"read": DEPENDENCIES, "structure": "dependencies"}
        made = classifier(OVER_DEPENDENCIES["traversal"], **setting)
        with pytest.raises(
            ValueError, match="text 1 is no tree, but this model was trained on dependency trees"
        ):
            made.classify(["an owl"])
        with pytest.raises(ValueError, match="the tree over 'an owl' has no labels"):
            made.classify(["an owl"], trees="right")
        line = "(S (NP (DT an) (NN owl)) (VP (VBZ hoots)))"
        (source := tmp_path / "gold.txt").write_text(f"{line}\n")
        made = classifier(OVER_DEPENDENCIES["traversal"], **setting, trees=str(source))
        tree = to_dependencies(Tree.from_brackets(line))
        assert made.classify(["an owl hoots"]) == made.classify([tree])

    def test_trees_of_the_other_kind(self) -> None:
        with pytest.raises(ValueError, match="tree 2 is a DependencyTree, expected a Tree"):
            classifier(TRAVERSAL).classify([TREES[0], DEPENDENCIES[0]])
        made = classifier(OVER_DEPENDENCIES["child-sum"], read=DEPENDENCIES, structure="dependencies")
        with pytest.raises(ValueError, match="tree 1 is a Tree, expected a DependencyTree"):
            made.classify(TREES)

    def test_other_mistakes(self, tmp_path: Path) -> None:
        made = classifier(TRAVERSAL, trees="right")
        with pytest.raises(ValueError, match="expected a list of texts, got one string"):
            made.classify("an owl")
        with pytest.raises(ValueError, match="text 2 has no words"):
            made.classify(["an owl", " "])
        with pytest.raises(
            ValueError, match=r"^text 1 is None, expected a tree, a string or a list of words"
        ):
            made.classify([None])  # type: ignore[list-item]
        with pytest.raises(FileNotFoundError, match="gone: neither right, "):
            made.classify(["an owl"], trees=str(tmp_path / "gone"))

    @pytest.mark.parametrize("task", ["classification", "relatedness"])
    def test_weights_that_are_no_numbers(self, task: str) -> None:
        asked = recipe({**OVER_DEPENDENCIES["traversal"], "task": task}, pairs=True, structure="dependencies")
        model, reader = build(asked, DEPENDENCIES)
        for weights in model.parameters():
            weights.data.fill_(torch.nan)
        with pytest.raises(ValueError, match="no probabilities but nan: its weights are damaged"):
            Similarity(model, reader).compare([(DEPENDENCIES[0], DEPENDENCIES[1])])

    def test_models_are_put_to_evaluation(self) -> None:
        model, reader = build(recipe({**TRAVERSAL, "head_dropout": 0.5, "embedding_dropout": 0.5}))
        model.train()
        made = Classifier(model, reader)
        assert made.classify(TREES) == made.classify(TREES)
        assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled()


class TestAttention:
    @pytest.mark.parametrize("tree", TREES, ids=len)
    def test_what_the_root_gives(self, tree: Tree) -> None:
        shares = classifier(ACCUMULATION).attention(tree)
        assert len(shares) == sum(1 for _ in tree.nodes())
        assert sum(shares) == pytest.approx(1) and all(share > 0 for share in shares)

    @pytest.mark.parametrize("name", ["traversal", "traversal, heads and places"])
    @pytest.mark.parametrize("tree", TREES, ids=len)
    def test_what_each_child_gets(self, name: str, tree: Tree) -> None:
        shares = classifier(ENCODERS[name]).attention(tree)
        assert shares[0] == 0 and all(share > 0 for share in shares[1:])
        remaining = iter(shares)
        sums = []
        pending = [(tree, -1)]
        while pending:
            node, parent = pending.pop()
            share = next(remaining)
            if parent >= 0:
                sums[parent] += share
            if node.children:
                sums.append(0.0)
                pending += [(child, len(sums) - 1) for child in reversed(node.children)]
        assert sums == pytest.approx([1.0] * len(sums))

    def test_over_frozen_vectors(self, tmp_path: Path) -> None:
        made = classifier({**TRAVERSAL, "hidden_size": 8}, vectors=str(tiny_bert(tmp_path)))
        assert len(made.attention(TREES[0])) == 10

    @pytest.mark.parametrize("name", ["n-ary", "child-sum", "lstm", "transformer", "plain"])
    def test_encoders_without(self, name: str) -> None:
        with pytest.raises(ValueError, match="this encoder has no attention over constituency trees"):
            classifier(SENTENCES[name]).attention(TREES[0])

    def test_trees_of_the_other_kind(self) -> None:
        made = classifier(OVER_DEPENDENCIES["traversal"], read=DEPENDENCIES, structure="dependencies")
        with pytest.raises(ValueError, match="no attention over constituency trees"):
            made.attention(DEPENDENCIES[0])
        with pytest.raises(ValueError, match="tree 1 is a DependencyTree, expected a Tree"):
            classifier(ACCUMULATION).attention(DEPENDENCIES[0])


class TestCompare:
    def test_classes(self) -> None:
        made = Similarity(*build(recipe(RECURRENT, pairs=True)), "right")
        (first, second) = made.compare([(TREES[0], TREES[1]), ("the owl", ["owl"])])
        assert first.score is None and first.label in CLASSES
        assert first.probabilities[first.label] == max(first.probabilities.values())
        assert made.compare([("the owl", ["owl"])])[0].label == second.label
        assert made.compare([]) == []

    def test_scores(self) -> None:
        made = Similarity(*build(recipe({**TRAVERSAL, "task": "relatedness"}, pairs=True)))
        compared = made.compare([(TREES[0], TREES[1]), (TREES[3], TREES[3])])
        assert [(one.label, one.probabilities) for one in compared] == [("", {}), ("", {})]
        assert all(one.score is not None and 1 < one.score < 5 for one in compared)
        assert made.compare([]) == []

    @pytest.mark.parametrize(
        ("pair", "says"),
        [
            (("a", "b", "c"), "pair 2 is 3 texts"),
            (("a",), "pair 2 is 1 text"),
            ("ab", "pair 2 is one string"),
            (None, "pair 2 is None"),
        ],
    )
    def test_two_texts_are_a_pair(self, pair: Any, says: str) -> None:
        made = Similarity(*build(recipe({**TRAVERSAL, "task": "relatedness"}, pairs=True)))
        with pytest.raises(ValueError, match=f"^{says}.*, expected two texts$"):
            made.compare([("the owl", "the owl"), pair])

    def test_texts_are_counted_through_the_pairs(self) -> None:
        made = Similarity(*build(recipe(RECURRENT, pairs=True)))
        with pytest.raises(ValueError, match="text 4 is no tree"):
            made.compare([(TREES[0], TREES[1]), (TREES[1], "an owl")])
        with pytest.raises(ValueError, match="text 2 is None, expected a tree, a string or a list of words"):
            made.compare([("an owl", None)], trees="right")  # type: ignore[list-item]


def save(folder: Path, asked: Recipe, read: Sequence[Any] = TREES) -> tuple[Any, TreeReader]:
    made = build(asked, read)
    save_model(*made, folder, {"recipe.json": asked.to_dict()})
    return made


def check_loaded(loaded: Classifier | Similarity, made: tuple[Any, TreeReader], given: Sequence[Any]) -> None:
    """That reader and weights are the same; where memory begins may cost a last bit of the rest."""
    weights, expected = loaded.model.state_dict(), made[0].state_dict()
    assert loaded.reader == made[1] and weights.keys() == expected.keys()
    assert all(torch.equal(weights[name], part) for name, part in expected.items())
    rows = found((loaded.model, loaded.reader), given)
    torch.testing.assert_close(rows, found(made, given), rtol=1e-6, atol=1e-6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("model")
    save(place, recipe({**RECURRENT, "kind": "n-ary"}, trees="balanced"))
    return place


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    """A copy of the model folder, to be damaged; without checksums, by which all damage looks alike."""
    return Path(shutil.copytree(folder, tmp_path / "model", ignore=shutil.ignore_patterns("SHA256SUMS")))


class TestFolders:
    @pytest.mark.parametrize("name", SENTENCES)
    def test_a_saved_classifier_answers_as_before(self, name: str, tmp_path: Path) -> None:
        made = save(tmp_path, recipe(SENTENCES[name]))
        loaded = Classifier.from_pretrained(tmp_path, device="cpu")
        check_loaded(loaded, made, TREES)
        assert loaded.classes == tuple(CLASSES) and loaded.trees == "given"

    @pytest.mark.parametrize("task", ["classification", "relatedness"])
    def test_a_saved_model_of_pairs_answers_as_before(self, task: str, tmp_path: Path) -> None:
        asked = recipe({**OVER_DEPENDENCIES["traversal"], "task": task}, pairs=True, structure="dependencies")
        made = save(tmp_path, asked, DEPENDENCIES)
        loaded = Similarity.from_pretrained(str(tmp_path), device="cpu")
        check_loaded(loaded, made, DEPENDENCIES)
        loaded = Similarity.from_pretrained(tmp_path)
        assert str(loaded.model.device) == ("cuda:0" if torch.cuda.is_available() else "cpu")

    def test_over_frozen_vectors(self, tmp_path: Path) -> None:
        encoder = tiny_bert(tmp_path / "encoder")
        made = save(tmp_path / "model", recipe({**TRAVERSAL, "hidden_size": 8}, vectors=str(encoder)))
        check_loaded(Classifier.from_pretrained(tmp_path / "model", device="cpu"), made, TREES)
        together = check_batches(made, TREES)
        assert together.std(0).max() > 0.01
        assert not (tmp_path / "model" / "vocabulary.json").exists()
        shutil.rmtree(encoder)
        with pytest.raises(FileNotFoundError, match="encoder: neither a folder"):
            Classifier.from_pretrained(tmp_path / "model").classify(TREES)

    def test_trees_of_text_come_from_where_the_recipe_says(self, folder: Path) -> None:
        loaded = Classifier.from_pretrained(folder)
        assert loaded.trees == "balanced"
        assert loaded.classify(["the owl hoots"]) == loaded.classify(["the owl hoots"], trees="balanced")

    def test_a_model_of_documents_and_labels_reads_them_later_too(self, tmp_path: Path) -> None:
        made = save(tmp_path, recipe(ACCUMULATION, trees="right", documents=True, labels=True))
        loaded = Classifier.from_pretrained(tmp_path, device="cpu")
        check_loaded(loaded, made, TREES)
        assert loaded.reader.labels == ("[UNK]", "NP", "PRN", "S", "VP")
        (found,) = loaded.trees_of(["The owl hoots. It sleeps."])
        assert (found.label, len(found.children)) == ("ROOT", 2)  # type: ignore[union-attr]

    def test_no_folder(self, tmp_path: Path) -> None:
        for place in (tmp_path / "nowhere", tmp_path):
            with pytest.raises(
                FileNotFoundError, match=rf"^{place}/config\.json: no such file; expected a folder of"
            ):
                Classifier.from_pretrained(place)

    @pytest.mark.parametrize(
        "name", ["config.json", "model.safetensors", "recipe.json", "reader.json", "vocabulary.json"]
    )
    def test_a_file_is_missing(self, copied: Path, name: str) -> None:
        (copied / name).unlink()
        with pytest.raises(FileNotFoundError) as error:
            Classifier.from_pretrained(copied)
        assert name in str(error.value) and "\n" not in str(error.value)

    @pytest.mark.parametrize("name", ["config.json", "recipe.json", "reader.json", "vocabulary.json"])
    @pytest.mark.parametrize(
        "content", ["", "{", "[1]", "{}", "\xff"], ids=["empty", "cut", "list", "no", "bytes"]
    )
    def test_damaged_settings(self, copied: Path, name: str, content: str) -> None:
        (copied / name).write_bytes(content.encode("latin-1"))
        with pytest.raises(ValueError, match=name.partition(".")[0]) as error:
            Classifier.from_pretrained(copied)
        assert str(copied) in str(error.value) and "\n" not in str(error.value)

    @pytest.mark.parametrize("kept", [0, 100, -1])
    def test_weights_are_cut_off(self, copied: Path, kept: int) -> None:
        path = copied / "model.safetensors"
        path.write_bytes(path.read_bytes()[:kept])
        with pytest.raises(ValueError, match=rf"^{copied}: cannot be loaded") as error:
            Classifier.from_pretrained(copied)
        assert "\n" not in str(error.value)

    @pytest.mark.parametrize(
        "change",
        [
            {"encoder": {"model_type": "bert"}},
            {"encoder": 5},
            {"vocab_size": "many"},
            {"encoder": {"model_type": "treeformers-recurrent", "kind": "gru"}},
            {"encoder": {"model_type": "treeformers-recurrent", "hidden_size": 14}},
        ],
        ids=["encoder", "number", "type", "kind", "size"],
    )
    def test_settings_of_another_model(self, copied: Path, change: dict[str, Any]) -> None:
        path = copied / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | change))
        with pytest.raises(ValueError, match=rf"^{copied}: cannot be loaded: ") as error:
            Classifier.from_pretrained(copied)
        assert "\n" not in str(error.value)

    def test_weights_that_are_missing(self, copied: Path, tmp_path: Path) -> None:
        save(tmp_path / "other", recipe({**RECURRENT, "kind": "lstm"}))
        shutil.copy(tmp_path / "other" / "config.json", copied)
        with pytest.raises(
            ValueError, match=r"model\.safetensors: lacks encoder\.encoder\.lstm\.bias_hh_l0, "
        ):
            Classifier.from_pretrained(copied)

    def test_the_vocabulary_of_another_model(self, copied: Path) -> None:
        words = SentenceReader.load(copied)
        shorter = dataclasses.replace(words, words=words.words[:-1], counts=words.counts[:-1])
        shorter.save_pretrained(copied)
        count = len(words.words)
        with pytest.raises(ValueError) as error:
            Classifier.from_pretrained(copied)
        expected = f"{copied}/vocabulary.json: {count - 1} words, the model has {count}"
        assert str(error.value) == expected

    def test_a_model_of_another_kind(self, copied: Path) -> None:
        with pytest.raises(ValueError, match="a recipe of the task 'classify', expected 'similarity'"):
            Similarity.from_pretrained(copied)
        path = copied / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"model_type": "treeparser"}))
        with pytest.raises(
            ValueError, match=r"config\.json: a model of kind 'treeparser', expected 'accumulation', "
        ):
            Classifier.from_pretrained(copied)
