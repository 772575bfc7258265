"""Corpora by name or by path, with fixed splits and checksums.

Corpora live in one folder, `root`, by default the one that the environment variable TREEFORMERS_DATA names.
"""

from __future__ import annotations

import gc
import gzip
import hashlib
import logging
import os
import re
import shutil
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from treeformers.data.agreement import SetName, make_set
from treeformers.data.catalogue import CORPORA, Corpus, Kind
from treeformers.data.examples import Labelled
from treeformers.data.minimal_pairs import PAIRS, load_pairs
from treeformers.data.tables import read_table
from treeformers.data.task_corpora import READERS, load_task, read_parallel
from treeformers.trees.files import is_gzip, suffix_of
from treeformers.trees.formats import CONLL, JSON, holds_trees, read_dependencies, read_trees
from treeformers.trees.tree import Tree, strip_functions

__all__ = ["CORPORA", "Corpus", "clean_tree", "fetch", "load", "verify"]

logger = logging.getLogger(__name__)

StrPath: TypeAlias = str | os.PathLike[str]

_SPLITS = ("train", "validation", "test")
_SUFFIXES: Mapping[str, Kind] = {
    **dict.fromkeys((*CONLL, ".dp"), "dependencies"),
    **dict.fromkeys(JSON, "constituency"),
    ".mrg": "constituency",
    ".ptb": "constituency",
    ".tree": "constituency",
    ".trees": "constituency",
    ".brackets": "constituency",
}
_LANGUAGE = re.compile(r"\.[a-z]{2}(?:[-_][a-z]+)?")


def load(
    name: StrPath, root: StrPath | None = None, clean: bool = True, trees: Kind | None = None
) -> dict[str, list[Any]]:
    """Load a corpus, a file, or a folder.

    A file gives {"train": ...} alone. A folder is searched for one file a split, named with the word
    train, valid, validation, dev or test; or for one a language, such as train.en and train.de, whose lines
    are translations of each other. What a file holds is told by its name (.conllu, .conllx, .conll,
    .dp: dependencies; .json, .jsonl, .mrg, .ptb, .tree, .trees, .brackets: constituency trees; .tsv: a table
    as of `treeformers.data.tables`), or else, .txt too, by whether its first line opens a tree. All may be
    gzipped.

    Args:
        name: a key of `CORPORA` or of `treeformers.data.minimal_pairs.PAIRS`, or a path.
        root: the folder of the corpora; $TREEFORMERS_DATA by default. For "wsj" the treebank itself: any
            folder above its files wsj_0001.mrg to wsj_2499.mrg, in whatever layout and case.
        clean: `clean_tree` on constituency trees; False gives them as they stand.
        trees: "dependencies" for the dependency trees of wsj-sample, craft, gum, sst-5, sst-2 or sick.

    Returns:
        By split ("train", "validation", "test"; "wsj" also has "all") a list of `Tree`, of
        `DependencyTree`, of lines of text without blank ones, or of the examples of a task: `Labelled` for
        imdb, the corpora of agreement and the dependency trees of sst-5 and sst-2, `Pair` for sick and msrp,
        `MinimalPair` for blimp and marvin-linzen, dictionaries from language to sentence for multi30k,
        tatoeba-de-en and files of translations. agreement-id, -gen and -rec-gen take no files: they are made,
        once a process (`treeformers.data.agreement`, seed 1).

    Raises:
        FileNotFoundError: the corpus or path is not there.
        ValueError: an unknown name, a corpus without such trees, or a malformed or empty file.
    """
    if (key := os.fspath(name)) in PAIRS:
        if trees:
            raise ValueError(f"{key} has no {trees}: it has minimal pairs")
        return {"test": load_pairs(key, root)}
    with _gc_paused():
        corpus = CORPORA.get(key)
        return _load_path(Path(name), clean) if corpus is None else _load_corpus(corpus, root, clean, trees)


def clean_tree(tree: Tree) -> Tree | None:
    """Reduce a tree to words and plain labels: traces out, function tags and indices cut, outer root off.

    Labels of other schemes (NML, HYPH, TITLE) stay.

    Returns:
        The tree, or None when it holds only traces.
    """
    kept = tree.without_traces()
    return None if kept is None else kept.map_labels(strip_functions).unwrap_root()


def verify(name: str, root: StrPath | None = None) -> None:
    """Check that the files of a corpus are the very ones our figures were measured on.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: an unknown corpus, one without checksums, or a file that differs.
    """
    corpus = _corpus(name)
    if not corpus.checksums:
        raise ValueError(f"{name} has no checksums: {corpus.home}")
    folder = _folder(corpus, root)
    for file, expected in corpus.checksums.items():
        _check(_existing(corpus, folder, file), expected)


