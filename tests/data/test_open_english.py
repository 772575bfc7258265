"""The embedded test set: clean gold trees, fifty of each corpus."""

from treeformers.data import corpora
from treeformers.data.open_english import load_open_english


def test_holds_clean_trees_of_each_corpus() -> None:
    trees = load_open_english()
    assert {name: len(part) for name, part in trees.items()} == {"masc": 50, "craft": 50}
    found = corpora.load("open-english")
    assert found == {"test": trees["masc"] + trees["craft"]}
    assert all(corpora.clean_tree(tree) == tree and 5 <= len(tree) <= 40 for tree in found["test"])
