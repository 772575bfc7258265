"""Training of classifiers: that each encoder learns, that a run can be gone on with, and what is measured."""

from __future__ import annotations

import dataclasses
import gc
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import Trainer
from transformers.trainer_utils import get_last_checkpoint

from tiny_encoders import tiny_bert
from treeformers.metrics import accuracy, pearson
from treeformers.recipes import ClassifyRecipe, Examples, Recipe, SimilarityRecipe, Train
from treeformers.tasks.classify.examples import Example, build_encoder, read_examples
from treeformers.tasks.classify.predictor import Classifier, Similarity
from treeformers.tasks.classify.train import _Collator, _features, figures, scorer, train_classifier
from treeformers.trees.tree import Tree

torch.set_num_threads(1)

SMALL = {"input_size": 16, "hidden_size": 16}
TRAVERSAL = {"encoder": "traversal", "num_branches": 2, "intermediate_size": 16, "dropout": 0.0, **SMALL}
RECURRENT = {"encoder": "recurrent", **SMALL}
ACCUMULATION = {
    **{"encoder": "accumulation", "hidden_size": 16, "num_hidden_layers": 1},
    **{"num_attention_heads": 2, "intermediate_size": 32},
}
TRAIN: dict[str, Any] = {
    **{
        "tokens_per_batch": 100,
        "learning_rate": 2e-2,
        "warmup_steps": 5,
        "max_grad_norm": 1.0,
        "bf16": False,
    },
    **{"epochs": 4, "num_evaluations": 2},
}
GRAMMAR = Examples(corpus="grammar", sentences=120, scored_sentences=60)
FEW = Examples(corpus="grammar", sentences=40, scored_sentences=10)


def recipe(model: dict[str, Any], data: Examples = GRAMMAR, **train: Any) -> ClassifyRecipe:
    return ClassifyRecipe(data=data, model=model, train=Train(**{**TRAIN, **train}))


def pairs(model: dict[str, Any], data: Examples = GRAMMAR, **train: Any) -> SimilarityRecipe:
    return SimilarityRecipe(data=data, model=model, train=Train(**{**TRAIN, **train}))


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """The end of a run collects garbage, which takes longer than these runs if all of torch is looked at."""
    gc.freeze()
    yield
    gc.unfreeze()


def majority(labels: Sequence[str]) -> float:
    """The accuracy of saying always the same."""
    return max(accuracy(labels, [label] * len(labels)) for label in set(labels))


def weights(folder: Path) -> dict[str, torch.Tensor]:
    state: dict[str, torch.Tensor] = Classifier.from_pretrained(folder, "cpu").model.state_dict()
    return state