def fetch(name: str, destination: StrPath) -> Path:
    """Download a corpus from its public home.

    A file takes its place only once it is whole and its checksum is right; files that are already there and
    right are left alone.

    Args:
        name: a key of `CORPORA`.
        destination: the folder of the corpora (`root` of `load`).

    Returns:
        The folder of the corpus.

    Raises:
        ValueError: an unknown corpus, one without a public home (the message says how to come by it), or a
            file that is not what it should be.
        OSError: a download or writing failed.
    """
    corpus = _corpus(name)
    if not corpus.folder:
        raise ValueError(f"{name} has no files to download: {corpus.home}")
    if not corpus.urls:
        place = Path(destination) / corpus.folder
        raise ValueError(f"{name} cannot be downloaded as it is: {corpus.home} (place: {place})")
    folder = Path(destination) / corpus.folder
    for file, url in corpus.urls.items():
        path = folder / (f"{file}.gz" if url.endswith(".gz") else file)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            _check(path, corpus.checksums[file])
        except (FileNotFoundError, ValueError):
            _download(url, path, corpus.checksums[file])
    return folder


def _load_corpus(
    corpus: Corpus, root: StrPath | None, clean: bool, trees: Kind | None
) -> dict[str, list[Any]]:
    kind = trees or corpus.kind
    if corpus.name == "wsj" and kind == "constituency":
        return _load_wsj(Path(root) if root is not None else _folder(corpus, None), clean)
    if not corpus.folder and kind == corpus.kind:
        return _make(corpus.name)
    if kind not in corpus.files:
        raise ValueError(
            f"{corpus.name} has no {kind}: expected {' or '.join(corpus.files or [corpus.kind])}"
        )
    folder = _folder(corpus, root)
    parts = [[_existing(corpus, folder, file) for file in files] for files in corpus.files_of(kind)]
    if corpus.name == "wsj-sample":
        return _load_sample(parts[0][0], kind, clean)
    if corpus.name not in READERS:
        return {split: _read(path, kind, clean) for split, (path,) in zip(_SPLITS, parts, strict=True)}
    examples = dict(zip(_SPLITS, load_task(corpus.name, parts), strict=True))
    for split, part in examples.items():
        if not part:
            raise ValueError(f"{folder}: nothing in the {split} part of {corpus.name}")
    return examples


def _corpus(name: str) -> Corpus:
    if name not in CORPORA:
        raise ValueError(f"unknown corpus {name!r}: expected one of {', '.join(CORPORA)}")
    return CORPORA[name]


def _folder(corpus: Corpus, root: StrPath | None) -> Path:
    given = os.environ.get("TREEFORMERS_DATA") if root is None else os.fspath(root)
    if not given:
        raise FileNotFoundError(
            f"{corpus.name}: TREEFORMERS_DATA is not set and no root was given: expected the folder that "
            f"holds {corpus.folder}/; {_remedy(corpus)}"
        )
    folder = Path(given) / corpus.folder
    if not folder.is_dir():
        raise FileNotFoundError(
            f"{corpus.name}: no folder {folder}: expected it in TREEFORMERS_DATA or the root given; "
            f"{_remedy(corpus)}"
        )
    return folder


def _remedy(corpus: Corpus) -> str:
    return f"`treeformers data get {corpus.name}` " + (
        "fetches it" if corpus.urls else "says how to come by it"
    )


def _existing(corpus: Corpus, folder: Path, file: str) -> Path:
    for path in (folder / file, folder / f"{file}.gz"):
        if path.is_file():
            return path
    raise FileNotFoundError(f"{corpus.name}: no file {folder / file} or {file}.gz; {_remedy(corpus)}")


def _load_path(path: Path, clean: bool) -> dict[str, list[Any]]:
    if path.is_file():
        return {"train": _read_any(path, clean)}
    if not path.is_dir():
        raise FileNotFoundError(f"{path}: neither a file, a folder nor a corpus ({', '.join(CORPORA)})")
    found: dict[str, list[Path]] = {}
    for file in sorted(path.iterdir()):
        words = set(re.split(r"[^a-z]+", file.name.lower()))
        for split, names in zip(_SPLITS, ({"train"}, {"valid", "validation", "dev"}, {"test"}), strict=True):
            if file.is_file() and words & names:
                found.setdefault(split, []).append(file)
    if not found:
        raise ValueError(f"{path}: no file named with train, valid, validation, dev or test")
    return {split: _read_part(found[split], clean) for split in _SPLITS if split in found}


def _read_part(files: list[Path], clean: bool) -> list[Any]:
    if len(files) == 1:
        return _read_any(files[0], clean)
    if not all(_LANGUAGE.fullmatch(suffix_of(file)) for file in files):
        raise ValueError(f"{files[0].parent}: two files for a part: {files[0].name} and {files[1].name}")
    return list(read_parallel(*files))


def _make(name: str) -> dict[str, list[Any]]:
    """The sets of sentences to be judged; the group of one is its depth."""
    published = name.endswith("-published")
    key = cast(SetName, name.removeprefix("agreement-").removesuffix("-published"))
    return {
        split: [Labelled(" ".join(one.words), one.label, str(one.depth)) for one in part]
        for split, part in make_set(key, clean=not published).items()
    }


