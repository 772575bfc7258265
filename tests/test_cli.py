"""The commands end to end at the smallest size, and what they say of bad input."""

from __future__ import annotations

import gzip
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from treeformers.classification import Classifier, Similarity
from treeformers.cli import app, encoding, parsing
from treeformers.data import agreement, corpora
from treeformers.parsing import Parser
from treeformers.recipes import ClassifyRecipe, Examples, SimilarityRecipe
from treeformers.training.examples import build_encoder
from treeformers.training.folder import save_model
from treeformers.translation import Translator
from treeformers.trees.dependency import DependencyTree
from treeformers.trees.formats import read_trees, write_dependencies
from treeformers.trees.tree import Tree

ROOT = Path(__file__).parents[1]
RECIPE = ROOT / "experiments" / "wang2019" / "tree-l10-wsj-all.toml"
SMALL = ("--scale", "smoke", "data.sentences=100", "train.max_steps=2")
SENTENCES = "the dogs run\n\nhe kicks the big cat\nme\n"
COMMANDS = (
    "demo",
    "train",
    "parse",
    "evaluate",
    "classify",
    "similarity",
    "translate",
    "score",
    "probe",
    "draw",
    "reproduce",
    "serve",
    "env",
    "data list",
    "data get",
    "data make agreement",
    "data make grammar",
)


