"""Pictures of discontinuous trees: nothing overlaps, and every branch can be followed."""

from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree

from hypothesis import given, settings

from discontinuous_strategies import all_discontinuous_trees, discontinuous_trees
from tree_strategies import any_text
from treeformers.drawing import discontinuous_svg
from treeformers.trees.discontinuous import DiscontinuousTree
from treeformers.trees.svg import text_width

SVG = "{http://www.w3.org/2000/svg}"
DOG = DiscontinuousTree(["Der", "bellt", "Hund"], ["ART", "VVFIN", "NN"], ["S", "NP"], [1, 0, 1, -1, 0])


def lines(path: str) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """The straight lines of a path, each from left to right and from top to bottom; corners are left out."""
    found, x, y = [], 0.0, 0.0
    for command, text in re.findall("([MVHQ])([^MVHQ]*)", path):
        numbers = [float(number) for number in text.split()]
        to_x = x if command == "V" else numbers[-2] if command in "MQ" else numbers[0]
        to_y = y if command == "H" else numbers[-1]
        if command in "VH":
            found.append(((min(x, to_x), min(y, to_y)), (max(x, to_x), max(y, to_y))))
        x, y = to_x, to_y
    return found


def check(tree: DiscontinuousTree) -> None:
    root = ElementTree.fromstring(discontinuous_svg(tree))
    texts = list(root.iter(f"{SVG}text"))
    words = [float(text.attrib["x"]) for text in texts if text.attrib["class"].startswith("word")]
    assert len(words) == len(tree) and words in (sorted(words), sorted(words, reverse=True))
    labels = [text for text in texts if text.attrib["class"].startswith("label")]
    assert len(labels) == len(tree.labels)
    straight = [line for path in root.iter(f"{SVG}path") for line in lines(path.attrib["d"])]
    for label in labels:
        x, y, half = (
            float(label.attrib["x"]),
            float(label.attrib["y"]) - 6,
            text_width(label.text or "", 12) / 2,
        )
        assert half <= x <= float(root.attrib["width"]) - half
        for (left, top), (right, bottom) in straight:
            assert not (top < y < bottom and left == right and abs(left - x) < half)
    bars = [(left, right, top) for (left, top), (right, bottom) in straight if top == bottom]
    for (left, right, y), (other_left, other_right, other_y) in combinations(bars, 2):
        assert y != other_y or right < other_left or other_right < left
    uprights = [(left, top, bottom) for (left, top), (right, bottom) in straight if left == right]
    for (x, top, bottom), (other_x, other_top, other_bottom) in combinations(uprights, 2):
        assert x != other_x or bottom <= other_top or other_bottom <= top


def test_nothing_overlaps_in_all_small_trees() -> None:
    for n_words in range(1, 6):
        for tree in all_discontinuous_trees(n_words):
            check(tree)


@settings(deadline=None, max_examples=60)
@given(discontinuous_trees(full=False))
def test_nothing_overlaps(tree: DiscontinuousTree) -> None:
    check(tree)
    wide = [label * 9 for label in tree.labels]
    check(DiscontinuousTree(tree.words, tree.tags, wide, tree.parents))


@settings(deadline=None, max_examples=20)
@given(discontinuous_trees(any_text, full=False))
def test_any_text_gives_xml(tree: DiscontinuousTree) -> None:
    assert ElementTree.fromstring(discontinuous_svg(tree)) is not None


def test_what_the_picture_says() -> None:
    root = ElementTree.fromstring(DOG._repr_svg_())
    assert root.findtext(f"{SVG}title") == "Der bellt Hund"
    assert root.findtext(f"{SVG}desc") == "Constituency tree: 3 words, 2 constituents, 1 with gaps"
    classes = {text.text: text.attrib["class"] for text in root.iter(f"{SVG}text")}
    assert (classes["S"], classes["NP"]) == ("label middle", "label middle gap")
    assert ElementTree.fromstring(discontinuous_svg(DOG, "A dog")).findtext(f"{SVG}title") == "A dog"
    alone = DiscontinuousTree(["Ja"], ["ITJ"], [], [-1])
    assert discontinuous_svg(alone).count("<path") == 0


def test_right_to_left() -> None:
    hebrew = DiscontinuousTree(["ה", "אכל", "ילד"], DOG.tags, DOG.labels, DOG.parents)
    check(hebrew)
    root = ElementTree.fromstring(discontinuous_svg(hebrew))
    x = {text.text: float(text.attrib["x"]) for text in root.iter(f"{SVG}text")}
    assert x["ה"] == x["ART"] > x["אכל"] == x["VVFIN"] > x["ילד"] == x["NN"]