def _load_wsj(folder: Path, clean: bool) -> dict[str, list[Any]]:
    """Sections by the file names: wsj_2300.mrg is of section 23."""
    files: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        match = re.fullmatch(r"wsj_(\d{4})\.mrg", path.name, re.IGNORECASE)
        if match:
            if match[1] in files:
                raise ValueError(f"{folder}: the treebank is there twice: {files[match[1]]} and {path}")
            files[match[1]] = path
    sections: dict[int, list[Any]] = {number: [] for number in range(25)}
    for number, path in sorted(files.items()):
        if int(number[:2]) in sections:
            sections[int(number[:2])] += _trees(read_trees(path), str(path), clean)
    spans = {"train": range(2, 22), "validation": range(22, 23), "test": range(23, 24), "all": range(25)}
    corpus = {split: [tree for number in span for tree in sections[number]] for split, span in spans.items()}
    for split, span in spans.items():
        if not corpus[split]:
            raise FileNotFoundError(
                f"{folder}: no trees of sections {span[0]:02}-{span[-1]:02}; expected files such as "
                f"{span[0]:02}/wsj_{span[0]:02}01.mrg below it"
            )
    return corpus


def _load_sample(archive: Path, kind: Kind, clean: bool) -> dict[str, list[Any]]:
    """The sample as NLTK ships it; files 0001-0159 train, 0160-0179 validate, 0180-0199 test."""
    corpus: dict[str, list[Any]] = {split: [] for split in _SPLITS}
    try:
        with zipfile.ZipFile(archive) as files:
            for name in sorted(files.namelist()):
                match = re.search(r"(?:/combined/wsj_(\d+)\.mrg|/wsj_(\d+)\.dp)$", name)
                if not match:
                    continue
                number = int(match[1] or match[2])
                split = "train" if number < 160 else "validation" if number < 180 else "test"
                with files.open(name) as raw, TextIOWrapper(raw, encoding="latin-1") as text:
                    where = f"{archive}/{name}"
                    trees = read_trees(text) if kind == "constituency" else read_dependencies(text)
                    corpus[split] += _trees(trees, where, clean and kind == "constituency")
    except (zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{archive}: damaged zip file: {error}") from None
    if not all(corpus.values()):
        raise ValueError(f"{archive}: expected files wsj_0001 to wsj_0199 in it")
    return corpus


def _read_any(path: Path, clean: bool) -> list[Any]:
    if suffix_of(path) == ".tsv":
        return read_table(path, clean_tree if clean else None)
    return _read(path, _kind(path), clean)


def _read(path: Path, kind: Kind, clean: bool) -> list[Any]:
    examples: list[Any]
    if kind == "text":
        examples = [line for line in map(str.strip, _lines(path)) if line]
    elif kind == "dependencies":
        examples = list(read_dependencies(path))
    else:
        examples = _trees(read_trees(path), str(path), clean)
    if not examples:
        raise ValueError(f"{path}: nothing in it, expected {kind}")
    return examples


def _trees(trees: Iterable[Any], where: str, clean: bool) -> list[Any]:
    if not clean:
        return list(trees)
    kept, dropped = [], 0
    for tree in map(clean_tree, trees):
        if tree is None:
            dropped += 1
        else:
            kept.append(tree)
    if dropped:
        logger.warning("%s: %d trees that hold only traces are left out", where, dropped)
    return kept


def _kind(path: Path) -> Kind:
    kind = _SUFFIXES.get(suffix_of(path))
    if kind is not None:
        return kind
    return "constituency" if holds_trees(islice(_lines(path), 1000)) else "text"


def _lines(path: Path) -> Iterator[str]:
    with _binary(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise ValueError(f"{path}:{number}: not UTF-8 text: byte 0x{line[error.start]:02x}") from None


@contextmanager
def _binary(path: Path) -> Iterator[IO[bytes]]:
    try:
        with gzip.open(path) if is_gzip(path) else open(path, "rb") as file:
            yield cast(IO[bytes], file)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path}: damaged gzip file: {error}") from None


@contextmanager
def _gc_paused() -> Iterator[None]:
    """Trees are many objects and no cycles: collecting as they come takes as long again as reading them."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


def _check(path: Path, expected: str, name: StrPath | None = None) -> None:
    digest = hashlib.sha256()
    with _binary(path) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    if digest.hexdigest() != expected:
        raise ValueError(
            f"{name or path}: not the file expected: SHA-256 {digest.hexdigest()}, expected {expected}"
        )


def _download(url: str, path: Path, expected: str) -> None:
    from http.client import HTTPException
    from urllib.request import urlopen

    partial = path.with_name(f".partial.{path.name}")  # .gz stays at the end
    try:
        with urlopen(url, timeout=60) as source, open(partial, "wb") as target:
            shutil.copyfileobj(source, target)
        _check(partial, expected, url)
        os.replace(partial, path)
    except (OSError, HTTPException) as error:
        raise OSError(f"{url} could not be downloaded to {path}: {error}") from None
    finally:
        partial.unlink(missing_ok=True)
    logger.info("%s: %d bytes from %s", path, path.stat().st_size, url)