def run(*arguments: object, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def output(*arguments: object, stdin: str | bytes | None = None) -> str:
    """What a command prints that ends well."""
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def complaint(*arguments: object, stdin: str | bytes | None = None) -> str:
    """The one line of a command that ends badly."""
    result = run(*arguments, stdin=stdin)
    lines = [line for line in result.stderr.splitlines() if line.startswith("treeformers: error: ")]
    assert (result.exit_code, len(lines)) == (2, 1), (result.stderr, result.exception)
    assert "Traceback" not in result.stderr
    return lines[0].removeprefix("treeformers: error: ")


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Writing more to a file fails, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def copied(folder: Path, to: Path) -> Path:
    return Path(shutil.copytree(folder, to))


def with_readout(folder: Path, to: Path, **readout: object) -> Path:
    """A copy of a model folder that reads its trees in another way."""
    path = copied(folder, to) / "recipe.json"
    recipe = json.loads(path.read_text())
    path.write_text(json.dumps(recipe | {"readout": readout}))
    return to


@pytest.fixture(scope="module")
def model(inducer_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_readout(inducer_folder, tmp_path_factory.mktemp("models") / "model", method="blocks")


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first of two parsers, each trained for seconds on the embedded grammar."""
    out = tmp_path_factory.mktemp("parsers") / "parser"
    output("train", ROOT / "experiments" / "ma2017" / "datt-bound.toml", "--scale", "smoke", "--out", out)
    return out / "seed-1"


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with models trained for two steps on the embedded grammar, one a task."""
    folder = tmp_path_factory.mktemp("encoders")
    for name, recipe in (
        ("classify", "nguyen2020/sst-tree"),
        ("scores", "ahmed2019/sick-r-dtt"),
        ("pairs", "ahmed2019/msrp-ctt"),
        ("translate", "nguyen2020/multi30k-en-de-tree"),
    ):
        path = ROOT / "experiments" / f"{recipe}.toml"
        few = ("--scale", "smoke", "train.seeds=[1]", "train.max_steps=2")
        output("train", path, *few, "--out", folder / name)
    return folder


DEPENDENCIES = [
    DependencyTree(["he", "runs"], [2, 0], ["nsubj", "root"]),
    DependencyTree(["the", "dogs", "run"], [2, 3, 0], ["det", "nsubj", "root"]),
]


@pytest.fixture(scope="module")
def dependency_encoders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same for dependency trees, trained for none."""
    folder = tmp_path_factory.mktemp("dependencies")
    data = Examples(structure="dependencies")
    model = {
        "encoder": "traversal",
        "tree": "dependency",
        "input_size": 8,
        "hidden_size": 8,
        "num_branches": 2,
    }
    for recipe in (ClassifyRecipe(data=data, model=model), SimilarityRecipe(data=data, model=model)):
        made, reader = build_encoder(recipe, DEPENDENCIES, ["one", "other"], seed=1)
        save_model(made, reader, folder / recipe.task, {"recipe.json": recipe.to_dict()})
    return folder


def test_help_is_cheap() -> None:
    code = (
        "import sys, time, treeformers.cli\n"
        "heavy = {'torch', 'transformers', 'nltk', 'matplotlib', 'numpy', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert time.process_time() < 0.5, time.process_time()\n"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=60)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("parse", "Missing argument 'MODEL'; see treeformers parse --help"),
        ("data list > /dev/full", "standard output: No space left on device"),
    ],
)
def test_module_runs_as_a_script(arguments: str, says: str) -> None:
    command = f"{sys.executable} -m treeformers.cli {arguments}"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    result = subprocess.run(command, shell=True, capture_output=True, text=True, env=environment, timeout=60)
    assert (result.returncode, result.stderr) == (2, f"treeformers: error: {says}\n")


def test_a_reader_that_has_enough_is_no_error() -> None:
    command = f"set -o pipefail; {sys.executable} -m treeformers.cli data list | true; echo $PIPESTATUS"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    shell = ["bash", "-c", command]
    result = subprocess.run(shell, capture_output=True, text=True, env=environment, timeout=60)
    assert (result.stdout, result.stderr) == ("1\n", "")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    assert f"Example: treeformers {command}" in " ".join(output(*command.split(), "--help").split())


def test_all_commands_are_tested() -> None:
    listed = output("--help").split("Commands:")[1]
    assert {line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line.strip()} == {
        *(command.split()[0] for command in COMMANDS),
        "Example:",
    }


@pytest.mark.parametrize(
    "arguments",
    [[], ["sing"], ["parse"], ["parse", "--pretty"], ["train", "r.toml", "--out", "x", "--scale", "big"]],
)
def test_bad_usage(arguments: list[str]) -> None:
    assert "--help" in complaint(*arguments)


class TestTrain:
    def test_one_seed_fills_the_folder(self, tmp_path: Path) -> None:
        out = tmp_path / "model"
        printed = output("train", RECIPE, *SMALL, "train.seeds=[3]", "--out", out)
        folder, loss = printed.rstrip("\n").split("\t")
        assert folder == str(out)
        assert 0 < float(loss.removeprefix("validation loss ")) < 10
        assert output("parse", out, stdin="he runs\n") == "(X (X he) (X runs))\n"

    def test_several_seeds_have_a_folder_each_and_resume_keeps_the_finished(self, tmp_path: Path) -> None:
        command = ("train", RECIPE, *SMALL, "--out", tmp_path, "train.seeds=[1,2]")
        printed = output(*command)
        assert [line.split("\t")[0] for line in printed.splitlines()] == [
            str(tmp_path / "seed-1"),
            str(tmp_path / "seed-2"),
        ]
        written = (tmp_path / "seed-1" / "model.safetensors").stat().st_mtime_ns
        assert output(*command, "--resume") == printed
        assert (tmp_path / "seed-1" / "model.safetensors").stat().st_mtime_ns == written

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            (
                "[data]\nsentnces = 3\n",
                "recipe.toml:2: unknown key 'data.sentnces', the nearest is 'data.sentences'",
            ),
            ("[train]\nepochs = 'many'\n", "recipe.toml:2: train.epochs is 'many', expected int"),
            ("[model]\nhidden = 3\n", "unknown key 'model.hidden', the nearest is 'model."),
            ("[model]\nvocab_size = 3\n", "unknown key 'model.vocab_size'"),
            ("[train]\nevaluations = 0\n", "recipe.toml:2: train.evaluations is 0, expected at least 1"),
            ("[train]\nseeds = []\n", "recipe.toml:2: train.seeds is empty"),
            ("epochs = = 3", "recipe.toml: not a TOML file"),
        ],
    )
    def test_bad_recipe(self, tmp_path: Path, text: str, says: str) -> None:
        recipe = tmp_path / "recipe.toml"
        recipe.write_text(text + "\n[smoke.data]\ntext = 'grammar'\nsentences = 50\n")
        assert says in complaint("train", recipe, "--scale", "smoke", "--out", tmp_path / "model")
        assert not (tmp_path / "model").exists()

    def test_missing_recipe(self, tmp_path: Path) -> None:
        assert complaint("train", tmp_path / "no.toml", "--out", tmp_path / "model").endswith(
            "no.toml: no such recipe"
        )

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            (b"", "text.txt: nothing in it"),
            (b"\n \n\n", "text.txt: nothing in it"),
            (b"he runs\n" * 30 + b"a\xff\n", "text.txt:31: not UTF-8 text"),
            (bytes(range(128, 256)) * 9, "text.txt:1: not UTF-8 text"),
            (b"he\n" * 3, "3 sentences, expected at least 10"),
        ],
    )
    def test_bad_text(self, tmp_path: Path, text: bytes, says: str) -> None:
        path = tmp_path / "text.txt"
        path.write_bytes(text)
        assert says in complaint(
            "train", RECIPE, *SMALL, f"data.text={path}", "train.seeds=[1]", "--out", tmp_path / "model"
        )

    def test_one_word_lines_and_a_long_line_train(self, tmp_path: Path) -> None:
        path = tmp_path / "text.txt"
        path.write_text("he\nshe\n" * 20 + "he runs " * 2500 + "\n")
        assert "nan" not in output(
            "train", RECIPE, *SMALL, f"data.text={path}", "train.seeds=[1]", "--out", tmp_path / "model"
        )

    @pytest.mark.parametrize("size", [1000, 50_000])
    def test_full_disk_leaves_the_old_model(self, model: Path, tmp_path: Path, size: int) -> None:
        out = copied(model, tmp_path / "model")
        before = contents(out)
        with files_of_at_most(size):
            says = complaint("train", RECIPE, *SMALL, "train.seeds=[1]", "--out", out)
        assert str(out) in says
        after = contents(out)
        assert {name: after.get(name) for name in before if name != "run.json"} == {
            name: content for name, content in before.items() if name != "run.json"
        }
        output("train", RECIPE, *SMALL, "train.seeds=[1]", "--out", out, "--resume")
        assert set(contents(out)) == set(before)


class TestParse:
    def test_trees_stand_on_the_lines_of_their_sentences(self, model: Path, tmp_path: Path) -> None:
        path = tmp_path / "sentences.txt"
        path.write_text(SENTENCES)
        result = run("parse", model, path)
        lines = result.stdout.split("\n")
        assert [
            " ".join(Tree.from_brackets(line).words) if line else "" for line in lines
        ] == SENTENCES.split("\n")
        assert "3 sentences, 1.3 spans a sentence, 0.0 % of the trees flat" in result.stderr
        assert output("parse", model, stdin=SENTENCES) == result.stdout
        assert output("parse", model, path, "--out", tmp_path / "trees.txt") == ""
        assert (tmp_path / "trees.txt").read_text() == result.stdout
        packed = tmp_path / "sentences.txt.gz"
        packed.write_bytes(gzip.compress(SENTENCES.encode()))
        assert output("parse", model, packed) == result.stdout

    def test_chunks_and_batches_change_nothing(self, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        text = SENTENCES * 3
        whole = output("parse", model, stdin=text)
        monkeypatch.setattr(parsing, "CHUNK", 2)
        assert output("parse", model, "--batch-size", 1, stdin=text) == whole

    def test_formats(self, model: Path, tmp_path: Path) -> None:
        def parse(format: str) -> str:
            return output("parse", model, "--format", format, stdin=SENTENCES)

        (tmp_path / "trees.json").write_text(parse("json"))
        assert parse("json").count("\n") == 4
        trees = list(read_trees(tmp_path / "trees.json"))
        assert "".join(f"{tree}\n" for tree in trees) == parse("brackets").replace("\n\n", "\n")
        assert parse("pretty").count("─") > 4
        assert parse("svg").count("<svg") == 3
        assert parse("latex").count("\\begin{forest}") == 3

    def test_layer(self, model: Path) -> None:
        sentence = "the big dog kicks those cats and runs\n" * 3
        trees = {output("parse", model, "--layer", layer, stdin=sentence) for layer in (0, 1, 2)}
        assert len(trees) > 1
        assert output("parse", model, "--layer", -1, stdin=sentence) == output(
            "parse", model, "--layer", 2, stdin=sentence
        )
        assert "layer 3 is not a layer" in complaint("parse", model, "--layer", 3, stdin=sentence)

    def test_says_when_there_is_no_structure(self, model: Path, tmp_path: Path) -> None:
        flat = with_readout(model, tmp_path / "flat", method="layers", threshold=0.0)
        result = run("parse", flat, stdin="the dogs run\nhe runs\n")
        assert result.stdout.startswith("(X (X the) (X dogs) (X run))\n")
        assert "100.0 % of the trees flat" in result.stderr
        assert "warning: most trees hold no structure" in result.stderr
        assert "warning" not in run("parse", model, stdin="the dogs run\n").stderr

    def test_a_line_of_5000_words(self, model: Path) -> None:
        trees = output("parse", model, stdin="he runs\n" + "the dogs run " * 1666 + "he runs\nme\n")
        assert [len(Tree.from_brackets(line)) for line in trees.splitlines()] == [2, 5000, 1]

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            (b"", "<stdin>: no sentences in it"),
            (b"\n \n", "<stdin>: no sentences in it"),
            (
                b"he runs\nshe r\xe9ns\n",
                "1 of 2 lines could not be parsed, the first: <stdin>:2: not UTF-8 text: byte 0xe9",
            ),
            (b"\x7fELF\x00\x00\n", "<stdin>:1: not text: byte 0x00"),
        ],
    )
    def test_bad_text(self, model: Path, text: bytes, says: str) -> None:
        assert complaint("parse", model, stdin=text) == says

    def test_missing_text(self, model: Path, tmp_path: Path) -> None:
        assert complaint("parse", model, tmp_path / "no.txt").endswith("no.txt: No such file or directory")
        assert complaint("parse", model, tmp_path).endswith(": Is a directory")

    def test_bad_model(self, model: Path, tmp_path: Path) -> None:
        def says(folder: Path) -> str:
            return complaint("parse", folder, stdin="he runs\n")

        assert "config.json: no such file" in says(tmp_path / "none")
        truncated = copied(model, tmp_path / "truncated")
        weights = (truncated / "model.safetensors").read_bytes()
        for size in (0, 7, len(weights) // 2, len(weights) - 1):
            (truncated / "model.safetensors").write_bytes(weights[:size])
            assert says(truncated).startswith(f"{truncated}: cannot be loaded")
        other = copied(model, tmp_path / "other")
        config = json.loads((other / "config.json").read_text())
        (other / "config.json").write_text(json.dumps(config | {"model_type": "bert"}))
        assert "a model of kind 'bert', expected 'treebert'" in says(other)
        (other / "config.json").write_text("{")
        assert str(other) in says(other)

    def test_full_disk_leaves_the_old_file(self, model: Path, tmp_path: Path) -> None:
        out = tmp_path / "trees"
        out.write_text("old")
        with files_of_at_most(50):
            says = complaint("parse", model, "--out", out, stdin=SENTENCES * 9)
        assert says == f"{out}: File too large"
        assert contents(tmp_path) == {"trees": b"old"}


class TestParser:
    """`parse` and `evaluate` with a model trained on a treebank."""

    TEXT = "He can't see (yet) the dogs.\n\nthe dogs run\nme\n"

    def test_raw_text_is_cut_as_the_treebank_does(self, parser: Path) -> None:
        result = run("parse", parser, stdin=self.TEXT)
        assert result.exit_code == 0, result.stderr
        words = [Tree.from_brackets(line).words if line else () for line in result.stdout.splitlines()]
        assert " ".join(words[0]) == "He ca n't see -LRB- yet -RRB- the dogs ."
        assert words[1:] == [(), ("the", "dogs", "run"), ("me",)]
        assert "treeformers: 3 sentences\n" in result.stderr

    def test_words_that_are_apart_stay_as_they_are(self, parser: Path) -> None:
        lines = output("parse", parser, "--tokenized", stdin=self.TEXT).splitlines()
        assert Tree.from_brackets(lines[0]).words == (
            *("He", "can't", "see", "-LRB-yet-RRB-", "the", "dogs."),
        )

    def test_a_line_that_is_no_text_costs_itself_alone(self, parser: Path, tmp_path: Path) -> None:
        path = tmp_path / "trees"
        text = b"the dogs run\nr\xe9n\n\nhe runs\n\x00\n"
        says = complaint("parse", parser, "--out", path, stdin=text)
        assert says == "2 of 4 lines could not be parsed, the first: <stdin>:2: not UTF-8 text: byte 0xe9"
        lengths = [len(Tree.from_brackets(line)) if line else 0 for line in path.read_text().splitlines()]
        assert lengths == [3, 0, 0, 2, 0]
        assert "treeformers: <stdin>:5: not text: byte 0x00\n" in run("parse", parser, stdin=text).stderr

    def test_a_sentence_that_fails_costs_itself_alone(
        self, parser: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        parse = Parser.parse

        def fails(self: Parser, sentences: list[str], *rest: object) -> list[Tree]:
            if "me" in sentences:
                raise MemoryError
            return parse(self, sentences, *rest)  # type: ignore[arg-type]

        monkeypatch.setattr(Parser, "parse", fails)
        says = complaint("parse", parser, stdin=self.TEXT)
        assert says == "1 of 3 lines could not be parsed, the first: <stdin>:4: MemoryError"

    @pytest.mark.parametrize("text", ["\U0001f600 \U0001f600", "שלום עולם", ". . .", "a\tb", "word " * 1000])
    def test_any_words_give_a_tree(self, parser: Path, text: str) -> None:
        tree = Tree.from_brackets(output("parse", parser, "--beam", 1, "--tokenized", stdin=text + "\n"))
        assert tree.words == tuple(text.split())

    def test_options_of_the_other_kind_of_model(self, parser: Path, model: Path) -> None:
        assert complaint("parse", parser, "--layer", 1, stdin="a b\n").startswith(
            "--layer is for models that"
        )
        assert complaint("parse", model, "--beam", 2, stdin="a b\n").startswith(
            "--beam and --tokenized are for"
        )

    def test_several_seeds_are_an_ensemble(self, parser: Path) -> None:
        lines = output("parse", parser.parent, stdin=self.TEXT).splitlines()
        assert [len(Tree.from_brackets(line)) if line else 0 for line in lines] == [10, 0, 3, 1]

    def test_evaluate(self, parser: Path, tmp_path: Path) -> None:
        gold = tmp_path / "gold.mrg"
        gold.write_text("(S (NP (DT the) (NN dog)) (VP (VBZ runs)) (. .))\n" * 3)
        printed = output("evaluate", parser, "--data", gold, "--json", tmp_path / "scores.json")
        (scores,) = json.loads((tmp_path / "scores.json").read_text())["scores"].values()
        assert f"{scores['f1']:.2f}" in printed and "parseval|" in printed
        own = json.loads(output_json("evaluate", parser, tmp_path))["scores"]
        assert set(own) == {"grammar test"} and own["grammar test"]["f1"] > 10

    def test_train_says_what_chose_the_weights(self, tmp_path: Path) -> None:
        recipe = ROOT / "examples" / "treebank.toml"
        says = output("train", recipe, "--scale", "smoke", "train.max_steps=1", "--out", tmp_path / "model")
        assert says.startswith(f"{tmp_path / 'model'}\tvalidation f1 ")


class TestClassify:
    TREES = ("(S (NP (DT the) (NNS dogs)) (VP (VBP run)))", "(S (NP (PRP he)) (VP (VBZ runs)))")
    TEXT = f"{TREES[0]}\n\n{TREES[1]}\n  \n"

    def test_a_class_for_each_line(self, encoders: Path, tmp_path: Path) -> None:
        model, path = encoders / "classify", tmp_path / "trees.txt"
        path.write_text(self.TEXT)
        result = run("classify", model, path)
        found = Classifier.from_pretrained(model).classify(map(Tree.from_brackets, self.TREES))
        rows = [f"{one.label}\t{one.probabilities[one.label]:.4f}" for one in found]
        assert result.stdout == f"{rows[0]}\n\n{rows[1]}\n\n"
        assert "treeformers: 2 lines\n" in result.stderr
        assert output("classify", model, stdin=self.TEXT) == result.stdout
        assert output("classify", model, path, "--out", tmp_path / "classes") == ""
        assert (tmp_path / "classes").read_text() == result.stdout

    def test_json(self, encoders: Path) -> None:
        lines = output("classify", encoders / "classify", "--format", "json", stdin=self.TEXT).splitlines()
        assert lines[1] == lines[3] == ""
        for line in (lines[0], lines[2]):
            answer = json.loads(line)
            assert set(answer["probabilities"]) == {"plural", "singular"}
            assert answer["label"] == max(answer["probabilities"], key=answer["probabilities"].get)

    def test_chunks_change_nothing(self, encoders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = output("classify", encoders / "classify", stdin=self.TEXT * 3)
        monkeypatch.setattr(encoding, "CHUNK", 2)
        assert output("classify", encoders / "classify", stdin=self.TEXT * 3) == whole

    def test_trees_are_cleaned_as_in_training(self, encoders: Path) -> None:
        penn = "( (S (NP-SBJ-1 (DT the) (NNS dogs)) (VP (VBP run) (NP (-NONE- *-1)))) )"
        first, second = output("classify", encoders / "classify", stdin=f"{penn}\n{self.TREES[0]}\n").split(
            "\n"
        )[:2]
        assert first == second

    def test_sentences(self, encoders: Path) -> None:
        model = encoders / "classify"
        right = output("classify", model, "--trees", "right", stdin="the dogs run\n")
        assert right == output("classify", model, stdin="(X (X the) (X (X dogs) (X run)))\n")
        says = complaint("classify", model, stdin=f"{self.TREES[0]}\nthe dogs run\n")
        assert says.startswith(
            "1 of 2 lines have no answer, the first: <stdin>:2: is no tree, but this model was trained on"
        )
        assert complaint("classify", model, "--trees", "up", stdin="he runs\n").startswith(
            "up: neither right"
        )
        other = complaint("classify", model, "--trees", encoders / "translate", stdin="he runs\nhe\n")
        assert other.startswith(str(encoders / "translate")) and "2 lines" not in other

    def test_a_line_that_cannot_be_read_costs_itself_alone(self, encoders: Path, tmp_path: Path) -> None:
        model, path = encoders / "classify", tmp_path / "classes"
        lines = [
            b"(S (NP he)", b"(S (NP he) (VP runs)))", b"(Laughter)", b"(S a b)", b"\x00", b"r\xe9n",
            b"((-NONE- *))", b"( (S (NP he", b"\x02",
        ]  # fmt: skip
        good = self.TREES[0].encode()
        text = b"".join(line + b"\n" + good + b"\n\n" for line in lines)
        result = run("classify", model, "--trees", "left", "--out", path, stdin=text)
        assert result.exit_code == 2
        answers = path.read_text().split("\n")
        assert answers[0::3] == [""] * len(lines) + [""] and len(set(answers[1::3])) == 1 and answers[1]
        *_, warned, last = result.stderr.splitlines()
        assert warned == "treeformers: <stdin>:25: has no words"
        assert last == (
            "treeformers: error: 9 of 18 lines have no answer, the first: <stdin>:1: "
            "the tree that begins here is not closed: 1 ')' missing"
        )
        for problem in (
            "4: ')' without '('", "13: not text: byte 0x00", "16: not UTF-8 text: byte 0xe9",
            "22: the tree that begins here is not closed: 3 ')' missing",
        ):  # fmt: skip
            assert f"treeformers: <stdin>:{problem}\n" in result.stderr

    def test_dependency_trees(self, dependency_encoders: Path, tmp_path: Path) -> None:
        model, path = dependency_encoders / "classify", tmp_path / "two.conllu"
        write_dependencies(DEPENDENCIES, path)
        found = Classifier.from_pretrained(model).classify(DEPENDENCIES)
        expected = "".join(f"{one.label}\t{one.probabilities[one.label]:.4f}\n" for one in found)
        assert (
            output("classify", model, path) == output("classify", model, stdin=path.read_text()) == expected
        )
        out = tmp_path / "classes.json"
        output("classify", model, path, "--format", "json", "--out", out)
        assert [json.loads(line)["label"] for line in out.read_text().splitlines()] == [
            one.label for one in found
        ]

    def test_trees_of_the_other_kind(self, encoders: Path, dependency_encoders: Path, tmp_path: Path) -> None:
        path = tmp_path / "two.conllu"
        write_dependencies(DEPENDENCIES, path)
        for command, model in (("classify", "classify"), ("similarity", "pairs"), ("translate", "translate")):
            assert complaint(command, encoders / model, path) == (
                f"{path}: dependency trees, but the model reads sentences or trees in brackets"
            )
        says = complaint("classify", dependency_encoders / "classify", stdin=self.TEXT)
        assert says.startswith("<stdin>:1: expected 8 to 10 columns")
        assert complaint("classify", dependency_encoders / "classify", stdin="\n") == (
            "<stdin>: no trees in it, expected CoNLL-U"
        )

    def test_another_model(self, encoders: Path, parser: Path, model: Path, tmp_path: Path) -> None:
        for command, task in (
            ("classify", "classify"),
            ("similarity", "similarity"),
            ("translate", "translate"),
        ):
            for folder, kind in (
                (parser, "parse"),
                (model, "induce"),
                (encoders / ("scores" if task != "similarity" else "classify"), None),
            ):
                says = complaint(command, folder, stdin="he runs\n")
                assert says.startswith(
                    f"{folder}/recipe.json: a recipe of the task {kind!r}" if kind else str(folder)
                )
                assert says.endswith(f"expected {task!r}")
            assert "config.json: no such file" in complaint(command, tmp_path, stdin="he runs\n")

    def test_nothing_to_read(self, encoders: Path, tmp_path: Path) -> None:
        assert complaint("classify", encoders / "classify", stdin="\n \n") == "<stdin>: no sentences in it"
        says = complaint("classify", encoders / "classify", tmp_path / "no.txt")
        assert says.endswith("no.txt: No such file or directory")


class TestSimilarity:
    FIRST, SECOND = TestClassify.TREES
    TEXT = f"{FIRST}\t{SECOND}\n\n{SECOND} \t {SECOND}\n"

    def test_scores(self, encoders: Path) -> None:
        lines = output("similarity", encoders / "scores", stdin=self.TEXT).split("\n")
        first, second = map(Tree.from_brackets, (self.FIRST, self.SECOND))
        found = Similarity.from_pretrained(encoders / "scores").compare([(first, second), (second, second)])
        assert lines == [f"{found[0].score:.4f}", "", f"{found[1].score:.4f}", ""]
        answer = json.loads(
            output("similarity", encoders / "scores", "--format", "json", stdin=self.TEXT).split("\n")[0]
        )
        assert answer == {"label": "", "score": pytest.approx(found[0].score), "probabilities": {}}

    def test_classes(self, encoders: Path) -> None:
        lines = output("similarity", encoders / "pairs", stdin=self.TEXT).split("\n")
        label, probability = lines[0].split("\t")
        assert label in ("different", "same") and 0.5 <= float(probability) <= 1
        texts = output("similarity", encoders / "pairs", "--trees", "right", stdin="he runs\the runs\n")
        assert texts.count("\t") == 1

    def test_columns(self, encoders: Path, tmp_path: Path) -> None:
        out = tmp_path / "scores"
        text = (
            f"{self.FIRST}\n{self.TEXT}{self.FIRST}\t\t{self.SECOND}\n{self.FIRST}\tno tree\n\t{self.FIRST}\n"
        )
        says = complaint("similarity", encoders / "scores", "--out", out, stdin=text)
        assert says == (
            "4 of 6 lines have no answer, the first: <stdin>:1: expected two texts with a tab between, got 1"
        )
        assert [bool(line) for line in out.read_text().split("\n")] == [False, True, False, True] + 4 * [
            False
        ]
        warned = run("similarity", encoders / "scores", stdin=text).stderr
        assert "treeformers: <stdin>:5: expected two texts with a tab between, got 3\n" in warned
        assert "treeformers: <stdin>:6: is no tree, but this model was trained on trees" in warned

    def test_dependency_trees(self, dependency_encoders: Path, tmp_path: Path) -> None:
        model, path = dependency_encoders / "similarity", tmp_path / "pairs.conllu"
        write_dependencies(DEPENDENCIES * 2, path)
        lines = output("similarity", model, path).splitlines()
        assert len(lines) == 2 and lines[0] == lines[1] and lines[0].split("\t")[0] in ("one", "other")
        write_dependencies(DEPENDENCIES + DEPENDENCIES[:1], path)
        assert complaint("similarity", model, path) == f"{path}: 3 trees, expected 2 for each line of answer"


class TestTranslate:
    def test_a_translation_for_each_line(self, encoders: Path, tmp_path: Path) -> None:
        model, out = encoders / "translate", tmp_path / "out"
        text = "the dogs run\n\n(X (X he) (X runs))\n"
        output("translate", model, "--out", out, stdin=text)
        found = Translator.from_pretrained(model).translate(["the dogs run", "he runs"])
        assert out.read_text() == "{}\n\n{}\n".format(*(" ".join(line.split()) for line in found))
        greedy = Translator.from_pretrained(model).translate(["the dogs run"], "left", 1)
        printed = output("translate", model, "--beam", 1, "--trees", "left", stdin="the dogs run\n")
        assert printed == " ".join(greedy[0].split()) + "\n"
        assert "--beam" in complaint("translate", model, "--beam", 0, stdin="he runs\n")

    def test_a_sentence_that_is_too_long_costs_itself_alone(self, encoders: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        text = "he runs\n" + "dog " * 2100 + "\nthe dogs run\n\x02\n"
        says = complaint("translate", encoders / "translate", "--beam", 1, "--out", out, stdin=text)
        assert says.startswith("2 of 4 lines have no answer, the first: <stdin>:2: has ")
        assert says.endswith(" units, the model reads at most 2048")
        assert out.read_text().count("\n") == 4


def output_json(command: str, model: Path, folder: Path) -> str:
    path = folder / "own.json"
    output(command, model, "--json", path)
    return path.read_text()


class TestEvaluate:
    def test_the_data_of_the_recipe(self, model: Path, tmp_path: Path) -> None:
        printed = output("evaluate", model, "--json", tmp_path / "scores.json")
        assert [line.split("│")[1].strip() for line in printed.splitlines() if line.startswith("│")] == [
            "induced",
            "random",
            "left",
            "balanced",
            "right",
            "best binary",
        ]
        assert "unlabeled-f1|" in printed
        result = json.loads((tmp_path / "scores.json").read_text())
        assert result["data"] == "grammar"
        assert f"{result['scores']['induced']['sentence_f1']:.1f}" in printed

    def test_other_data(self, model: Path, tmp_path: Path) -> None:
        trees = tmp_path / "gold.brackets"
        trees.write_text("(S (NP (DT the) (NN dog)) (VP (VBZ runs)) (. .))\n" * 2)
        output("evaluate", model, "--data", trees, "--json", tmp_path / "scores.json")
        scores = json.loads((tmp_path / "scores.json").read_text())["scores"]
        assert scores["left"]["sentence_f1"] == 100
        assert scores["right"]["sentence_f1"] == 0
        (tmp_path / "text.txt").write_text("the dog runs\n")
        says = complaint("evaluate", model, "--data", tmp_path / "text.txt")
        assert says.endswith("text.txt: no constituency trees in test")
        assert "no.brackets" in complaint("evaluate", model, "--data", tmp_path / "no.brackets")


class TestScore:
    GOLD = "(S (NP (DT the) (NN dog)) (VP (VBZ runs) (ADVP (RB fast))) (. .))\n"
    PREDICTED = "(S (NP (DT the) (NN dog)) (NP (VBZ runs) (NP (RB fast))) (. .))\n"

    @pytest.fixture
    def pair(self, tmp_path: Path) -> tuple[Path, Path]:
        paths = tmp_path / "gold.txt", tmp_path / "predicted.txt"
        for path, text in zip(paths, (self.GOLD, self.PREDICTED), strict=True):
            path.write_text(text)
        return paths

    def figures(self, *arguments: object) -> dict[str, str]:
        rows = (line.split("│") for line in output("score", *arguments).splitlines() if line.startswith("│"))
        return {row[1].strip(): row[2].strip() for row in rows}

    def test_labelled(self, pair: tuple[Path, Path], tmp_path: Path) -> None:
        assert self.figures(*pair)["f1"] == "50.00"
        assert self.figures(*pair, "--cutoff", 4)["sentences"] == "0"
        output("score", *pair, "--cutoff", 4, "--json", tmp_path / "score.json")
        assert json.loads((tmp_path / "score.json").read_text(), parse_constant=pytest.fail)["f1"] is None

    def test_unlabelled(self, pair: tuple[Path, Path], tmp_path: Path) -> None:
        figures = self.figures(*pair, "--unlabeled", "--json", tmp_path / "score.json")
        assert (figures["sentence f1"], figures["recall VP"]) == ("100.00", "100.00")
        assert json.loads((tmp_path / "score.json").read_text())["corpus_f1"] == 100

    def test_bad_trees(self, pair: tuple[Path, Path], tmp_path: Path) -> None:
        bad = tmp_path / "bad.txt"
        for text, says in (
            ("", "bad.txt: no trees in it"),
            ("(S (NP x)\n", "bad.txt:1: "),
            (self.GOLD * 2, "got 2 for 1"),
            (self.GOLD.replace("dog", "cat"), "sentence 1: the predicted tree has other words"),
        ):
            bad.write_text(text)
            assert says in complaint("score", pair[0], bad, "--unlabeled")


class TestDraw:
    TREES = "(S (NP (DT the) (NN dog)) (VP (VBZ runs)))\n(S (NP (PRP he)) (VP (VBZ runs)))\n"

    @pytest.mark.parametrize(
        ("name", "holds"), [("a.html", "<svg"), ("a.txt", "dog"), ("a.tex", "\\begin{forest}")]
    )
    def test_several_trees_in_a_file(self, tmp_path: Path, name: str, holds: str) -> None:
        assert output("draw", "--out", tmp_path / name, stdin=self.TREES) == f"{tmp_path / name}\n"
        assert (tmp_path / name).read_text().count(holds) >= (1 if holds == "dog" else 2)

    def test_one_picture_or_a_folder_of_them(self, tmp_path: Path) -> None:
        output("draw", "--out", tmp_path / "pictures", stdin=self.TREES)
        assert sorted(contents(tmp_path / "pictures")) == ["0001.svg", "0002.svg"]
        output("draw", "--out", tmp_path / "one.svg", stdin=self.TREES.split("\n")[0])
        assert (tmp_path / "one.svg").read_bytes() == contents(tmp_path / "pictures")["0001.svg"]
        assert "2 trees for one picture" in complaint("draw", "--out", tmp_path / "two.svg", stdin=self.TREES)
        assert not (tmp_path / "two.svg").exists()

    def test_heat_maps(self, model: Path, tmp_path: Path) -> None:
        page = tmp_path / "page.html"
        output("draw", "--model", model, "--out", page, stdin=SENTENCES)
        assert page.read_text().count('class="layer"') == 3 * 2 * 3  # sentences, prior and attention, layers
        for out, text, says in (
            (page, "he " * 101, "<stdin>:1: 101 words are too many"),
            (tmp_path / "page.svg", "he runs", "page.svg: expected .html"),
            (page, "", "no sentences"),
        ):
            assert says in complaint("draw", "--model", model, "--out", out, stdin=text)

    def test_attention_on_nodes(self, encoders: Path, tmp_path: Path) -> None:
        page, tree = tmp_path / "page.html", "(S (NP (DT the) (NNS dogs)) (VP (VBP run)))\n"
        output("draw", "--model", encoders / "classify", "--out", page, stdin=tree)
        drawn = page.read_text()
        assert drawn.count("<svg") == 1 and drawn.count('class="shade"') and "<input" not in drawn
        output("draw", "--model", encoders / "translate", "--trees", "left", "--out", page, stdin="he runs\n")
        look = Translator.from_pretrained(encoders / "translate").look("he runs", trees="left")
        assert page.read_text().count('class="layer"') == len(look.units) > 1
        for model, text, says in (
            ("classify", "\nhe runs\n", "<stdin>:2: is no tree, but this model was trained on"),
            ("similarity", "he runs\n", "of the task 'similarity', expected 'induce', 'classify' or"),
        ):
            folder = encoders / ("scores" if model == "similarity" else model)
            assert says in complaint("draw", "--model", folder, "--out", page, stdin=text)
        assert "--trees is for" in complaint("draw", "--trees", "left", "--out", page, stdin=tree)

    def test_bad_input(self, tmp_path: Path) -> None:
        assert "expected .html, .svg, .txt, .tex or a folder" in complaint(
            "draw", "--out", "a.gif", stdin=self.TREES
        )
        assert "<stdin>:1: " in complaint("draw", "--out", tmp_path / "a.html", stdin="(S (NP")
        assert "<stdin>: no trees" in complaint("draw", "--out", tmp_path / "a.html", stdin="")
        assert "no such folder" in complaint("draw", "--out", tmp_path / "no" / "a.html", stdin=self.TREES)
        assert not any(tmp_path.iterdir())


class TestData:
    def test_list_names_every_corpus(self) -> None:
        printed = output("data", "list")
        assert all(f" {name} " in printed for name in corpora.CORPORA)

    def test_get(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("TREEFORMERS_DATA", raising=False)
        assert "unknown corpus 'brown'" in complaint("data", "get", "brown", "--out", tmp_path)
        assert "needs a licence" in complaint("data", "get", "wsj", "--out", tmp_path)
        assert "--out" in complaint("data", "get", "ewt")

    def test_make_agreement(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(agreement.write_sets, "__defaults__", (1, True, (60, 20, 20)))
        for version, clean in (("--clean", True), ("--as-published", False)):
            printed = output("data", "make", "agreement", "--out", tmp_path, "--seed", 5, version)
            summary = json.loads((tmp_path / "summary.json").read_text())
            assert (summary["seed"], summary["clean"]) == (5, clean)
            rows = [
                line.split() for line in printed.splitlines() if re.search(r"(train|validation|test) ", line)
            ]
            assert len(rows) == 9
            assert " rec-gen " in printed and " linear rule" in printed
            for name in agreement.SETS:
                parts = corpora.load(tmp_path / name)
                assert [len(part) for part in parts.values()] == [60, 20, 20]
        (tmp_path / "file").write_text("")
        assert "file" in complaint("data", "make", "agreement", "--out", tmp_path / "file")

    def test_make_grammar(self, tmp_path: Path) -> None:
        printed = output("data", "make", "grammar", "--out", tmp_path, "--sentences", 20, "--seed", 5)
        text, trees, rules = map(Path, printed.split())
        assert [" ".join(tree.words) for tree in read_trees(trees)] == text.read_text().splitlines()
        assert len(text.read_text().splitlines()) == 20
        assert "NP_3Sg_nom ->" in rules.read_text()
        assert set(corpora.load(trees)) == {"train"}


def test_reproduce_renders_the_tables(experiment: Path, tmp_path: Path) -> None:
    folder = copied(experiment, tmp_path / "wang2019")
    row = "wang2019/tree-l10-wsj-all"
    where = ("--scale", "smoke", "--experiments", tmp_path, "--runs", experiment.parent / "runs")
    result, readme = output("reproduce", row, *where).split()
    assert json.loads(Path(result).read_text())["scale"] == "smoke"
    assert Path(readme) == folder / "README.md"
    assert "no such recipe" in complaint("reproduce", "wang2019/tree-l99", *where)
    assert "no such recipe" in complaint("reproduce", "wang1919", *where)


def test_reproduce_lists_the_rows(experiment: Path, tmp_path: Path) -> None:
    folder = copied(experiment, tmp_path / "wang2019")
    for recipe in {*folder.glob("*.toml")} - {*folder.glob("tree-l10-wsj-*.toml")}:
        recipe.unlink()
    where = ("--scale", "smoke", "--experiments", tmp_path)
    path = folder / "results" / "tree-l10-wsj-all.smoke.json"
    result = json.loads(path.read_text())

    def row(name: str) -> list[str]:
        (line,) = [line for line in output("reproduce", *where).splitlines() if f"/{name} " in line]
        return line.split()

    done = ["wang2019/tree-l10-wsj-all", "done", result["date"], result["commit"]]
    assert row("tree-l10-wsj-all") == [cell for cell in done if cell]
    assert row("tree-l10-wsj-train") == ["wang2019/tree-l10-wsj-train", "missing"]
    result["recipe"]["train"]["clip"] = 9.0
    path.write_text(json.dumps(result))
    assert row("tree-l10-wsj-all")[1:4] == ["out", "of", "date"]
    assert row("tree-l10-wsj-all")[-1] == "train.clip"
    assert "no experiments there" in complaint("reproduce", "--experiments", tmp_path / "none")


def test_reproduce_goes_on_after_a_row_that_fails(experiment: Path, tmp_path: Path) -> None:
    folder = tmp_path / "wang2019"
    for name in ("README.md", "tree-l10-wsj-all.toml", "results/tree-l10-wsj-all.smoke.json"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(experiment / name, folder / name)
    (folder / "broken.toml").write_text("[train]\nepoch = 1\n")
    command = ("reproduce", "wang2019", "--scale", "smoke", "--experiments", tmp_path)
    assert complaint(*command) == f"{folder}: 1 of 2 rows failed: broken"
    result = run(*command)
    assert result.stdout.split() == [
        str(folder / "results" / "tree-l10-wsj-all.smoke.json"),
        str(folder / "README.md"),
    ]
    assert "broken.toml failed: ValueError: " in result.stderr
    assert "tree-l10-wsj-all.toml is up to date: results/tree-l10-wsj-all.smoke.json" in result.stderr


def test_env() -> None:
    lines = dict(line.split(": ", 1) for line in output("env").splitlines())
    assert {"python", "torch", "transformers", "device"} <= set(lines)
