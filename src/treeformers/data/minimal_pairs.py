"""Minimal pairs: a sentence, and one like it that breaks one rule."""

from __future__ import annotations

import gzip
import json
import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

from treeformers.trees.files import read_lines, suffix_of

__all__ = ["PAIRS", "MinimalPair", "load_pairs"]

PAIRS: Mapping[str, tuple[str, str]] = {
    "blimp": (
        "blimp",
        "take data/*.jsonl (or blimp_data.zip with them) from https://github.com/alexwarstadt/blimp",
    ),
    "marvin-linzen": (
        "marvin_linzen",
        "write EMNLP2018/templates/*.pickle of https://github.com/BeckyMarvin/LM_syneval as NAME.jsonl.gz, "
        'lines such as {"case": ..., "sentences": [grammatical, ungrammatical]}',
    ),
}
"""By name the folder below the root, and how to come by what is in it."""

_MARVIN_LINZEN = {"npi": "negative polarity items", "reflexive": "reflexive anaphora"}


class MinimalPair(NamedTuple):
    """Two sentences of which a model should find the first one more probable.

    Attributes:
        good: the grammatical one.
        bad: the other one.
        paradigm: what was written by one template.
        phenomenon: what several paradigms test.
    """

    good: str
    bad: str
    paradigm: str
    phenomenon: str


def load_pairs(name: str, root: str | os.PathLike[str] | None = None) -> list[MinimalPair]:
    """Load a set of minimal pairs.

    "blimp" is that of Warstadt et al. (2020), 67 paradigms of 1,000 pairs; "marvin-linzen" that of Marvin &
    Linzen (2018), 22 paradigms, where a sentence with two ungrammatical twins gives two pairs.

    Args:
        name: a key of `PAIRS`.
        root: the folder of the corpora; $TREEFORMERS_DATA by default.

    Raises:
        FileNotFoundError: the files are not there; the message says how to come by them.
        ValueError: an unknown name, or a malformed line, with file:line.
    """
    if name not in PAIRS:
        raise ValueError(f"unknown minimal pairs {name!r}: expected one of {', '.join(PAIRS)}")
    folder_name, home = PAIRS[name]
    given = os.environ.get("TREEFORMERS_DATA") if root is None else os.fspath(root)
    if not given:
        raise FileNotFoundError(
            f"{name}: TREEFORMERS_DATA is not set and no root was given: expected the folder that holds "
            f"{folder_name}/; {home}"
        )
    folder = Path(given) / folder_name
    read = _blimp if name == "blimp" else _marvin_linzen
    pairs = [pair for where, file, line in _lines(folder) for pair in read(where, file, line)]
    if not pairs:
        raise FileNotFoundError(f"{folder}: no files *.jsonl with minimal pairs; {home}")
    return pairs


def _lines(folder: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Place, name of the file without endings, and content of every line, by name of the file."""
    for path in sorted(folder.glob("*.zip")):
        try:
            with zipfile.ZipFile(path) as files:
                for member in sorted(files.namelist()):
                    if member.endswith(".jsonl") and not member.startswith("__MACOSX"):
                        with files.open(member) as raw:
                            text = TextIOWrapper(raw, encoding="utf-8", errors="surrogateescape")
                            for where, line in read_lines(text):
                                place = f"{path}/{member}:{where.rpartition(':')[2]}"
                                yield place, Path(member).stem, _object(place, line)
        except (zipfile.BadZipFile, zlib.error) as error:
            raise ValueError(f"{path}: damaged zip file: {error}") from None
    plain = [path for pattern in ("", "data/") for path in folder.glob(f"{pattern}*.jsonl*")]
    for path in sorted(plain):
        if suffix_of(path) == ".jsonl":
            try:
                for where, line in read_lines(path):
                    yield where, path.name.partition(".")[0], _object(where, line)
            except gzip.BadGzipFile as error:
                raise ValueError(f"{path}: damaged gzip file: {error}") from None


def _object(where: str, line: str) -> dict[str, Any]:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where}: not JSON: {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{where}: expected an object in braces, got {line.strip()[:40]!r}")
    return content


def _blimp(where: str, file: str, content: dict[str, Any]) -> Iterator[MinimalPair]:
    names = ("sentence_good", "sentence_bad", "UID", "linguistics_term")
    good, bad, paradigm, phenomenon = _strings(where, names, [content.get(name) for name in names])
    yield MinimalPair(good, bad, paradigm, phenomenon.replace("_", " "))


def _marvin_linzen(where: str, file: str, content: dict[str, Any]) -> Iterator[MinimalPair]:
    given = content.get("sentences")
    if not isinstance(given, list) or len(given) < 2:
        raise ValueError(f'{where}: expected "sentences", a list of a grammatical one and others')
    good, *others = _strings(where, ["sentences"] * len(given), given)
    kinds = (kind for part, kind in _MARVIN_LINZEN.items() if part in file)
    phenomenon = next(kinds, "subject-verb agreement")
    for bad in others:
        yield MinimalPair(good, bad, file, phenomenon)


def _strings(where: str, names: Iterable[str], values: Iterable[Any]) -> list[str]:
    found = []
    for name, value in zip(names, values, strict=True):
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f'{where}: expected text as "{name}", got {value!r}'[:300])
        found.append(value)
    return found
