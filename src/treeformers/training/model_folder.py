"""The folder of a trained model: what is in it, and reading what was saved and nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from treeformers.recipes import ParseRecipe, Recipe
from treeformers.trees.files import atomic_write, read_object

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = [
    "CHECKSUMS",
    "EXPECTED",
    "checksum",
    "load_tokenizer",
    "load_weights",
    "loading",
    "model_files",
    "model_homes",
    "read_recipe",
    "read_settings",
    "saved_files",
    "write_checksums",
]

R = TypeVar("R", bound=Recipe)

CHECKSUMS = "SHA256SUMS"
"""The file of the checksums, as `sha256sum --check` reads it."""
EXPECTED = "no such file; expected a folder of `treeformers train`"

_SUFFIXES = frozenset({".json", ".safetensors", ".txt"})
_SETTINGS = frozenset(
    {"config.json", "generation_config.json", "history.json", "recipe.json", "tokenizer_config.json"}
)
_HISTORY = frozenset({"fit.json", "history.json", "run.json"})


def model_homes(folder: str | Path) -> list[Path]:
    """The folder of a model itself, or those of its several seeds, in the order of names.

    Raises:
        FileNotFoundError: there is no model in the folder.
    """
    folder = Path(folder)
    if (folder / "config.json").is_file():
        return [folder]
    seeds = sorted(path.parent for path in folder.glob("seed-*/config.json"))
    if not seeds:
        raise FileNotFoundError(f"{folder / 'config.json'}: {EXPECTED}")
    return seeds


def read_recipe(folder: Path, several: tuple[type[Recipe], ...] = (ParseRecipe,)) -> Recipe:
    """The recipe of a model, whatever its task; of several seeds that of the first.

    Args:
        folder: of the model.
        several: the kinds of models of which several seeds work together.

    Raises:
        FileNotFoundError: there is no model in the folder, or no recipe.
        ValueError: a damaged recipe, or several seeds of a model of another kind.
    """
    first = model_homes(folder)[0]
    path = first / "recipe.json"
    if not path.is_file():
        raise FileNotFoundError(f"{path}: {EXPECTED}")
    recipe = Recipe.from_dict(read_object(path), str(path))
    if first != folder and not isinstance(recipe, several):
        raise ValueError(f"{folder}: holds several seeds, expected the folder of one, such as {first}")
    return recipe


def model_files(folder: str | Path) -> Iterator[tuple[str, Path]]:
    """Name and place of what a model is loaded from, in the order of names; of several seeds all.

    Raises:
        FileNotFoundError: there is no model in the folder.
    """
    for home in model_homes(folder):
        for path in sorted(home.iterdir()):
            if path.suffix in _SUFFIXES and path.name not in _HISTORY and path.is_file():
                yield path.relative_to(folder).as_posix(), path


def checksum(folder: str | Path) -> str:
    """SHA-256 of the names and contents of `model_files`, hexadecimal.

    Raises:
        FileNotFoundError: there is no model in the folder.
    """
    total = hashlib.sha256()
    for name, path in model_files(folder):
        total.update(f"{_digest(path)}  {name}\n".encode())
    return total.hexdigest()


def read_settings(folder: Path, task: type[R], *kinds: str) -> tuple[R, dict[str, Any]]:
    """The recipe of a model and the content of its `config.json`.

    Args:
        folder: of the model.
        task: the class of the recipe.
        kinds: the `model_type` is one of them.

    Raises:
        FileNotFoundError: no such folder, or one that lacks these files or the weights.
        ValueError: a damaged file, a recipe of another task, or a model of another kind.
    """
    for name in ("config.json", "model.safetensors", "recipe.json"):
        if not (folder / name).is_file():
            raise FileNotFoundError(f"{folder / name}: {EXPECTED}")
    config, stored = (read_object(folder / name) for name in ("config.json", "recipe.json"))
    recipe = task.from_dict(stored, str(folder / "recipe.json"))
    if (kind := config.get("model_type")) not in kinds:
        expected = ", ".join(map(repr, kinds))
        raise ValueError(f"{folder / 'config.json'}: a model of kind {kind!r}, expected {expected}")
    return recipe, config


def load_weights(model_class: Any, folder: Path, **options: Any) -> Any:
    """A model with the weights of a folder, which are read as safetensors alone.

    Args:
        model_class: of transformers' kind.
        folder: of the model.
        options: of its `from_pretrained`.

    Raises:
        FileNotFoundError: a file is gone.
        ValueError: weights that are damaged, are not those which were saved, do not fit, or lack some; or a
            vocabulary that is not the one which was saved.
    """
    with loading(folder), _without_reports():
        _verify(folder)
        model, report = model_class.from_pretrained(
            folder, use_safetensors=True, output_loading_info=True, ignore_mismatched_sizes=True, **options
        )
        if others := sorted(report["mismatched_keys"]):
            name, found, wanted = others[0]
            raise ValueError(
                f"model.safetensors has {name} in the shape {tuple(found)}, "
                f"by config.json it is {tuple(wanted)}"
            )
    if missing := sorted(report["missing_keys"]):
        raise ValueError(f"{folder / 'model.safetensors'}: lacks {', '.join(missing)[:300]}")
    return model


def load_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """The tokenizer of a folder.

    Raises:
        FileNotFoundError: there is none.
        ValueError: a damaged one.
    """
    from transformers import AutoTokenizer

    path = folder / "tokenizer.json"
    if not path.is_file():
        raise FileNotFoundError(f"{path}: {EXPECTED}")
    with loading(path):
        return AutoTokenizer.from_pretrained(folder, trust_remote_code=False)


@contextmanager
def loading(folder: Path) -> Iterator[None]:
    """Whatever fails inside is one line that names the folder.

    Raises:
        FileNotFoundError: a file is not there, as the error says.
        ValueError: something failed; safetensors, tokenizers and huggingface_hub raise kinds of their own.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, FileNotFoundError) and not error.errno:  # with words of its own
            raise
        raise ValueError(f"{folder}: cannot be loaded: {' '.join(str(error).split())[:300]}") from None


