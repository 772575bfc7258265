"""Corpora to examples with trees, and fresh models for them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tiny_encoders import tiny_bert
from tree_strategies import trees
from treeformers.models.accumulation import AccumulationForSequenceClassification
from treeformers.models.heads import PairClassifier, SentenceClassifier
from treeformers.models.over_vectors import AccumulationOverVectors, TreeBertOverVectors
from treeformers.models.recurrent import RecurrentModel
from treeformers.models.traversal import TraversalModel
from treeformers.recipes import ClassifyRecipe, Examples, SimilarityRecipe
from treeformers.tasks.classify.examples import (
    Example,
    build_encoder,
    classes_of,
    phrase_labels,
    read_examples,
)
from treeformers.trees.dependency import DependencyTree
from treeformers.trees.heads import to_dependencies
from treeformers.trees.tree import Tree

torch.set_num_threads(1)

GRAMMAR = Examples(corpus="grammar", sentences=40, scored_sentences=20)
SPLITS = ("train", "validation", "test")


def write(path: Path, *lines: str) -> str:
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def reviews(folder: Path, count: int = 25) -> str:
    """A table of texts, each with a number of its own."""
    rows = (f"{'good' if n % 3 else 'bad'}\ttext {n}\tg{n % 2}" for n in range(count))
    return write(folder / "reviews.tsv", "label\ttext\tgroup", *rows)


def sentiment(folder: Path, *lines: str) -> str:
    return write(folder / "sentiment.mrg", *lines)


def texts_of(examples: Sequence[Example]) -> list[str]:
    return [" ".join(tree.words) for example in examples for tree in example.trees]


class TestGrammar:
    def test_the_class_is_the_number_of_the_subject(self) -> None:
        for split, count in zip(SPLITS, (40, 20, 20), strict=True):
            examples = read_examples(GRAMMAR, split)
            assert len(examples) == count
            for one in examples:
                (tree,) = one.trees
                singular = {"he", "she", "a"} & set(tree.words[:1])
                assert one.label in ("singular", "plural") and (not singular or one.label == "singular")
                assert one.label == "plural" or tree.words[0] not in (
                    "I",
                    "you",
                    "we",
                    "they",
                    "those",
                    "these",
                )
            assert min(Counter(one.label for one in examples).values()) > count / 4
        assert len(read_examples(Examples(corpus="grammar"), "test")) == 200

    def test_the_parts_differ(self) -> None:
        found = [texts_of(read_examples(GRAMMAR, split)) for split in SPLITS]
        assert found[0][:20] != found[1] != found[2] != found[0][:20]
        assert found[0] == texts_of(read_examples(GRAMMAR, "train"))

    def test_pairs_are_alike_by_their_categories(self) -> None:
        examples = read_examples(GRAMMAR, "train", pairs=True)
        assert len(examples) == 40 and {len(one.trees) for one in examples} == {2}
        assert len({one.score for one in examples}) > 5
        for one in examples:
            ours, theirs = ({span.label for span in tree.spans()} for tree in one.trees)  # type: ignore[union-attr]
            assert one.score is not None and 1 <= one.score <= 5
            assert (one.score == 5) == (ours == theirs)
            assert one.label == ("same" if ("VP_3Sg" in ours) == ("VP_3Sg" in theirs) else one.label)

    def test_other_trees_over_the_same_words(self) -> None:
        given, right = (
            read_examples(Examples(corpus="grammar", sentences=40, trees=source), "train")
            for source in ("given", "right")
        )
        assert texts_of(given) == texts_of(right)
        assert [one.label for one in given] == [one.label for one in right]
        assert [one.trees for one in given] != [one.trees for one in right]


class TestCorpora:
    def test_of_one_part_every_tenth_validates(self, tmp_path: Path) -> None:
        data = Examples(corpus=reviews(tmp_path), trees="right")
        found = {split: texts_of(read_examples(data, split)) for split in SPLITS}
        assert found["validation"] == ["text 0", "text 10", "text 20"]
        assert found["test"] == [f"text {n}" for n in range(25)]
        assert found["train"] == [f"text {n}" for n in range(25) if n % 10]

    def test_what_an_example_has(self, tmp_path: Path) -> None:
        data = Examples(corpus=reviews(tmp_path), trees="right", scored_sentences=2)
        tree = Tree.from_brackets("(X (X text) (X 10))")
        assert read_examples(data, "validation")[1] == Example((tree,), "good", None, "g0")
        corpus = write(
            tmp_path / "pairs.tsv", "score\tfirst\tlabel\tsecond", *["4.5\tan owl\tyes\tthe owls"] * 9
        )
        (one, *_) = read_examples(Examples(corpus=corpus, trees="left"), "test", pairs=True)
        assert ([tree.words for tree in one.trees], one.label, one.score) == (
            [("an", "owl"), ("the", "owls")], "yes", 4.5,
        )  # fmt: skip

    def test_of_a_folder_its_parts(self, tmp_path: Path) -> None:
        for part in ("train", "dev"):
            write(tmp_path / f"{part}.tsv", "label\ttext", f"a\tof {part}", "b\tanother", "c\tand more")
        data = Examples(corpus=str(tmp_path), trees="right", sentences=2, scored_sentences=1)
        assert texts_of(read_examples(data, "train")) == ["of train", "another"]
        assert texts_of(read_examples(data, "validation")) == ["of dev"]
        with pytest.raises(ValueError) as error:
            read_examples(data, "test")
        assert str(error.value) == f"{tmp_path} has no split 'test': expected train, validation"

    def test_the_root_of_labelled_trees_is_the_class(self, tmp_path: Path) -> None:
        corpus = sentiment(tmp_path, "(3 (2 good) (2 fun))", "(2 meh)", "(0 (1 so) (0 bad))")
        assert [one.label for one in read_examples(Examples(corpus=corpus), "test")] == ["3", "2", "0"]

    def test_classes_are_merged_or_left_out(self, tmp_path: Path) -> None:
        corpus = sentiment(tmp_path, *(f"(S{n} (A a) (B b{n}))" for n in range(5)))
        data = Examples(corpus=corpus, classes={"S0": "low", "S1": "low", "S4": "high"})
        found = read_examples(data, "test")
        assert [one.label for one in found] == ["low", "low", "high"]
        assert texts_of(found) == ["a b0", "a b1", "a b4"]
        with pytest.raises(ValueError, match=r"sentiment\.mrg: no examples in its test part"):
            read_examples(Examples(corpus=corpus, classes={"S9": "high"}), "test")

    def test_limits_come_first_and_are_spread_over_the_part(self, tmp_path: Path) -> None:
        corpus = reviews(tmp_path, 40)
        data = Examples(corpus=corpus, trees="right", sentences=6, classes={"good": "good"})
        assert texts_of(read_examples(data, "train")) == ["text 1", "text 7", "text 14", "text 34"]

    def test_documents(self, tmp_path: Path) -> None:
        rows = (f"{n % 2}\tOwls hoot. Mice hide {n}!" for n in range(12))
        corpus = write(tmp_path / "reviews.tsv", "label\ttext", *rows)
        data = Examples(corpus=corpus, trees="right", documents=True)
        (tree,) = read_examples(data, "train")[0].trees
        assert str(tree) == (
            "(ROOT (X (X Owls) (X (X hoot) (X .))) (X (X Mice) (X (X hide) (X (X 1) (X !)))))"
        )
        trees = [str(example.trees[0]) for example in read_examples(data, "test")]
        source = write(tmp_path / "trees.mrg", *trees)
        read = Examples(corpus=corpus, trees=source, documents=True)
        assert [str(example.trees[0]) for example in read_examples(read, "test")] == trees

    def test_trees_of_a_file_are_those_of_the_whole_corpus(self, tmp_path: Path) -> None:
        corpus = reviews(tmp_path)
        written = [f"(S{n} (NN text) (CD {n}))" for n in range(25)]
        source = write(tmp_path / "trees.mrg", *written)
        data = Examples(corpus=corpus, trees=source, scored_sentences=2)
        assert [str(one.trees[0]) for one in read_examples(data, "validation")] == [written[0], written[10]]
        train = [written[n] for n in range(25) if n % 10]
        assert [str(one.trees[0]) for one in read_examples(data, "train")] == train
        folder = tmp_path / "parts"
        folder.mkdir()
        for part, start, stop in (("test", 20, 25), ("dev", 15, 20), ("train", 0, 15)):
            rows = (f"a\ttext {n}" for n in range(start, stop))
            write(folder / f"{part}.tsv", "label\ttext", *rows)
        data = Examples(corpus=str(folder), trees=source)
        for split, numbers in zip(SPLITS, (range(15), range(15, 20), range(20, 25)), strict=True):
            found = [str(one.trees[0]) for one in read_examples(data, split)]
            assert found == [written[n] for n in numbers]

    def test_trees_of_a_file_that_does_not_fit(self, tmp_path: Path) -> None:
        corpus = reviews(tmp_path)
        source = write(tmp_path / "trees.mrg", *(f"(S (NN text) (CD {n}))" for n in range(24)))
        with pytest.raises(ValueError, match=r"trees\.mrg: 24 trees, expected one for each of the 25 texts"):
            read_examples(Examples(corpus=corpus, trees=source), "train")
        write(tmp_path / "trees.mrg", *(f"(S (NN text) (CD {n + 1}))" for n in range(25)))
        with pytest.raises(ValueError, match=r"trees\.mrg:1: a tree over 'text 1', expected 'text 0'"):
            read_examples(Examples(corpus=corpus, trees=source), "train")

    def test_mistakes(self, tmp_path: Path) -> None:
        corpus = reviews(tmp_path)
        with pytest.raises(
            ValueError, match=r"reviews\.tsv has no trees: expected data\.trees, the folder of"
        ):
            read_examples(Examples(corpus=corpus), "train")
        with pytest.raises(ValueError, match="holds sentences with classes, expected pairs of sentences"):
            read_examples(Examples(corpus=corpus, trees="right"), "train", pairs=True)
        with pytest.raises(FileNotFoundError, match="rigth: neither"):
            read_examples(Examples(corpus=corpus, trees="rigth"), "train")
        with pytest.raises(FileNotFoundError, match="gone"):
            read_examples(Examples(corpus=str(tmp_path / "gone")), "train")
        pairs = write(tmp_path / "pairs.tsv", "label\tfirst\tsecond", "yes\ta\tb")
        with pytest.raises(ValueError, match="holds pairs of sentences, expected sentences with classes"):
            read_examples(Examples(corpus=pairs), "test")
        text = write(tmp_path / "plain.txt", "no tree", "at all")
        with pytest.raises(ValueError, match=r"plain\.txt holds plain text \(.*\.tsv\), expected sentences"):
            read_examples(Examples(corpus=text), "test")
        one = write(tmp_path / "one.tsv", "label\ttext", "a\tb")
        with pytest.raises(ValueError, match=r"one\.tsv: 1 example, expected at least 2"):
            read_examples(Examples(corpus=one, trees="right"), "train")

    def test_trees_of_the_other_kind(self, tmp_path: Path) -> None:
        for data in (GRAMMAR, Examples(corpus=sentiment(tmp_path, "(2 (2 a) (2 b))"))):
            wrong = Examples(corpus=data.corpus, structure="dependencies")
            with pytest.raises(ValueError) as error:
                read_examples(wrong, "test")
            expected = "a Tree, but data.structure is 'dependencies': expected a DependencyTree"
            assert str(error.value) == f"{data.corpus}: {expected}"
        made = Examples(corpus="grammar", structure="dependencies", trees="right")
        with pytest.raises(ValueError, match="has no labels, and the head rules need labels"):
            read_examples(made, "test")

    def test_dependencies_of_constituency_trees(self, tmp_path: Path) -> None:
        texts = write(tmp_path / "a.tsv", "label\ttext", "a\tthe owl hoots", "b\towls")
        gold = ["(S (NP (DT the) (NN owl)) (VP (VBZ hoots)))", "(NP (NNS owls))"]
        trees = write(tmp_path / "gold.txt", *gold)
        data = Examples(corpus=texts, structure="dependencies", trees=trees)
        found = [tree for example in read_examples(data, "test") for tree in example.trees]
        assert found == [to_dependencies(Tree.from_brackets(line)) for line in gold]


class TestLabels:
    TREE = Tree.from_brackets("(3 (2 (2 The) (1 owl)) (4 (3 hoots) (2 well)))")

    def test_of_nodes_and_words(self) -> None:
        nodes, words = phrase_labels(self.TREE, ["1", "2", "3", "4"], {})
        assert (nodes.tolist(), words.tolist()) == ([2, 1, 3], [1, 0, 2, 1])
        assert nodes.dtype == words.dtype == torch.int64

    def test_merged_and_left_out(self) -> None:
        mapping = {"0": "bad", "1": "bad", "3": "good", "4": "good"}
        nodes, words = phrase_labels(self.TREE, ["bad", "good"], mapping)
        assert (nodes.tolist(), words.tolist()) == ([1, -100, 1], [-100, 0, 1, -100])
        nodes, _ = phrase_labels(self.TREE, ["3"], {})
        assert nodes.tolist() == [0, -100, -100]

    def test_of_a_single_word(self) -> None:
        nodes, words = phrase_labels(Tree("2", word="meh"), ["2"], {})
        assert (nodes.tolist(), words.tolist()) == ([], [0])

    @settings(max_examples=40, deadline=None)
    @given(tree=trees(tags=st.sampled_from("01234"), labels=st.sampled_from("01234")), merge=st.booleans())
    def test_the_root_comes_first(self, tree: Tree, merge: bool) -> None:
        mapping = {"0": "bad", "1": "bad", "3": "good", "4": "good"} if merge else {}
        classes = ["bad", "good"] if merge else list("01234")
        nodes, words = phrase_labels(tree, classes, mapping)
        names = [*classes, ""]  # -100 is the last one
        found = [names[max(number, -1)] for number in [*nodes.tolist(), *words.tolist()]]
        labels = [*(node.label for node in tree.nodes() if node.children), *tree.tags]
        assert found == [mapping.get(label, "") if merge else label for label in labels]
        assert found[0] == (mapping.get(tree.label, "") if merge else tree.label)

    def test_dependency_trees_have_none(self) -> None:
        with pytest.raises(ValueError, match=r"data\.phrases: dependency trees have no labels of phrases"):
            phrase_labels(DependencyTree(["owl"], [0]), ["a"], {})

    def test_classes(self) -> None:
        def example(label: str) -> Example:
            return Example((self.TREE,), label)

        assert classes_of([example(label) for label in ("b", "a", "", "b")]) == ["a", "b"]
        for labels in ((), ("",), ("a", "a", "")):
            with pytest.raises(ValueError, match=r"have [01] classes, expected two or more"):
                classes_of([example(label) for label in labels])


SENTENCE_TREES = [
    Tree.from_brackets("(S (NP (DT The) (NN owl)) (VP (VBZ hoots)))"),
    Tree.from_brackets("(S (NP (NNS Mice)) (VP (VBP hide)))"),
]
SMALL = {"input_size": 6, "hidden_size": 6}
TRAVERSAL = {"encoder": "traversal", "num_branches": 2, "intermediate_size": 5, **SMALL}
RECURRENT = {"encoder": "recurrent", **SMALL}
TREEBERT = {"encoder": "treebert", "hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1}
ACCUMULATION = {"encoder": "accumulation", "hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1}


def build(model: dict[str, Any], pairs: bool = False, **data: Any) -> tuple[Any, Any]:
    kind = SimilarityRecipe if pairs else ClassifyRecipe
    classes = [] if model.get("task") == "relatedness" else ["no", "yes"]
    recipe = kind(model=model, data=Examples(corpus="grammar", **data))
    return build_encoder(recipe, SENTENCE_TREES, classes, 1)


class TestBuilding:
    def test_models_and_how_they_read(self) -> None:
        model, reader = build(ACCUMULATION)
        assert isinstance(model, AccumulationForSequenceClassification) and reader.plan == "branches"
        model, reader = build({**TRAVERSAL, "head_dropout": 0.25, "dropout": 0.5})
        assert isinstance(model, SentenceClassifier) and isinstance(model.encoder, TraversalModel)
        assert (model.config.head_dropout, model.encoder.config.dropout) == (0.25, 0.5)
        assert (reader.plan, reader.arity) == ("levels", None)
        model, reader = build({**RECURRENT, "kind": "n-ary", "arity": 3})
        assert isinstance(model.encoder, RecurrentModel) and (reader.plan, reader.arity) == ("levels", 3)
        assert build({**RECURRENT, "kind": "n-ary"})[1].arity == 2
        assert build({**RECURRENT, "kind": "lstm"})[1].plan == "words"
        model, reader = build(TREEBERT)
        assert isinstance(model.encoder, TreeBertOverVectors) and reader.plan == "words"
        model, reader = build({**ACCUMULATION, "head_dropout": 0.1})
        assert isinstance(model.encoder, AccumulationOverVectors) and reader.plan == "branches"
        assert isinstance(build(ACCUMULATION, pairs=True)[0].encoder, AccumulationOverVectors)
        model, _ = build(RECURRENT, pairs=True)
        assert isinstance(model, PairClassifier) and model.config.task == "classification"

    def test_classes_and_words(self) -> None:
        model, reader = build(RECURRENT, lowercase=False, min_frequency=1)
        assert model.config.id2label == {0: "no", 1: "yes"} and model.config.label2id == {"no": 0, "yes": 1}
        assert len(reader.words.words) == model.config.vocab_size == len(model.embeddings.weight)
        assert {"The", "owl", "Mice"} <= set(reader.words.words) and not reader.lowercase
        model, _ = build({**RECURRENT, "task": "relatedness"}, pairs=True)
        assert model.config.num_labels == 5

    def test_labels_of_nodes(self) -> None:
        model, reader = build(ACCUMULATION, labels=True)
        assert reader.labels == ("[UNK]", "NP", "S", "VP")
        assert model.config.node_vocab_size == 4 and model.encoder.node_embeddings.num_embeddings == 4
        assert build(ACCUMULATION)[1].labels == ()
        with pytest.raises(
            ValueError, match=r"^data\.labels: the encoder 'recurrent' reads no labels of nodes"
        ):
            build(RECURRENT, labels=True)

    def test_layers_are_those_of_a_pretrained_encoder(self, tmp_path: Path) -> None:
        table = write(tmp_path / "vectors.txt", "owl 1 2 3")
        for vectors, named in (("", "training"), (table, table)):
            says = f"data.vector_layers is 7, but vectors come from {named}: expected 1, or a pretrained"
            with pytest.raises(ValueError, match=f"^{re.escape(says)}"):
                build(TRAVERSAL, vectors=vectors, vector_layers=7)

    def test_the_seed_is_that_of_the_weights(self) -> None:
        recipe = ClassifyRecipe(model=TRAVERSAL)
        a, b, c = (build_encoder(recipe, SENTENCE_TREES, ["no", "yes"], seed)[0] for seed in (1, 1, 2))
        assert all(torch.equal(part, b.state_dict()[name]) for name, part in a.state_dict().items())
        assert not torch.equal(a.embeddings.weight, c.embeddings.weight)

    @pytest.mark.parametrize("frozen", [True, False])
    def test_vectors_of_a_file(self, frozen: bool, tmp_path: Path) -> None:
        rows = {"owl": [1.0, 2, 3], "The": [4.0, 5, 6], "mice": [7.0, 8, 9], "unseen": [1.0, 1, 1]}
        lines = (" ".join([word, *map(str, numbers)]) for word, numbers in rows.items())
        path = write(tmp_path / "vectors.txt", *lines)
        settings = {**TRAVERSAL, "freeze_embeddings": frozen}
        model, reader = build(settings, vectors=path)
        known = {word: model.embeddings.weight[row] for row, word in enumerate(reader.words.words)}
        assert model.embeddings.weight.shape[1] == model.encoder.config.input_size == 3
        assert known["owl"].tolist() == rows["owl"] and known["mice"].tolist() == rows["mice"]
        assert "unseen" not in known and known["the"].tolist() != rows["The"]  # read in lower case
        assert not known["[PAD]"].any() and known["hoots"].any()
        assert model.embeddings.weight.requires_grad is not frozen
        model, reader = build(settings, vectors=path, lowercase=False)
        known = {word: model.embeddings.weight[row] for row, word in enumerate(reader.words.words)}
        assert known["The"].tolist() == rows["The"]
        assert known["Mice"].tolist() == rows["mice"]  # of its form in lower case

    def test_vectors_of_an_encoder(self, tmp_path: Path) -> None:
        model, reader = build(TRAVERSAL, vectors=str(tiny_bert(tmp_path)))
        assert reader.words is None and reader.vectors == str(tmp_path)
        assert (model.config.vocab_size, model.encoder.config.input_size) == (1, 8)
        for chosen, kind in ((ACCUMULATION, AccumulationOverVectors), (TREEBERT, TreeBertOverVectors)):
            model, reader = build(chosen | {"hidden_size": 12}, vectors=str(tmp_path))
            assert isinstance(model.encoder, kind) and reader.vectors == str(tmp_path)
            assert model.encoder.project.linear.weight.shape == (12, 8)

    @pytest.mark.parametrize(
        ("model", "message"),
        [
            ({}, "model.encoder is None, expected one of accumulation, traversal, recurrent, treebert"),
            (
                {"encoder": "lstm"},
                "model.encoder is 'lstm', expected one of accumulation, traversal, recurrent, treebert",
            ),
            (
                {**TRAVERSAL, "hidden_sise": 8},
                "unknown key 'model.hidden_sise', the nearest is 'model.hidden_size'",
            ),
            (
                {**TRAVERSAL, "num_brances": 8},
                "unknown key 'model.num_brances', the nearest is 'model.num_branches'",
            ),
            (
                {**RECURRENT, "head_droput": 0.1},
                "unknown key 'model.head_droput', the nearest is 'model.head_dropout'",
            ),
            (
                {**ACCUMULATION, "subtree_mask": True},
                "unknown key 'model.subtree_mask', the nearest is 'model.subtree_masking'",
            ),
        ],
        ids=["none", "encoder", "typo", "traversal", "head", "accumulation"],
    )
    def test_unknown_settings(self, model: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError) as error:
            build(model)
        assert str(error.value) == message

    @pytest.mark.parametrize("key", ["vocab_size", "id2label", "num_labels", "task", "arity", "num_branches"])
    def test_keys_that_are_not_of_this_model(self, key: str) -> None:
        with pytest.raises(ValueError, match=f"unknown key 'model.{key}', the nearest is 'model."):
            build({**ACCUMULATION, key: 5})

    @pytest.mark.parametrize(
        ("model", "message"),
        [
            ({**TRAVERSAL, "hidden_size": "8"}, "^model.hidden_size expected int, got str"),
            (
                {**TRAVERSAL, "hidden_size": 7},
                "^model.hidden_size is 7, expected a multiple of num_branches",
            ),
            ({**RECURRENT, "kind": "gru"}, "^model.kind expected one of .'child-sum', .* got gru"),
            ({**RECURRENT, "head_dropout": "much"}, "^model.head_dropout with value 'much' "),
            (
                {**ACCUMULATION, "hidden_size": 6},
                "^model.hidden_size is 6, expected an even multiple of num_attention_heads",
            ),
        ],
        ids=["type", "branches", "kind", "head", "heads"],
    )
    def test_values_that_are_not_taken(self, model: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message) as error:
            build(model)
        assert "\n" not in str(error.value)

    @pytest.mark.parametrize(
        ("model", "message"),
        [
            (TRAVERSAL, "model.tree is 'constituency', but data.structure is 'dependencies'"),
            (
                ACCUMULATION,
                "model: 'accumulation' reads constituency trees, but data.structure is 'dependencies'",
            ),
            (
                {**RECURRENT, "kind": "n-ary"},
                "model: 'n-ary' reads constituency trees, but data.structure is 'dependencies'",
            ),
        ],
        ids=["traversal", "accumulation", "n-ary"],
    )
    def test_encoders_of_the_other_trees(self, model: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError) as error:
            build(model, structure="dependencies")
        assert str(error.value) == message

    def test_other_mistakes(self, tmp_path: Path) -> None:
        with pytest.raises(
            ValueError, match=r"^model\.tree is 'dependency', but data.structure is 'constituency'$"
        ):
            build({**TRAVERSAL, "tree": "dependency"})
        with pytest.raises(FileNotFoundError, match="gone: neither a folder"):
            build(TRAVERSAL, vectors=str(tmp_path / "gone"))
        with pytest.raises(FileNotFoundError, match=r"gone\.txt"):
            build(TRAVERSAL, vectors=str(tmp_path / "gone.txt"))
        with pytest.raises(ValueError, match=r"vectors\.vec:1: "):
            build(TRAVERSAL, vectors=write(tmp_path / "vectors.vec", "owl 1 two 3"))