class TestLearning:
    @pytest.mark.parametrize(
        "model",
        [TRAVERSAL, {**RECURRENT, "kind": "n-ary"}, ACCUMULATION],
        ids=["traversal", "n-ary", "accumulation"],
    )
    def test_the_number_of_the_subject(self, model: dict[str, Any], tmp_path: Path) -> None:
        asked = recipe(model)
        fit = train_classifier(asked, tmp_path, seed=2, progress=False)
        gold = read_examples(GRAMMAR, "validation")
        labels = [one.label for one in gold]
        assert fit.best > majority(labels) + 20
        scores = [entry["eval_accuracy"] for entry in fit.history if "eval_accuracy" in entry]
        assert (fit.metric, fit.best) == ("accuracy", max(scores)) and len(scores) == 2
        loaded = Classifier.from_pretrained(tmp_path, device="cpu")
        found = [one.label for one in loaded.classify([one.trees[0] for one in gold])]
        assert accuracy(labels, found) == fit.best  # the best weights are those that were saved
        assert fit.parameters == sum(part.numel() for part in loaded.model.parameters())
        assert fit.processor_seconds > 0 and fit.wall_seconds > 0
        assert {path.name for path in tmp_path.iterdir()} == {
            "config.json", "model.safetensors", "reader.json", "vocabulary.json",
            "recipe.json", "history.json", "run.json", "SHA256SUMS",
        }  # fmt: skip
        assert Recipe.from_dict(json.loads((tmp_path / "recipe.json").read_text())) == asked
        assert json.loads((tmp_path / "run.json").read_text())["seed"] == 2

    def test_scores_of_pairs(self, tmp_path: Path) -> None:
        data = Examples(corpus="grammar", sentences=60, scored_sentences=30)
        fit = train_classifier(pairs({**RECURRENT, "task": "relatedness"}, data), tmp_path, progress=False)
        assert fit.metric == "pearson" and fit.best > 0.45
        best = next(entry for entry in fit.history if entry.get("eval_pearson") == fit.best)
        assert {"eval_pearson", "eval_spearman", "eval_mse"} <= best.keys()
        gold = read_examples(data, "validation", pairs=True)
        compared = Similarity.from_pretrained(tmp_path, "cpu").compare(
            [(one.trees[0], one.trees[1]) for one in gold]
        )
        scores = [one.score for one in gold if one.score], [one.score for one in compared if one.score]
        assert pearson(*scores) == pytest.approx(fit.best)

    def test_classes_of_pairs(self, tmp_path: Path) -> None:
        fit = train_classifier(pairs(TRAVERSAL, FEW, max_steps=3), tmp_path, progress=False)
        gold = read_examples(FEW, "validation", pairs=True)
        compared = Similarity.from_pretrained(tmp_path, "cpu").compare(
            [(one.trees[0], one.trees[1]) for one in gold]
        )
        assert accuracy([one.label for one in gold], [one.label for one in compared]) == fit.best

    def test_a_model_is_checked_before_data_are_read(self, tmp_path: Path) -> None:
        nothing = Examples(corpus=str(tmp_path / "nothing"))
        allowed = r"^model\.task expected one of \('classification', 'relatedness'\), got foo$"
        with pytest.raises(ValueError, match=allowed):
            train_classifier(pairs({**TRAVERSAL, "task": "foo"}, nothing), tmp_path, progress=False)

    def test_over_frozen_vectors(self, tmp_path: Path) -> None:
        data = dataclasses.replace(FEW, vectors=str(tiny_bert(tmp_path / "encoder")))
        fit = train_classifier(recipe(TRAVERSAL, data), tmp_path / "model", progress=False)
        losses = [entry["loss"] for entry in fit.history if "loss" in entry]
        assert losses[-1] < 0.8 * losses[0]
        assert not (tmp_path / "model" / "vocabulary.json").exists()
        assert Classifier.from_pretrained(tmp_path / "model", "cpu").reader.vectors == data.vectors

    def test_a_resumed_run_equals_one_never_stopped(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = recipe(
            {**TRAVERSAL, "dropout": 0.3, "head_dropout": 0.2},
            FEW,
            epochs=2,
            num_evaluations=6,
            ema_decay=0.9,
        )
        whole = train_classifier(asked, tmp_path / "whole", seed=3, progress=False)
        step = Trainer.training_step

        class KilledError(Exception):
            pass

        def killed_in_the_second_half(self: Trainer, *args: object, **kwargs: object) -> torch.Tensor:
            if self.state.global_step == whole.steps * 2 // 3:
                raise KilledError
            return step(self, *args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(Trainer, "training_step", killed_in_the_second_half)
            with pytest.raises(KilledError):
                train_classifier(asked, tmp_path / "parts", seed=3, progress=False)
        last = Path(get_last_checkpoint(str(tmp_path / "parts" / "checkpoints")))
        assert 0 < json.loads((last / "trainer_state.json").read_text())["global_step"] < whole.steps
        resumed = train_classifier(asked, tmp_path / "parts", seed=3, resume=True, progress=False)
        assert (resumed.steps, resumed.best) == (whole.steps, whole.best)
        expected, found = weights(tmp_path / "whole"), weights(tmp_path / "parts")
        assert expected.keys() == found.keys()
        assert all(torch.equal(expected[name], found[name]) for name in expected)
        with pytest.raises(ValueError, match="another recipe or seed was trained here"):
            train_classifier(asked, tmp_path / "parts", seed=4, resume=True, progress=False)


SENTIMENT = [
    f"({grade} (2 (2 the) (2 {noun})) ({grade} (2 was) ({word} {adjective})))"
    for noun in ("film", "plot", "cast", "score", "song", "book", "play", "show")
    for grade, word, adjective in (("1", "0", "dull"), ("3", "3", "fine"), ("2", "2", "long"))
]


def write(path: Path, *lines: str) -> str:
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


class TestPhrases:
    @pytest.mark.parametrize("model", [TRAVERSAL, ACCUMULATION], ids=["traversal", "accumulation"])
    def test_labels_of_nodes_and_words_train(self, model: dict[str, Any], tmp_path: Path) -> None:
        data = Examples(corpus=write(tmp_path / "sentiment.mrg", *SENTIMENT), phrases=True)
        asked = recipe(model, data, epochs=16, tokens_per_batch=40)
        fit = train_classifier(asked, tmp_path / "model", seed=2, progress=False)
        assert fit.best > 60
        loaded = Classifier.from_pretrained(tmp_path / "model", "cpu")
        assert loaded.classes == ("1", "2", "3")  # no whole sentence is 0
        parts = ["(2 (2 the) (2 plot))", "(3 (2 was) (3 fine))", "(3 fine)", "(2 the)", *SENTIMENT]
        found = loaded.classify(map(Tree.from_brackets, parts))
        assert accuracy([part[1] for part in parts], [one.label for one in found]) > 80

    def test_the_batch_has_all_of_them(self) -> None:
        trees = [Tree.from_brackets(text) for text in (SENTIMENT[0], "(2 so-so)", SENTIMENT[1])]
        first, second, third = (Example((tree,), tree.label) for tree in trees)
        data = Examples(phrases=True, classes={"0": "bad", "1": "bad", "3": "good", "4": "good"})
        _, reader = build_encoder(recipe(RECURRENT), trees, ["bad", "good"], 1)
        merged = [first._replace(label="bad"), third._replace(label="good")]
        features = _features(merged, reader, ["bad", "good"], data)
        batch = _Collator(reader)(features)
        assert batch["node_labels"].tolist() == [[0, -100, 0], [1, -100, 1]]
        assert batch["leaf_labels"].tolist() == [[-100, -100, -100, 0], [-100, -100, -100, 1]]
        assert "labels" not in batch
        features = _features([first, second, third], reader, ["1", "2", "3"], Examples(phrases=True))
        batch = _Collator(reader)(features)
        assert batch["node_labels"].tolist() == [[0, 1, 0], [-100] * 3, [2, 1, 2]]
        assert batch["leaf_labels"].tolist() == [[1, 1, 1, -100], [1, -100, -100, -100], [1, 1, 1, 2]]
        batch = _Collator(reader)(_features([first, second, third], reader, ["1", "2", "3"], Examples()))
        assert batch["labels"].tolist() == [0, 1, 2] and "node_labels" not in batch

    def test_labels_that_are_none(self, tmp_path: Path) -> None:
        """They would train nothing, and the loss would be 0."""
        corpus = write(tmp_path / "sentiment.mrg", *SENTIMENT)
        for data in (
            Examples(corpus=corpus, phrases=True, trees="right"),
            Examples(corpus="grammar", sentences=20, scored_sentences=5, phrases=True),
        ):
            with pytest.raises(ValueError, match=r"data\.phrases, but no node or word has a class"):
                train_classifier(recipe(TRAVERSAL, data), tmp_path / "model", progress=False)
        with pytest.raises(ValueError, match=r"data\.phrases: labels of phrases are not read of pairs"):
            data = Examples(corpus="grammar", phrases=True)
            train_classifier(pairs(TRAVERSAL, data), tmp_path / "model", progress=False)
        assert not (tmp_path / "model").exists()


def examples(labels: Sequence[str]) -> list[Example]:
    return [Example((Tree("X", word="w"),), label) for label in labels]


class TestFigures:
    FOUND = torch.tensor(
        [
            [0.4, 0.0, 0.35, 0.25],  # "0" alone, but "3" and "4" together
            [0.3, 0.6, 0.1, 0.0],
            [0.2, 0.5, 0.2, 0.1],
            [0.1, 0.0, 0.2, 0.7],
        ]
    )
    CLASSES = ("0", "2", "3", "4")
    COARSE = {"0": "negative", "1": "negative", "3": "positive", "4": "positive"}  # noqa: RUF012

    def test_accuracy_by_hand(self) -> None:
        gold = examples(["0", "2", "0", "4"])
        assert figures(self.FOUND, gold, self.CLASSES, {}) == {"accuracy": 75.0}

    def test_coarse_accuracy_by_hand(self) -> None:
        """What is neutral is left out, and a coarse class is as probable as its classes together."""
        gold = examples(["3", "2", "0", "3"])
        found = figures(self.FOUND, gold, self.CLASSES, self.COARSE)
        # Positive, left out, positive (0.3 to 0.2), positive.
        assert found == {"accuracy": 25.0, "coarse_accuracy": pytest.approx(200 / 3)}
        gold = examples(["0", "2", "0", "0"])
        assert figures(self.FOUND, gold, self.CLASSES, self.COARSE)["coarse_accuracy"] == pytest.approx(0)

    def test_classes_that_training_has_not(self) -> None:
        """They count as errors; but a coarse class may still be found."""
        gold = examples(["1", "1", "9", "1"])
        found = figures(self.FOUND.flip(1), gold, self.CLASSES, self.COARSE)
        assert found == {"accuracy": 0.0, "coarse_accuracy": pytest.approx(100 / 3)}

    def test_no_coarse_class(self) -> None:
        gold = examples(["2", "2", "2", "2"])
        assert figures(self.FOUND, gold, self.CLASSES, self.COARSE) == {"accuracy": 50.0}
        found = figures(self.FOUND, examples("0234"), self.CLASSES, {"7": "negative"})
        assert found.keys() == {"accuracy"}

    def test_scores(self) -> None:
        gold = [Example((Tree("X", word="w"),) * 2, "", score) for score in (1.0, 2.0, 4.0)]
        found = figures(torch.tensor([2.0, 3.0, 5.0]), gold, [], {})
        assert found == {"pearson": pytest.approx(1), "spearman": pytest.approx(1), "mse": pytest.approx(1)}
        with pytest.raises(ValueError, match="1 pairs have no score: expected one each"):
            figures(torch.tensor([2.0, 3.0]), [gold[0], gold[1]._replace(score=None)], [], {})

    def test_a_scorer_reads_its_trees_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        gold = read_examples(FEW, "validation")
        model, reader = build_encoder(
            recipe(RECURRENT), [one.trees[0] for one in gold], ["plural", "singular"], 1
        )
        score = scorer(reader, gold, ["plural", "singular"], {"plural": "a", "singular": "b"})
        monkeypatch.setattr(type(reader), "encode", None)
        found = score(model.eval())
        assert found["accuracy"] == found["coarse_accuracy"] == score(model)["accuracy"]


class TestData:
    def test_validation_classes_that_training_has_not(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        for part, labels in (("train", "ababab"), ("dev", "abccd"), ("test", "ab")):
            rows = (f"({label} (X owl) (X hoots))" for label in labels)
            write(tmp_path / f"{part}.mrg", *rows)
        data = Examples(corpus=str(tmp_path))
        fit = train_classifier(recipe(RECURRENT, data, max_steps=1), tmp_path / "model", progress=False)
        assert "classes that no training example has count as errors: 'c' (2), 'd' (1)" in caplog.text
        assert fit.best <= 40
        assert Classifier.from_pretrained(tmp_path / "model", "cpu").classes == ("a", "b")

    def test_long_examples_are_left_out(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        data = Examples(corpus="grammar", sentences=40, scored_sentences=5, max_length=4)
        train_classifier(recipe(RECURRENT, data, max_steps=1), tmp_path, progress=False)
        longer = sum(len(one.trees[0]) > 4 for one in read_examples(data, "train"))
        assert 0 < longer < 40 and f"{longer} examples of more than 4 words are left out" in caplog.text
        seen = [one.trees[0] for one in read_examples(data, "train") if len(one.trees[0]) <= 4]
        words = json.loads((tmp_path / "vocabulary.json").read_text())["words"]
        known = {word for word in words if word[0] not in "<["}
        assert known == {word.lower() for tree in seen for word in tree.words}

    def test_what_the_encoder_cannot_read(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        rows = [f"{'ab'[n % 2]}\t{'owl ' * (1 + n)}" for n in range(8)]
        for part, count in (("train", 8), ("dev", 4)):
            write(tmp_path / f"{part}.tsv", "label\ttext", *rows[:count])
        data = Examples(corpus=str(tmp_path), trees="right")
        short = {**ACCUMULATION, "max_position_embeddings": 5}
        train_classifier(recipe(short, data, max_steps=1), tmp_path / "model", progress=False)
        assert "3 examples of more than 5 words are left out: 6, 7, 8" in caplog.text
        shorter = {**ACCUMULATION, "max_position_embeddings": 3}
        with pytest.raises(
            ValueError, match="example 4 of the validation part has 4 words, the model reads at"
        ):
            train_classifier(recipe(shorter, data), tmp_path / "other", progress=False)
        assert not (tmp_path / "other").exists()

    def test_nothing_to_learn(self, tmp_path: Path) -> None:
        one = write(tmp_path / "one.mrg", *["(S (X owl) (X hoots))"] * 12)
        numbers = write(tmp_path / "pairs.tsv", "label\tfirst\tsecond", *["yes\ta\tb", "no\ta\ta"] * 12)
        mistakes: list[tuple[Any, str]] = [
            (recipe(RECURRENT, Examples(corpus=one)), "the examples have 1 classes, expected two or more"),
            (
                recipe(RECURRENT, Examples(corpus="grammar", sentences=5, max_length=1)),
                r"grammar: all examples are of more than 1 words \(data\.max_length, or what the en",
            ),
            (
                pairs({**RECURRENT, "task": "relatedness"}, Examples(corpus=numbers, trees="right")),
                r"pairs\.tsv: an example without a score, expected one each",
            ),
            (recipe({**RECURRENT, "task": "relatedness"}), r"unknown key 'model\.task', the nearest is"),
            (recipe({**RECURRENT, "kind": "gru"}), r"^model.kind expected one of .*, got gru"),
            (recipe({**RECURRENT, "hidden_sise": 8}), r"nearest is 'model\.hidden_size'$"),
        ]
        for asked, message in mistakes:
            with pytest.raises(ValueError, match=message):
                train_classifier(asked, tmp_path / "model", progress=False)
        assert not (tmp_path / "model").exists()

    def test_an_example_without_a_class(self, tmp_path: Path) -> None:
        trees = ["(A (X owl) (X hoots))", "(B (X owl) (X hoots))", "( (A (X owl)) (A (X hoots)))"]
        data = Examples(corpus=write(tmp_path / "some.mrg", *trees * 5))
        with pytest.raises(ValueError, match=r"some\.mrg: an example without a class, expected one each"):
            train_classifier(recipe(RECURRENT, data), tmp_path / "model", progress=False)
