"""Tables of examples, read from made-up files."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treeformers.data.corpora import clean_tree
from treeformers.data.examples import LabeledText, TextPair
from treeformers.data.tables import read_rows, read_table
from treeformers.trees.tree import Tree

GOOD = "(3 (2 good) (2 fun))"
RAW = "( (S (NP-SBJ (DT the) (NN cat)) (VP (VBZ sleeps) (-NONE- *))) )"


@pytest.fixture
def table(tmp_path):
    """Writes a table and reads it."""

    def read(text, **arguments):
        path = tmp_path / "a.tsv"
        path.write_bytes(text.encode())
        return read_table(path, **arguments)

    return read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("label\ttext\n1\tgood fun\n0\tbad\n", [LabeledText("good fun", "1"), LabeledText("bad", "0")]),
        ("text\tlabel\ngood\tyes\n", [LabeledText("good", "yes")]),
        (
            "label\tgroup\ttext\nyes\t2\ta b\nno\t\tc\n",
            [LabeledText("a b", "yes", "2"), LabeledText("c", "no")],
        ),
        ('\ufefflabel\ttext\r\n\r\n1\t say "hi \r\n', [LabeledText('say "hi', "1")]),
        ("first\tsecond\tlabel\na\tb\tsame\n", [TextPair("a", "b", "same")]),
        ("score\tfirst\tsecond\n4.5\ta\tb\n", [TextPair("a", "b", score=4.5)]),
        ("second\tfirst\tlabel\tscore\nb\ta\tsame\t1\n", [TextPair("a", "b", "same", 1.0)]),
        ("en\tde\nyes\tja\n", [{"en": "yes", "de": "ja"}]),
        ("pt-BR\tzh_Hans\tnds\na\tb\tc\n", [{"pt-BR": "a", "zh_Hans": "b", "nds": "c"}]),
    ],
)
def test_kinds(table, text, expected):
    assert table(text) == expected


def test_gzipped(tmp_path):
    path = tmp_path / "a.tsv.gz"
    path.write_bytes(gzip.compress(b"label\ttext\n1\tgood\n"))
    assert read_table(path) == [LabeledText("good", "1")]


def test_trees(table):
    good, bad = Tree.from_brackets(GOOD), Tree.from_brackets("(1 bad)")
    assert table(f"label\ttext\n3\t{GOOD}\n1\t(1 bad)\n") == [LabeledText(good, "3"), LabeledText(bad, "1")]
    assert table(f"first\tsecond\tscore\n{GOOD}\t(1 bad)\t2\n") == [TextPair(good, bad, score=2.0)]
    assert table(f"en\tde\n{GOOD}\tgut\n") == [{"en": good, "de": "gut"}]


def test_trees_are_cleaned_if_asked_for(table):
    text = f"label\ttext\n1\t{RAW}\n"
    assert table(text)[0].text == Tree.from_brackets(RAW)
    assert table(text, clean=clean_tree)[0].text == clean_tree(Tree.from_brackets(RAW))
    with pytest.raises(ValueError, match=r"a\.tsv:3: the tree holds only traces"):
        table(text + "1\t(S (-NONE- *))\n", clean=clean_tree)


def test_text_in_brackets_is_text(table):
    lines = ["(aside) he said", "plain", "(very good)", "( Agency ) two men said", "(unclosed (brackets"]
    rows = table("label\ttext\n" + "".join(f"1\t{line}\n" for line in lines))
    assert [row.text for row in rows] == lines


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("(3 (2 good)", "is not closed"),
        ("good", "text outside brackets"),
        ("(3 good) (3 fun)", "expected one tree in brackets, got 2"),
    ],
)
def test_a_column_of_trees_has_nothing_else(table, cell, message):
    with pytest.raises(ValueError, match=rf"a\.tsv:4: .*{message}"):
        table(f"label\ttext\n3\t{GOOD}\n3\t{GOOD}\n3\t{cell}\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"1: expected the columns label and text .* got ''"),
        ("good\tfun\n", "1: expected the columns label and text"),
        ("label\ttext\ttext\n1\ta\tb\n", "1: expected the columns"),
        ("first\tsecond\na\tb\n", "1: expected the columns"),
        ("en\nyes\n", "1: expected the columns"),
        ("label\ttext\n", "a.tsv: no rows below"),
        ("label\ttext\n1\ta\n0\n", r"3: expected 2 columns separated by tabs \(label, text\), got 1"),
        ("label\ttext\n1\ta\n\n\tb\n", "4: the column label is empty"),
        ("label\ttext\n1\t  \n", "2: the column text is empty"),
        ("first\tsecond\tscore\na\tb\t5.1\n", "2: expected a score from 1 to 5, got '5.1'"),
        ("first\tsecond\tscore\na\tb\tnan\n", "2: expected a score from 1 to 5, got 'nan'"),
        ("first\tsecond\tscore\na\tb\thigh\n", "2: expected a score from 1 to 5, got 'high'"),
    ],
)
def test_malformed(table, text, message):
    with pytest.raises(ValueError, match=message) as error:
        table(text)
    assert "a.tsv" in str(error.value)
    assert "\n" not in str(error.value)


def test_not_utf8(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_bytes(b"label\ttext\n1\tcaf\xe9\n")
    with pytest.raises(ValueError, match=r"a\.tsv:2: not UTF-8 text"):
        read_table(path)


def test_rows_of_known_columns(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a\tb\n1\t2\n")
    assert list(read_rows(path, ("a", "b"))) == [(f"{path}:2", ["1", "2"])]
    with pytest.raises(ValueError, match=r"a\.txt:1: expected the column names b c, got a b"):
        list(read_rows(path, ("b", "c")))
    path.write_text("")
    with pytest.raises(ValueError, match=r"a\.txt:1: expected the column names a b, got nothing"):
        list(read_rows(path, ("a", "b")))


words = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=8)
sentences = st.lists(words.filter(lambda word: word == word.strip()), min_size=1, max_size=6).map(" ".join)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(sentences, sentences), min_size=1))
def test_every_row_is_an_example(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("tables") / "a.tsv"
    path.write_text("label\ttext\n" + "".join(f"a\t.{a} {b}\n" for a, b in rows), encoding="utf-8")
    assert read_table(path) == [LabeledText(f".{a} {b}", "a") for a, b in rows]
