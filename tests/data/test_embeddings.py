"""Word embeddings from text files: rows that are read, and files that are refused."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treeformers.data.embeddings import WordEmbeddings, read_embeddings

GLOVE = "the 0.5 -1.25 3\nowl 1 2 3.5\nThe 7.5 8 9e-1\n. . . 0.25 0 0\nowl 9 9 9\nroute 66 4 5 6\n"
WORDS = {"The", "the", "owl", "Owl", "OWL", ". . .", "route 66", "mouse"}


def write(folder: Path, content: str | bytes, name: str = "vectors.txt") -> Path:
    path = folder / name
    content = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


def as_dict(vectors: WordEmbeddings) -> dict[str, list[float]]:
    return dict(zip(vectors.words, vectors.vectors.tolist(), strict=True))


@pytest.mark.parametrize(
    "content",
    [
        GLOVE,
        "6 3\n" + GLOVE,
        "\ufeff" + GLOVE,
        GLOVE.replace("\n", " \r\n"),
        GLOVE.removesuffix("\n"),
    ],
    ids=["glove", "word2vec", "byte order mark", "other line ends", "no line end"],
)
def test_the_rows_of_the_given_words_are_read(tmp_path: Path, content: str) -> None:
    vectors = read_embeddings(write(tmp_path, content, "vectors.txt.gz"), WORDS)
    assert as_dict(vectors) == {
        ". . .": [0.25, 0.0, 0.0],
        "OWL": [1.0, 2.0, 3.5],
        "Owl": [1.0, 2.0, 3.5],
        "The": [7.5, 8.0, np.float32(0.9)],
        "owl": [1.0, 2.0, 3.5],
        "route 66": [4.0, 5.0, 6.0],
        "the": [0.5, -1.25, 3.0],
    }
    assert list(vectors.words) == sorted(vectors.words)
    assert vectors.vectors.dtype == np.float32 and vectors.dimension == 3
    assert vectors.missing(["mouse", "owl", "rat", "mouse"]) == ("mouse", "rat")


def test_no_word_is_in_the_file(tmp_path: Path) -> None:
    for words in ([], ["mouse"]):
        vectors = read_embeddings(write(tmp_path, GLOVE), words)
        assert vectors.words == () and vectors.vectors.shape == (0, 3) and vectors.dimension == 3


def test_words_that_are_numbers_and_odd_blanks(tmp_path: Path) -> None:
    content = "0.5 1 2\n66 3 4\n1\xa01/2 5 6\na\u2028b 7 8\n owl  9 10\n"
    vectors = read_embeddings(write(tmp_path, content), ["0.5", "66", "1\xa01/2", "a\u2028b", "owl"])
    assert as_dict(vectors) == {
        "0.5": [1, 2],
        "1\xa01/2": [5, 6],
        "66": [3, 4],
        "a\u2028b": [7, 8],
        "owl": [9, 10],
    }


tokens = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 4), st.booleans())
def test_written_embeddings_are_read_back(tmp_path_factory, data, dimension: int, header: bool) -> None:
    numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)
    row = st.tuples(tokens, st.lists(numbers, min_size=dimension, max_size=dimension))
    rows = data.draw(st.lists(row, min_size=1, max_size=8))
    wanted = data.draw(st.sets(st.sampled_from([word for word, _ in rows]) | tokens))
    lines = [" ".join([word, *map(repr, values)]) for word, values in rows]
    first: dict[str, list[float]] = {}
    for word, values in rows:
        first.setdefault(word, values)
    expected = {word: first.get(word, first.get(word.lower())) for word in wanted}
    path = tmp_path_factory.getbasetemp() / "vectors.txt"
    head = [f"{len(rows)} {dimension}"] if header else []
    path.write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8", newline="\n")
    vectors = read_embeddings(path, wanted)
    assert as_dict(vectors) == {word: values for word, values in expected.items() if values is not None}
    assert set(vectors.missing(wanted)) == {word for word, values in expected.items() if values is None}
    assert vectors.vectors.shape == (len(vectors.words), dimension)


@pytest.mark.parametrize(
    ("content", "where", "message"),
    [
        ("the 1 2\nowl 1\n", ":2", "expected 2 numbers after the word, found 1"),
        ("the 1 2\n\nowl 1 2\n", ":2", "expected 2 numbers after the word, found 0"),
        ("the 1 2\nowl 1.5 2.5 3.5\n", ":2", "expected 2 numbers after the word, found 3"),
        ("the 1 2\nowl 1 two\n", ":2", "found 'two', expected a finite number"),
        ("the 1 2\nowl nan 2\n", ":2", "found 'nan', expected a finite number"),
        ("the 1 2\nowl 1e39 2\n", ":2", "found '1e39', expected a finite number"),
        ("great owl 1 2\n", ":1", "found 'owl', expected a finite number"),
        ("the\nowl\n", ":1", "found 'the', expected a word and its numbers"),
        ("2 0\nthe\nowl\n", ":1", "found '2 0', expected a word and its numbers"),
        ("", "", "nothing in it, expected words and their vectors"),
        ("3 2\nthe 1 2\nowl 1 2\n", "", "found 2 rows, but its first line says 3"),
        (b"the 1 2\n\xffowl 1 2\n", ":2", "not UTF-8 text: byte 0xff"),
    ],
)
def test_damaged_files(tmp_path: Path, content: str | bytes, where: str, message: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        read_embeddings(path, ["the", "owl"])
    assert str(caught.value) == f"{path}{where}: {message}"


def test_a_damaged_archive_and_no_file(tmp_path: Path) -> None:
    path = write(tmp_path, GLOVE * 100, "vectors.txt.gz")
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ValueError, match="damaged gzip file"):
        read_embeddings(path, WORDS)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_embeddings(tmp_path / "nowhere.txt", WORDS)


def test_no_torch_is_needed() -> None:
    code = "import sys, treeformers.data.embeddings; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
