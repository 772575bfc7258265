"""A trained model as what turns sentences into trees, whether it parses or induces them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from treeformers.recipes import InduceRecipe, ParseRecipe
from treeformers.training.model_folder import seed_folders, read_recipe
from treeformers.trees.tree import Tree

if TYPE_CHECKING:
    from treeformers.tasks.induce.averaged import AveragedInducer
    from treeformers.tasks.induce.predictor import Inducer
    from treeformers.tasks.parse.predictor import Parser

__all__ = [
    "Engine",
    "Sentence",
    "check_positive",
    "listed",
    "load_engine",
    "load_model",
    "read_tree_recipe",
    "words_in",
    "words_of",
]

T = TypeVar("T")

Sentence = str | Sequence[str]


@dataclass(frozen=True, slots=True)
class Engine:
    """A model as its users see it.

    Attributes:
        parse: sentences, and how many of them to compute at once, to their trees.
        read: a line of text to a sentence; blank lines give an empty one.
        induces: whether the trees come without labels.
    """

    parse: Callable[[Sequence[Sentence], int], list[Tree]]
    read: Callable[[str], Sentence]
    induces: bool


def words_of(
    sentences: Iterable[Sentence], split: Callable[[str], Sequence[str]] = str.split
) -> list[list[str]]:
    """The words of sentences, strings split at white space or by `split`.

    Raises:
        ValueError: one string or no list at all, a sentence that is neither a string nor a list of strings,
            one without words, or a word of blanks.
    """
    rows = enumerate(listed(sentences, "sentences"), start=1)
    return [words_in(sentence, f"sentence {number}", split) for number, sentence in rows]


def words_in(
    sentence: Sentence,
    what: str,
    split: Callable[[str], Sequence[str]] = str.split,
    expected: str = "a string or a list of words",
) -> list[str]:
    """The words of one sentence.

    Args:
        sentence: a string or a list of words.
        what: its name in an error.
        split: takes strings apart.
        expected: what else there could be, for an error.

    Raises:
        ValueError: as `words_of`.
    """
    if isinstance(sentence, bytes) or not isinstance(sentence, Iterable):
        raise ValueError(f"{what} is {sentence!r}, expected {expected}")
    words = list(split(sentence) if isinstance(sentence, str) else sentence)
    if not words:
        raise ValueError(f"{what} has no words")
    for word in words:
        if not isinstance(word, str):
            raise ValueError(f"{what} has the word {word!r}: expected a string")
        if not word or word.isspace():
            raise ValueError(f"{what} has the word {word!r}: expected more than blanks")
    return words


def listed(rows: Iterable[T], kind: str) -> list[T]:
    """A list of what is to be worked on.

    Raises:
        ValueError: one string, or nothing that could be gone through; names what was expected.
    """
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        given = "one string" if isinstance(rows, str) else repr(rows)
        raise ValueError(f"expected a list of {kind}, got {given}")
    return list(rows)


def check_positive(**numbers: int) -> None:
    """Refuse numbers below 1, such as `batch_size=0`.

    Raises:
        ValueError: one of them is; names it.
    """
    for name, number in numbers.items():
        if number < 1:
            raise ValueError(f"{name} is {number}, expected at least 1")


def read_tree_recipe(folder: str | Path) -> ParseRecipe | InduceRecipe:
    """The recipe of a model that makes trees.

    Raises:
        FileNotFoundError: no such folder, or one without a model.
        ValueError: a damaged recipe, or a model that neither parses nor induces trees.
    """
    recipe = read_recipe(Path(folder), several=(ParseRecipe, InduceRecipe))
    if not isinstance(recipe, ParseRecipe | InduceRecipe):
        raise ValueError(f"{folder}: a model of the task {recipe.task!r}, expected 'parse' or 'induce'")
    return recipe


def load_model(folder: str | Path) -> Parser | Inducer | AveragedInducer:
    """The parser or inducer in a folder that `treeformers train` wrote, with all its seeds.

    Raises:
        FileNotFoundError: no such folder, or one without a model.
        ValueError: a damaged folder, or a model that neither parses nor induces trees.
    """
    if isinstance(read_tree_recipe(folder), ParseRecipe):
        from treeformers.tasks.parse.predictor import Parser

        return Parser.from_pretrained(folder)
    if seed_folders(Path(folder)) != [Path(folder)]:
        from treeformers.tasks.induce.averaged import AveragedInducer

        return AveragedInducer.from_pretrained(folder)
    from treeformers.tasks.induce.predictor import Inducer

    return Inducer.from_pretrained(folder)


def load_engine(
    model: str | Path, layer: int | None = None, beam: int | None = None, tokenized: bool = False
) -> Engine:
    """Load a model folder as an engine.

    Args:
        model: the folder.
        layer: of an inducer: read trees from this layer alone.
        beam: of a parser: hypotheses kept.
        tokenized: of a parser: the words of a line are apart by white space already.

    Raises:
        FileNotFoundError: no such folder, or one without a model.
        ValueError: a damaged folder, an option for the other kind of model, a layer that is not there, or a
            model without trees.
    """
    engine = _engine(model, layer, beam, tokenized)
    engine.parse([["a"]], 1)
    return engine


def _engine(model: str | Path, layer: int | None, beam: int | None, tokenized: bool) -> Engine:
    from treeformers.tasks.parse.predictor import Parser

    loaded = load_model(model)
    if isinstance(loaded, Parser):
        if layer is not None:
            raise ValueError(f"--layer is for models that induce trees, {model} is a parser")
        return Engine(
            lambda sentences, size: loaded.parse(sentences, size, beam),
            str.split if tokenized else str.strip,
            induces=False,
        )
    if beam is not None or tokenized:
        raise ValueError(f"--beam and --tokenized are for parsers, {model} induces trees")
    return Engine(lambda sentences, size: loaded.parse(sentences, size, layer), str.split, induces=True)
