"""The content of a file of trees."""

from __future__ import annotations

import io

import pytest

from treeformers.data.inspection import inspect_treebank

TREE = "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))\n"
EXPORT = "".join(
    f"#BOS {number}\nDer\tART\t--\tNK\t500\nHund\tNN\t--\tNK\t500\n#500\tNP\t--\t--\t0\n#EOS {number}\n"
    for number in (1, 2)
)


@pytest.mark.parametrize(
    ("text", "format", "trees"),
    [(TREE * 3, "brackets", 3), (TREE.replace("\n", "\r") * 3, "brackets", 3), (EXPORT, "export", 2)],
)
def test_a_stream_is_read_from_its_first_tree(
    text: str, format: str, trees: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = inspect_treebank(io.StringIO(text))
    assert (found.format, found.trees, found.errors) == (format, trees, [])
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert inspect_treebank("-").trees == trees
