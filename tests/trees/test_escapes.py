"""Escapes of the Penn Treebank."""

from hypothesis import given, settings
from hypothesis import strategies as st

from treeformers.trees.escapes import escape_word, unescape_word


def test_escapes():
    assert [unescape_word(word) for word in ("-LRB-", "-RCB-", r"1\/2", r"\*", "-lrb-", "dog")] == [
        "(",
        "}",
        "1/2",
        "*",
        "-lrb-",
        "dog",
    ]
    assert escape_word("f(x)[0]") == "f-LRB-x-RRB-[0]"


@settings(deadline=None, max_examples=60)
@given(st.text("()[]{}*/ab"))
def test_unescape_undoes_escape(word):
    assert unescape_word(escape_word(word)) == word
