"""Tables in Markdown."""

from treeformers.drawing.markdown import markdown_table


def test_none_is_an_empty_cell() -> None:
    table = markdown_table(("", "a", "b"), [("row", None, 1.25), ("other", "x", None)])
    assert table.splitlines() == ["|  | a | b |", "|---|---:|---:|", "| row |  | 1.2 |", "| other | x |  |"]
    assert markdown_table(("", "a"), []) == ""
    plain = markdown_table(("", "a"), [("row", "x")], numbers=False)
    assert plain.splitlines() == ["|  | a |", "|---|---|", "| row | x |"]
