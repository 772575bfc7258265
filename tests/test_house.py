"""The rules of the house: which way imports run, what an import costs, names, sizes."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import treeformers

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "treeformers"
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")
RUN_PYTHON = {**os.environ, "PYTHONPATH": str(ROOT / "src")}

LEVELS = [
    {"trees", "drawing"},  # a tree draws itself when it is shown
    {"attention", "processor", "batching"},
    {"models"},
    {"data", "metrics", "recipes", "model_folder", "statistics", "processes"},
    {
        "training",
        "optimizer",
        "induction",
        "inducer",
        "averaged_inducer",
        "beam",
        "parsing",
        "engine",
        "frozen",
        "pipelines",
        "tree_sources",
        "encoding",
        "classification",
        "translation",
        "probing",
        "minimal_pairs",
    },
    {"results", "reproduction", "bulk"},
    {"demo"},
    {"web", "spacy_component"},
    {"cli"},
]
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
HEAVY = {
    "torch",
    "transformers",
    "tokenizers",
    "accelerate",
    "nltk",
    "matplotlib",
    "scipy",
    "sacrebleu",
    "conllu",
    "fastapi",
    "uvicorn",
    "spacy",
    "ray",
}
LIGHT = {"trees", "metrics", "recipes", "drawing", "cli", "reproduction", "results"}
LIGHT_MODULES = {"data.grammar", "data.corpora"}


def room(path: Path) -> str:
    """The first part of a module's name inside the package."""
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


def imports(tree: ast.AST) -> Iterator[str]:
    """Full names that are imported anywhere below a node."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imports_at_top(tree: ast.Module) -> Iterator[str]:
    """Full names that are imported when the module is: not by functions, not for type checkers alone."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from imports(node)
        pending.extend(ast.iter_child_nodes(node))


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def own_rooms(path: Path) -> set[str]:
    names = (name.split(".") for name in imports(parsed(path)))
    return {parts[1] for parts in names if parts[0] == "treeformers"} - {"__version__"}


def test_every_module_has_its_level() -> None:
    assert {room(path) for path in MODULES} <= set(LEVEL)


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_imports_run_one_way(path: Path) -> None:
    above = {other for other in own_rooms(path) if LEVEL[other] > LEVEL[room(path)]}
    assert not above, f"{dotted(path)} imports {sorted(above)}, which stand above it"
    if room(path) in {"data", "metrics"}:
        assert not own_rooms(path) & {"models", "inducer", "training"}
    if room(path) == "trees":
        assert not [name for name in imports_at_top(parsed(path)) if name.startswith("treeformers.drawing")]
    if room(path) == "attention":
        assert own_rooms(path) <= {"attention"}
        outside = {name.split(".")[0] for name in imports(parsed(path))} - sys.stdlib_module_names
        assert outside <= {"torch", "treeformers"}


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_light_modules_import_nothing_heavy_at_their_top(path: Path) -> None:
    if (room(path) not in LIGHT and dotted(path) not in LIGHT_MODULES) or path.stem == "batch":
        return
    names = set(imports_at_top(parsed(path)))
    assert not {name.split(".")[0] for name in names} & HEAVY
    heavy_rooms = {"models", "attention", "training", "inducer", "demo"}
    assert not {".".join(name.split(".")[1:2]) for name in names if "treeformers." in name} & heavy_rooms


def test_import_loads_nothing_heavy() -> None:
    code = f"import sys, treeformers, treeformers.cli; print(*({HEAVY!r} & sys.modules.keys()))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=RUN_PYTHON
    )
    assert done.stdout.split() == []


@pytest.mark.parametrize("arguments", [["-c", "import treeformers"], ["-m", "treeformers.cli", "--help"]])
def test_starts_in_half_a_second(arguments: list[str]) -> None:
    def seconds(command: list[str]) -> float:
        before = os.times()
        subprocess.run([sys.executable, *command], capture_output=True, check=True, env=RUN_PYTHON)
        after = os.times()  # time of the processor: other work on the machine does not count
        return after.children_user + after.children_system - before.children_user - before.children_system

    assert min(seconds(arguments) for _ in range(3)) < 0.5


def test_public_names() -> None:
    assert treeformers.__all__ == [
        "Classifier",
        "DependencyTree",
        "Inducer",
        "Parser",
        "Similarity",
        "Span",
        "Translator",
        "Tree",
        "TreeBertConfig",
        "TreeBertForMaskedLM",
        "TreeBertForSequenceClassification",
        "TreeBertForTokenClassification",
        "TreeBertModel",
        "treeify",
    ]
    for name in treeformers.__all__:
        assert getattr(treeformers, name).__name__ == name
    assert set(treeformers.__all__) <= set(dir(treeformers))
    with pytest.raises(AttributeError, match="no attribute 'Forest'"):
        treeformers.Forest  # noqa: B018


def test_version_is_that_of_the_package() -> None:
    assert f'version = "{treeformers.__version__}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def tracked() -> list[Path]:
    """Files of the repository; those of the folders that hold code where there is no git."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        names = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:
        folders = ("src", "tests", "docs", "experiments", "benchmarks")
        names = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    return [path for path in names if path.is_file()]


def test_files_stay_small() -> None:
    long = {dotted(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {name: lines for name, lines in long.items() if lines > 520} == {}
    assert [path for path in tracked() if path.stat().st_size > 2 << 20] == []