@contextmanager
def _without_reports() -> Iterator[None]:
    """Keep transformers from printing its bar, and a table about weights that do not fit."""
    from transformers.utils import logging

    before, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bar:
            logging.enable_progress_bar()


def write_checksums(folder: Path, names: Iterable[str]) -> None:
    """Write the SHA-256 of files of a folder.

    `load_weights` checks the weights and the vocabulary by it. Settings may be changed by hand; `sha256sum
    --check SHA256SUMS` checks all.

    Raises:
        OSError: a file that cannot be read, or a folder that cannot be written.
    """
    lines = [f"{_digest(folder / name)}  {name}\n" for name in sorted(names)]
    with atomic_write(folder / CHECKSUMS) as file:
        file.writelines(lines)


def saved_files(folder: Path) -> set[str]:
    """The names of what was saved with a model, by its checksums; none where these cannot be read."""
    try:
        return {name for _, name in _checksums(folder / CHECKSUMS)}
    except (OSError, ValueError):
        return set()


def _verify(folder: Path) -> None:
    path = folder / CHECKSUMS
    if not path.is_file():
        return
    found = False
    for digest, name in _checksums(path):
        if name not in _HISTORY and not (folder / name).is_file():
            raise FileNotFoundError(f"{folder / name}: {EXPECTED}")
        if name not in _SETTINGS and _digest(folder / name) != digest:
            raise ValueError(f"{name} is damaged or was changed: its SHA-256 is not that of {CHECKSUMS}")
        found |= name == "model.safetensors"
    if not found:
        raise ValueError(f"{path}: damaged: it has no checksum of model.safetensors")


def _checksums(path: Path) -> Iterator[tuple[str, str]]:
    """Checksum and name of every file."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        digest, _, name = line.partition("  ")
        if len(digest) != 64 or not name or "/" in name:
            raise ValueError(f"{path}:{number}: {line[:80]!r}, expected SHA-256, two spaces and file name")
        yield digest, name


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
