"""Trees for text that has none: from our own parsers and inducers, a file, or a plain shape."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from treeformers.data.penn import tokenize
from treeformers.induction import trivial_tree
from treeformers.trees.formats import read_trees, write_trees
from treeformers.trees.tree import Tree, unescape_word

__all__ = ["SHAPES", "find_trees"]

logger = logging.getLogger(__name__)

Shape = Literal["right", "left", "balanced", "random"]
SHAPES: tuple[Shape, ...] = get_args(Shape)
_QUOTES = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "`": "'"})


Text: TypeAlias = str | Sequence[str]


def find_trees(texts: Sequence[Text], source: str | Path) -> list[Tree]:
    """A tree for every text, in their order.

    What a model gives is kept in the user's cache folder ($XDG_CACHE_HOME, or ~/.cache), by the checksums of
    model and texts: parsing tens of thousands of sentences takes minutes.

    Args:
        texts: raw sentences, which are cut into words as the Penn Treebank cuts them, or lists of words.
        source: the folder of a parser (which searches greedily) or of an inducer; a file of brackets with a
            tree for each text, in the same order and over the same letters; or "right", "left", "balanced"
            or "random" branching.

    Raises:
        FileNotFoundError: neither a shape, a file nor a folder.
        ValueError: a text without words, a file with another number of trees or other words, or a folder of
            another kind of model.
    """
    name = os.fspath(source)
    for shape in SHAPES:
        if name == shape:
            cut = (_words(text, number) for number, text in enumerate(texts, start=1))
            return [trivial_tree(words, shape, seed=number) for number, words in enumerate(cut)]
    path = Path(name)
    if path.is_file():
        return _read(path, texts)
    if path.is_dir():
        return _parse_cached(path, texts)
    raise FileNotFoundError(
        f"{name}: neither {', '.join(SHAPES)}, nor a file of brackets, nor the folder of a parser or inducer"
    )


def _words(text: Text, number: int) -> list[str]:
    words = [word.text for word in tokenize(text)] if isinstance(text, str) else list(text)
    if not words:
        raise ValueError(f"text {number} has no words")
    return words


def _read(path: Path, texts: Sequence[Text]) -> list[Tree]:
    trees = list(read_trees(path))
    if len(trees) != len(texts):
        raise ValueError(f"{path}: {len(trees)} trees, expected one for each of the {len(texts)} texts")
    for number, (tree, text) in enumerate(zip(trees, texts, strict=True), start=1):
        found, wanted = " ".join(tree.words), text if isinstance(text, str) else " ".join(text)
        # Dashes, dots and the last period are others once the text is cut as the treebank cuts it.
        if _letters(found) != _letters(wanted) and _letters(_cut(found)) != _letters(_cut(wanted)):
            raise ValueError(f"{path}: tree {number} is over {found[:80]!r}, expected {wanted[:80]!r}")
    return trees


def _letters(text: str) -> str:
    """A text without blanks and escapes, and with quotation marks of one kind."""
    return unescape_word("".join(text.split())).translate(_QUOTES).replace("''", '"')


def _cut(text: str) -> str:
    return " ".join(word.text for word in tokenize(text))


def _parse_cached(folder: Path, texts: Sequence[Text]) -> list[Tree]:
    """What the model in the folder gives, kept for the next time."""
    key = _checksum(folder, texts)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "treeformers" / "trees"
    stored = cache / f"{key}.jsonl"  # words with blanks or round brackets come back as they were
    if stored.is_file():
        return list(read_trees(stored))
    logger.info("%s parses %d sentences", folder, len(texts))
    trees = _parse(folder, texts)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        write_trees(trees, stored)
    except (OSError, ValueError) as error:  # a full disk, or text that is no UTF-8
        logger.warning("the trees of %d sentences are not kept for the next time: %s", len(texts), error)
    return trees


def _parse(folder: Path, texts: Sequence[Text]) -> list[Tree]:
    try:
        kind = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("model_type")
    except (OSError, ValueError, AttributeError):
        raise ValueError(f"{folder}: expected the folder of a parser or of an inducer") from None
    if kind == "treeparser":
        from treeformers.parsing import Parser

        return Parser.from_pretrained(folder).parse(texts, beam=1)
    from treeformers.inducer import Inducer

    return Inducer.from_pretrained(folder).parse([_words(text, n) for n, text in enumerate(texts, start=1)])


def _checksum(folder: Path, texts: Sequence[Text]) -> str:
    checksum = hashlib.sha256()
    for path in sorted(folder.glob("*")):
        if path.suffix == ".safetensors" or path.name in ("config.json", "recipe.json", "vocabulary.json"):
            checksum.update(path.read_bytes())
    given = [text if isinstance(text, str) else list(text) for text in texts]
    checksum.update(json.dumps(given).encode())
    return checksum.hexdigest()[:32]
