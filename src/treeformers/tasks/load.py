"""Model folders of every task. This module imports all predictors; no predictor imports it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from treeformers.recipes import ClassifyRecipe, InduceRecipe, ParseRecipe, SimilarityRecipe, TranslateRecipe
from treeformers.training.model_folder import read_recipe

if TYPE_CHECKING:
    from treeformers.tasks.classify.predictor import Classifier, Similarity
    from treeformers.tasks.induce.averaged import AveragedInducer
    from treeformers.tasks.induce.predictor import Inducer
    from treeformers.tasks.parse.predictor import Parser
    from treeformers.tasks.translate.predictor import Translator

__all__ = [
    "Predictor",
    "Sentence",
    "check_positive",
    "listed",
    "load_predictor",
    "words_in",
    "words_of",
]

T = TypeVar("T")

Sentence = str | Sequence[str]
Predictor: TypeAlias = "Parser | Inducer | AveragedInducer | Classifier | Similarity | Translator"


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


def load_predictor(folder: str | Path) -> Predictor:
    """Load the model in a folder that `treeformers train` wrote, whatever its task.

    Several seeds of a parser become an ensemble, and several seeds of an inducer are averaged.

    Raises:
        FileNotFoundError: the folder does not exist or holds no model.
        ValueError: the folder is damaged, it holds several seeds of another kind of model, or no predictor
            exists for its task.
    """
    recipe = read_recipe(Path(folder), several=(ParseRecipe, InduceRecipe))
    match recipe:
        case ParseRecipe() | InduceRecipe():
            from treeformers.tasks.tree_predictors import load_parser_or_inducer

            return load_parser_or_inducer(folder)
        case ClassifyRecipe():
            from treeformers.tasks.classify.predictor import Classifier

            return Classifier.from_pretrained(folder)
        case SimilarityRecipe():
            from treeformers.tasks.classify.predictor import Similarity

            return Similarity.from_pretrained(folder)
        case TranslateRecipe():
            from treeformers.tasks.translate.predictor import Translator

            return Translator.from_pretrained(folder)
    raise ValueError(f"{folder}: no predictor exists for the task {recipe.task!r}")
