"""Trees as action sequences: bottom-up steps (Ma et al. 2017), top-down brackets (Vinyals et al. 2015).

Both are lists of strings. Words and tags are not in them: to build a tree they are given again.

Bottom-up (Section 3.1 of Ma et al., after Cross and Huang 2016) the parser keeps a stack of spans. Even steps
change the structure: "sh" pushes the next word, "comb" joins the top two items. Odd steps label the top item:
"label-X" makes its parts the children of one node X, "nolabel" leaves them to a larger node. A unary chain is
one label, outermost first and joined by "+": "label-S+VP". Over n words that is always 4n - 2 actions.

Top-down a node is "(X", its parts, ")X", and every word is "XX". The end mark of a decoder is no part of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

from treeformers.trees.tree import Tree

__all__ = [
    "attended_positions",
    "attended_positions_of",
    "bottom_up",
    "from_bottom_up",
    "from_top_down",
    "is_well_formed",
    "legal_bottom_up",
    "legal_top_down",
    "open_labels",
    "top_down",
]

_LABEL = "label-"
_NOTHING: frozenset[str] = frozenset()
_SHIFT = frozenset({"sh"})
_COMBINE = frozenset({"comb"})
_SHIFT_OR_COMBINE = _SHIFT | _COMBINE
_LABEL_ONLY = frozenset({"label"})
_LABEL_OR_NOT = frozenset({"label", "nolabel"})


def bottom_up(tree: Tree) -> list[str]:
    """Write a tree as bottom-up actions (Ma et al. 2017, Tables 1 and 2).

    Several orders build a node over three parts or more. This is the paper's: two items are combined as soon
    as they lie in the same node, so nodes grow from the left. Inside a label "+" is written as "%2B" and "%"
    as "%25".

    Returns:
        4n - 2 actions for n words. A single leaf is ["sh", "nolabel"], the one tree without a label at its
        root.
    """
    actions: list[str] = []
    pending: list[Tree | str] = [tree]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            actions.append(item)
            continue
        labels: list[str] = []
        while len(item.children) == 1:
            labels.append(item.label)
            item = item.children[0]
        if not item.children:
            actions += ("sh", _label_action(tuple(labels)))
            continue
        first, second, *others = item.children
        pending.append(_label_action((*labels, item.label)))
        for child in reversed(others):
            pending += ("comb", child, "nolabel")
        pending += ("comb", second, first)
    return actions


def from_bottom_up(actions: Sequence[str], words: Sequence[str], tags: Sequence[str] | None = None) -> Tree:
    """Build the tree that these actions describe: the inverse of `bottom_up`.

    Args:
        actions: 4n - 2 actions, each legal where it stands, or the ["sh", "nolabel"] of a single leaf.
        words: the n words, at least one.
        tags: one tag a word; "XX" if absent.

    Raises:
        ValueError: an action that is illegal at its step, too few or too many actions, no words, or another
            number of tags.
    """
    leaves = iter(_leaves(words, tags))
    expected = legal_bottom_up(actions, len(words))
    if expected:
        raise ValueError(
            f"step {len(actions)}: the actions end here, expected {_names(expected)} "
            f"({4 * len(words) - 2} actions for {len(words)} words)"
        )
    stack: list[list[Tree]] = []
    for action in actions:
        if action == "sh":
            stack.append([next(leaves)])
        elif action == "comb":
            right = stack.pop()
            stack[-1] += right
        elif action != "nolabel":
            for label in _labels(action):
                stack[-1] = [Tree(label, tuple(stack[-1]))]
    return stack[0][0]


def legal_bottom_up(actions_so_far: Sequence[str], n_words: int) -> frozenset[str]:
    """The kinds of action that may come next, of "sh", "comb", "label" and "nolabel".

    Even steps: "sh" while words remain, "comb" over two items or more. Odd steps: "label" and, but for the
    last step, "nolabel". Every walk of such steps ends after 4n - 2 of them in one tree over the n words.
    Table 3 of the paper prints "sh: j < T" and "nolabel: z < 4T + 3" for words 0 to T; words and bounds only
    agree as j <= T and z < 4T + 1.

    Args:
        actions_so_far: legal actions from the first on.
        n_words: at least 1.

    Returns:
        The kinds; none when the tree is complete.

    Raises:
        ValueError: an action that was illegal at its step, or no words.
    """
    *_, bounds = _boundaries(actions_so_far, n_words)
    return _legal_kinds(len(actions_so_far), bounds, n_words)


def attended_positions(
    actions_so_far: Sequence[str], n_words: int, heads: Literal["right"] | None = None
) -> tuple[int, ...]:
    """The words that deterministic attention reads before the next action (Ma et al. 2017, Section 3.3).

    With items [r, s) and [s, t) on top of the stack D_i is (0, r, s, t, n), or (0, r, s, t, h_rs, h_st, n)
    with their head words: r and s are the first words of the items, t is the next unread word, n the end mark
    behind the last word. That mark is the paper's T: with the last word itself, as its text says, D of its
    example would end in 4, and h_t would not exist once all words are read. An absent item, on which the
    paper is silent, is the empty span [0, 0).

    D_i belongs to the state before action i, the only one there is when decoding. The paper prints one D for
    steps 4 and 5 of Table 2, that after step 4; here D_4 = (0, 0, 1, 2, 5), D_5 = D_6 = (0, 1, 2, 3, 5).

    Args:
        actions_so_far: legal actions from the first on.
        n_words: at least 1.
        heads: "right" adds the head words, where the head of an item is that of its right-most part and so
            its last word.

    Raises:
        ValueError: an action that was illegal at its step, no words, or another value of `heads`.
    """
    *_, bounds = _boundaries(actions_so_far, n_words)
    return _positions(bounds, n_words, _with_heads(heads))


def attended_positions_of(
    actions: Sequence[str], n_words: int, heads: Literal["right"] | None = None
) -> list[tuple[int, ...]]:
    """`attended_positions` before each of the actions, in linear time: one list of positions an action.

    Raises:
        ValueError: as `attended_positions`.
    """
    with_heads = _with_heads(heads)
    positions = [_positions(bounds, n_words, with_heads) for bounds in _boundaries(actions, n_words)]
    return positions[:-1]


def top_down(tree: Tree) -> list[str]:
    """Write a tree as top-down brackets (Vinyals et al. 2015): "(S", "(NP", "XX", ")NP", ")S".

    A single leaf is ["XX"].
    """
    tokens: list[str] = []
    pending: list[Tree | str] = [tree]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            tokens.append(item)
        elif item.children:
            tokens.append(f"({item.label}")
            pending.append(f"){item.label}")
            pending += reversed(item.children)
        else:
            tokens.append("XX")
    return tokens


def from_top_down(tokens: Sequence[str], words: Sequence[str], tags: Sequence[str] | None = None) -> Tree:
    """Build the tree that top-down brackets describe: the inverse of `top_down`; repairs what is malformed.

    Any tokens give a tree over exactly these words:

    - an XX too many is dropped; words left over join the outermost node that is still open at the end, or
      the root if none is;
    - a node still open at the end is closed;
    - a closer closes the innermost open node, whose own label stays; where none is open it becomes a node
      over everything before it;
    - a node without words is dropped;
    - several roots become the children of one S;
    - any other token, such as "</s>", is ignored.

    Vinyals et al. add brackets at either end and do not say what becomes of a wrong number of words. Use
    `is_well_formed` to count what had to be repaired.

    Args:
        tokens: openers, closers and "XX".
        words: the words, at least one.
        tags: one tag a word; "XX" if absent.

    Raises:
        ValueError: no words, or another number of tags. Never because of the tokens.
    """
    leaves = _leaves(words, tags)
    used = 0
    labels: list[str] = []  # of the open nodes
    rows: list[list[Tree]] = [[]]  # the roots, then the children of each open node

    def close() -> None:
        label, children = labels.pop(), rows.pop()
        if children:
            rows[-1].append(Tree(label, tuple(children)))

    for token in tokens:
        if token == "XX":
            rows[-1] += leaves[used : used + 1]
            used += 1
        elif token.startswith("("):
            labels.append(token[1:])
            rows.append([])
        elif token.startswith(")"):
            if labels:
                close()
            elif rows[0]:
                rows[0] = [Tree(token[1:], tuple(rows[0]))]
    while len(labels) > 1:
        close()
    missing = leaves[used:]
    if missing and not labels and len(rows[0]) == 1 and rows[0][0].children:
        root = rows[0].pop()
        labels.append(root.label)
        rows.append(list(root.children))
    rows[-1] += missing
    if labels:
        close()
    return rows[0][0] if len(rows[0]) == 1 else Tree("S", tuple(rows[0]))


def is_well_formed(tokens: Sequence[str], n_words: int) -> bool:
    """Whether these tokens are what `top_down` writes for some tree over so many words."""
    if list(tokens) == ["XX"]:
        return n_words == 1
    try:
        return not legal_top_down(tokens, n_words, max_open=len(tokens) + 1)
    except ValueError:
        return False


def legal_top_down(tokens_so_far: Sequence[str], n_words: int, max_open: int = 8) -> frozenset[str]:
    """The kinds of token that may come next, of "(", "XX" and ")", so that no repair is needed.

    "XX" inside a node, while words remain. ")" on a node that is not empty, and on the root when no words
    remain; it carries the last of `open_labels`. "(" while words remain, but for a second root. Every walk of
    such steps ends in one tree over the n words.

    Args:
        tokens_so_far: legal tokens from the first on.
        n_words: at least 1.
        max_open: openers in a row, at least 1. Without a bound a decoder may open nodes forever.

    Returns:
        The kinds; none when the tree is complete.

    Raises:
        ValueError: a token that was illegal at its step, no words, or `max_open` below 1.
    """
    _check_number(n_words)
    if max_open < 1:
        raise ValueError(f"max_open is {max_open}, expected at least 1: no tree opens without an opener")
    labels: list[str] = []
    used = opened = 0  # words so far; openers in a row
    legal = frozenset({"("})
    for step, token in enumerate(tokens_so_far):
        kind = token[:1] if isinstance(token, str) and token != "XX" else token
        if kind not in legal or (kind == ")" and token[1:] != labels[-1]):
            names = [f"){labels[-1]}" if kind == ")" else kind for kind in legal]
            raise ValueError(f"step {step}: illegal token {token!r}, expected {_names(names)}")
        if kind == "(":
            labels.append(token[1:])
            opened += 1
        else:
            opened = 0
            if kind == "XX":
                used += 1
            else:
                labels.pop()
        kinds = []
        if labels and used < n_words:
            kinds += ["XX", "("] if opened < max_open else ["XX"]
        # Only a node that was opened just now is empty.
        if labels and not opened and (len(labels) > 1 or used == n_words):
            kinds.append(")")
        legal = frozenset(kinds)
    return legal


def open_labels(tokens_so_far: Sequence[str]) -> tuple[str, ...]:
    """The labels of the nodes that are open after these tokens, outermost first.

    The next closer has to carry the last one.
    """
    labels: list[str] = []
    for token in tokens_so_far:
        if token.startswith("("):
            labels.append(token[1:])
        elif token.startswith(")") and labels:
            labels.pop()
    return tuple(labels)


def _boundaries(actions: Sequence[str], n_words: int) -> Iterator[list[int]]:
    """The boundaries between the items on the stack, before each action and after the last.

    Two empty items [0, 0) stand below all others, so that the last three boundaries are always r, s and t. It
    is one list that changes from state to state.

    Raises:
        ValueError: an action that is illegal at its step, or no words.
    """
    _check_number(n_words)
    bounds = [0, 0, 0]
    yield bounds
    for step, action in enumerate(actions):
        is_label = isinstance(action, str) and action.startswith(_LABEL)
        kind = "label" if is_label else action
        legal = _legal_kinds(step, bounds, n_words)
        # The tree that is a single leaf has no label; a parser gives every sentence one.
        is_leaf = action == "nolabel" and step == n_words == 1
        if (kind not in legal or action == "label") and not is_leaf:  # without "-" it names no label
            raise ValueError(f"step {step}: illegal action {action!r}, expected {_names(legal)}")
        if kind == "sh":
            bounds.append(bounds[-1] + 1)
        elif kind == "comb":
            del bounds[-2]
        yield bounds


def _legal_kinds(step: int, bounds: list[int], n_words: int) -> frozenset[str]:
    if step % 2:
        return _LABEL_OR_NOT if step < 4 * n_words - 3 else _LABEL_ONLY
    if len(bounds) < 5:
        return _SHIFT if bounds[-1] < n_words else _NOTHING
    return _SHIFT_OR_COMBINE if bounds[-1] < n_words else _COMBINE


def _positions(bounds: list[int], n_words: int, with_heads: bool) -> tuple[int, ...]:
    r, s, t = bounds[-3:]
    if with_heads:
        return 0, r, s, t, max(s - 1, 0), max(t - 1, 0), n_words
    return 0, r, s, t, n_words


def _with_heads(heads: str | None) -> bool:
    if heads not in (None, "right"):
        raise ValueError(f"heads is {heads!r}, expected None or 'right'")
    return heads is not None


def _leaves(words: Sequence[str], tags: Sequence[str] | None) -> list[Tree]:
    _check_number(len(words))
    tags = ["XX"] * len(words) if tags is None else tags
    if len(tags) != len(words):
        raise ValueError(f"expected one tag a word, got {len(tags)} tags for {len(words)} words")
    return [Tree(tag, word=word) for tag, word in zip(tags, words, strict=True)]


def _check_number(n_words: int) -> None:
    if n_words < 1:
        raise ValueError(f"a tree needs at least one word, got {n_words}")


def _names(kinds: Sequence[str] | frozenset[str]) -> str:
    names = (f"{_LABEL}X" if kind == "label" else kind for kind in kinds)
    return " or ".join(sorted(names)) or "nothing more"


@lru_cache(maxsize=1 << 14)
def _label_action(labels: tuple[str, ...]) -> str:
    """The action for a unary chain, outermost first."""
    if not labels:
        return "nolabel"
    return _LABEL + "+".join(label.replace("%", "%25").replace("+", "%2B") for label in labels)


@lru_cache(maxsize=1 << 14)
def _labels(action: str) -> tuple[str, ...]:
    """The unary chain of an action, innermost first."""
    labels = action.removeprefix(_LABEL).split("+")
    return tuple(label.replace("%2B", "+").replace("%25", "%") for label in reversed(labels))
