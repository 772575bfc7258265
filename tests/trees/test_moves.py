"""The moves of the editor, over all small trees: each is right and can be undone; together they reach all."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tree_moves import after, moves, selections
from tree_strategies import all_trees, right_branching
from treeformers.trees.moves import MOVES, Move, Selection, apply_move, possible
from treeformers.trees.tree import Span, Tree

SMALL = [tree for n_words in (1, 2, 3) for tree in all_trees(n_words)]
TREE = Tree.from_brackets("(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (NNP Ann)) (ADVP (RB now))) (. .))")
CHANGE_WORDS = {"split_word", "join_words"}


def span(tree: Tree, path: tuple[int, ...]) -> Span:
    node, start = tree, 0
    for index in path:
        start += sum(len(child) for child in node.children[:index])
        node = node.children[index]
    return Span(start, start + len(node), node.label)


def changed_spans(tree: Tree, move: Move) -> tuple[list[Span], list[Span]]:
    """The brackets that a move removes and adds, from its definition alone. Labels are distinct."""
    path, label = move.path, move.label or ""
    own = span(tree, path)
    if move.move == "wrap":
        if move.start is None:
            return [], [own._replace(label=label)]
        first, last = span(tree, (*path, move.start)), span(tree, (*path, (move.end or 0) - 1))
        return [], [Span(first.start, last.end, label)]
    if move.move == "unwrap":
        return [own], []
    if move.move == "relabel":
        return [own], [own._replace(label=label)]
    if move.move in ("attach_left", "attach_right"):
        sister = span(tree, (*path[:-1], path[-1] + (-1 if move.move == "attach_left" else 1)))
        return [sister], [Span(min(own.start, sister.start), max(own.end, sister.end), sister.label)]
    if move.move == "raise":
        parent = span(tree, path[:-1])
        rest = (
            Span(own.end, parent.end, "") if own.start == parent.start else Span(parent.start, own.start, "")
        )
        return [parent], [rest._replace(label=parent.label)]
    if move.move == "split":
        middle = span(tree, (*path, move.at or 0)).start
        return [own], [Span(own.start, middle, own.label), Span(middle, own.end, own.label)]
    assert move.move == "merge"
    sisters = [span(tree, (*path, index)) for index in range(move.start or 0, move.end or 0)]
    return sisters, [Span(sisters[0].start, sisters[-1].end, sisters[0].label)]


def test_each_move_changes_the_brackets_that_it_says() -> None:
    made = Counter[str]()
    for tree in SMALL:
        for selection in selections(tree):
            for move in moves(selection):
                if move.move in CHANGE_WORDS or (moved := after(tree, move)) is None:
                    continue
                made[move.move] += 1
                assert moved.words == tree.words
                if move.move == "retag":
                    assert moved.tags != tree.tags and moved.spans() == tree.spans()
                    continue
                assert moved.tags == tree.tags
                gone, new = changed_spans(tree, move)
                assert Counter(moved.spans()) == Counter(tree.spans()) - Counter(gone) + Counter(new), move
    assert set(made) == set(MOVES) - CHANGE_WORDS


BACK = {
    "wrap": ("unwrap",),
    "unwrap": ("wrap",),
    "raise": ("attach_left", "attach_right"),
    "attach_left": ("raise",),
    "attach_right": ("raise",),
    "split": ("merge",),
    "merge": ("split",),
    "relabel": ("relabel",),
    "retag": ("retag",),
    "split_word": ("join_words",),
    "join_words": ("split_word",),
}


def test_each_move_has_a_move_back() -> None:
    """`merge` and `join_words` keep the label of the first: of two with one label, there is one move back."""
    for tree in {tree.map_labels(lambda _: "N") for tree in SMALL}:
        for selection in selections(tree):
            if (selection.end or 0) - (selection.start or 0) > 2:
                continue
            for move in moves(selection):
                if (moved := after(tree, move)) is None:
                    continue
                ways = (
                    again
                    for place in selections(moved)
                    for again in moves(place, ("N", "T"), BACK[move.move])
                    if after(moved, again) == tree
                )
                assert next(ways, None), (move, str(tree))


def test_moves_reach_every_tree_from_every_other() -> None:
    """Each move has a way back, so it is enough that one tree reaches all."""
    everything = {tree.map_labels(lambda _: "N") for tree in all_trees(3)}
    start = min(everything, key=str)
    reached, pending = {start}, [start]
    while pending:
        tree = pending.pop()
        for selection in selections(tree):
            for move in moves(selection, ("N",)):
                if move.move in (*CHANGE_WORDS, "retag") or (moved := after(tree, move)) is None:
                    continue
                if moved in everything and moved not in reached:
                    reached.add(moved)
                    pending.append(moved)
    assert reached == everything


def test_possible_names_the_moves_that_succeed() -> None:
    for tree in SMALL:
        longer = tree.map_words(lambda word: word + "ab")
        for selection in selections(tree):
            found = {move.move for move in moves(selection) if after(longer, move)}
            assert possible(longer, selection) == [name for name in MOVES if name in found]


def test_the_selection_after_a_move_is_what_moved() -> None:
    for move, selection in (
        (Move("wrap", (1,), 1, 3, label="X"), Selection((1, 1))),
        (Move("wrap", (), label="X"), Selection(())),
        (Move("unwrap", (1,)), Selection((), 1, 4)),
        (Move("unwrap", (1, 1)), Selection((1, 1))),
        (Move("attach_left", (2,)), Selection((1, 3))),
        (Move("attach_right", (0,)), Selection((0, 0))),
        (Move("raise", (1, 2)), Selection((2,))),
        (Move("raise", (1, 0)), Selection((1,))),
        (Move("split", (1,), at=2), Selection((), 1, 3)),
        (Move("merge", (), 0, 2), Selection((0,))),
        (Move("split_word", (1, 0), at=3), Selection((1,), 0, 2)),
        (Move("join_words", (0,), 0, 2), Selection((0, 0))),
    ):
        moved = apply_move(TREE, move)
        assert moved.selection == selection
        possible(moved.tree, moved.selection)


def test_words_are_split_and_joined() -> None:
    split = apply_move(TREE, Move("split_word", (1, 0), at=3)).tree
    assert split.words == ("the", "dog", "see", "s", "Ann", "now", ".") and split.tags[2:4] == ("VBZ", "VBZ")
    assert apply_move(split, Move("join_words", (1,), 0, 2)).tree == TREE


@pytest.mark.parametrize(
    ("move", "problem"),
    [
        (
            Move("wrap", (0,), label="N P"),
            "'N P' cannot be a label: expected a name without blanks and brackets",
        ),
        (Move("relabel", (0,), label="(NP"), "cannot be a label"),
        (Move("relabel", (0,), label=""), "cannot be a label"),
        (Move("relabel", (0,), label="N" * 101), "a label of 101 characters"),
        (Move("retag", (0, 0), label="D\nT"), "cannot be a tag"),
        (Move("relabel", (0, 0), label="NP"), "a word cannot be relabelled"),
        (Move("retag", (0,), label="DT"), "a constituent has no tag"),
        (Move("unwrap", ()), "the root has several children"),
        (Move("unwrap", (2,)), "a word cannot be unwrapped"),
        (Move("attach_left", (0,)), "no left sister"),
        (Move("attach_left", ()), "no left sister"),
        (Move("attach_right", (2,)), "no right sister"),
        (Move("attach_right", (1,)), "the right sister is a word"),
        (Move("raise", (0,)), "nothing above"),
        (Move("raise", (1, 1)), "only the first or last child"),
        (Move("raise", (1, 1, 0)), "an only child"),
        (Move("split", (), at=1), "the root cannot be split"),
        (Move("split", (0,), at=2), "cannot be split at 2: expected 1 to 1"),
        (Move("split", (0,)), "the move 'split' needs 'at'"),
        (Move("merge", (), 1, 3), "a word cannot be merged"),
        (Move("merge", (0,)), "select adjacent sisters"),
        (Move("join_words", (), 0, 2), "only words can be joined"),
        (Move("split_word", (2,), at=1), "'.' cannot be split at character 1"),
        (Move("wrap", (), 2, 9, label="X"), "no sisters 2 to 8: the node has 3 children"),
        (Move("wrap", (7,), label="X"), r"no node at \[7\]"),
        (Move("unwrap", (), 0, 2), "takes one node"),
    ],
)
def test_an_impossible_move_is_one_line(move: Move, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as raised:
        apply_move(TREE, move)
    assert "\n" not in str(raised.value)


def test_a_move_is_json() -> None:
    for move in (Move("wrap", (1, 0), 0, 2, label="NP"), Move("raise", ())):
        assert Move.from_dict(json.loads(json.dumps(move.to_dict()))) == move
    assert Move("raise", (2,)).to_dict() == {"move": "raise", "path": [2]}


@pytest.mark.parametrize(
    "table",
    [
        [],
        {"move": "wrap"},
        {"move": "fly", "path": []},
        {"move": ["wrap"], "path": []},
        {"move": "raise", "path": [0], "to": 1},
        {"move": "raise", "path": ["0"]},
        {"move": "raise", "path": "0"},
        {"move": "raise", "path": [-1]},
        {"move": "raise", "path": [True]},
        {"move": "wrap", "path": [], "start": 0},
        {"move": "wrap", "path": [], "label": 3},
        {"move": "split", "path": [], "at": 1.0},
    ],
)
def test_what_is_no_move(table: object) -> None:
    with pytest.raises(ValueError, match=r"expected|unknown"):
        Move.from_dict(table)  # type: ignore[arg-type]


def test_deep_trees() -> None:
    tree = right_branching(3000)
    path = (1,) * 2998
    moved = apply_move(tree, Move("attach_right", (*path[:-1], 0)))
    assert moved.tree.words == tree.words
    assert apply_move(moved.tree, Move("raise", moved.selection.path)).tree == tree
