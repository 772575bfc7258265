"""Head words of constituents: the rules of Collins (1999), and the rightmost child (Ma et al. 2017)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from treeformers.trees.dependency import DependencyTree
from treeformers.trees.tree import Tree, strip_functions

__all__ = ["COLLINS", "HeadAgreement", "head_agreement", "head_child", "head_words", "to_dependencies"]

# Rules by label, in order of priority. "left" and "right" search for one category after another from that
# side; "rightmost of" takes the last child that is in the set.
COLLINS: dict[str, tuple[tuple[str, str], ...]] = {
    "ADJP": (("left", "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),),
    "ADVP": (("right", "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),),
    "CONJP": (("right", "CC RB IN"),),
    "FRAG": (("right", ""),),
    "INTJ": (("left", ""),),
    "LST": (("right", "LS :"),),
    "NAC": (("left", "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),),
    "NP": (
        ("rightmost of", "NN NNP NNPS NNS NX POS JJR"),
        ("left", "NP"),
        ("rightmost of", "$ ADJP PRN"),
        ("right", "CD"),
        ("rightmost of", "JJ JJS RB QP"),
    ),
    "NX": (("left", ""),),
    "PP": (("right", "IN TO VBG VBN RP FW"),),
    "PRN": (("left", ""),),
    "PRT": (("right", "RP"),),
    "QP": (("left", "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),),
    "RRC": (("right", "VP NP ADVP ADJP PP"),),
    "S": (("left", "TO IN VP S SBAR ADJP UCP NP"),),
    "SBAR": (("left", "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),),
    "SBARQ": (("left", "SQ S SINV SBARQ FRAG"),),
    "SINV": (("left", "VBZ VBD VBP VB MD VP S SINV ADJP NP"),),
    "SQ": (("left", "VBZ VBD VBP VB MD VP SQ"),),
    "UCP": (("right", ""),),
    "VP": (("left", "TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP"),),
    "WHADJP": (("left", "CC WRB JJ ADJP"),),
    "WHADVP": (("right", "CC WRB"),),
    "WHNP": (("left", "WDT WP WP$ WHADJP WHPP WHNP"),),
    "WHPP": (("right", "IN TO FW"),),
    "X": (("right", ""),),
}
_UNLISTED = (("left", ""),)
_NO_LABEL = "X"
_CONJUNCTIONS = frozenset({"CC", "CONJP"})
_PUNCTUATION = frozenset({"''", "``", ",", ".", ":", "-LRB-", "-RRB-"})


def head_child(label: str, child_labels: Sequence[str]) -> int:
    """Find the head child of a node (Collins 1999, Appendix A).

    If no rule finds a child, the head is the first child from the side of the last rule; labels without rules
    start from the left. If the head directly follows a conjunction, as in "X CC Y", the head becomes the
    nearest child left of the conjunction that is not punctuation. Function tags are ignored.

    Args:
        label: label of the parent.
        child_labels: labels of its children; tags of leaves.

    Returns:
        The index of the head child.

    Raises:
        ValueError: there are no children.
    """
    if not child_labels:
        raise ValueError(f"node {label!r} has no children, expected at least one")
    return _head_child(label, tuple(child_labels))


def head_words(tree: Tree, rules: Literal["collins", "right"] = "collins") -> list[int]:
    """Find the position of each node's head word, in the order of `tree.spans()`.

    Args:
        tree: the tree; "collins" needs Penn Treebank tags.
        rules: "collins", or "right" for the head of the rightmost child, which is the last word.

    Raises:
        ValueError: the rules are unknown.
    """
    find: Callable[[str, Sequence[str]], int]
    if rules == "collins":
        find = head_child
    elif rules == "right":
        find = _rightmost
    else:
        raise ValueError(f"rules are {rules!r}, expected 'collins' or 'right'")
    heads = [head for head, _ in _heads_bottom_up(tree, find)]
    heads.reverse()
    return heads


def to_dependencies(tree: Tree) -> DependencyTree:
    """Convert a constituency tree to dependencies: a node's head word governs the heads of its other
    children.

    The heads come from `head_words` with the rules of Collins (1999). The dependency tree is projective and
    has no relations.

    Args:
        tree: a tree with labels and tags of the Penn Treebank.

    Raises:
        ValueError: the tree has no labels, as an induced tree; the rules need labels.
    """
    if len(tree) > 1 and all(node.label == _NO_LABEL for node in tree.nodes() if node.children):
        raise ValueError(
            f"the tree over {' '.join(tree.words[:5])!r} has no labels, and the head rules need labels: "
            "expected a tree of a treebank or of a parser"
        )
    governors = [0] * len(tree)
    for head, below in _heads_bottom_up(tree, head_child):
        for word in below:
            if word != head:
                governors[word] = head + 1
    return DependencyTree(tree.words, governors, tags=tree.tags)


@dataclass(frozen=True, slots=True)
class HeadAgreement:
    """Percentage of nodes whose rightmost child is the head by Collins' rules.

    Ma et al. (2017) report 77.78 for this heuristic. The Penn Treebank sample gives such a number only if
    words count as nodes that are their own heads (`nodes`: 76.7, or 77.7 with traces). The number is 33.9
    among nodes with a choice (`branching`), and 38.2 in the parser steps that use the heuristic (`combs`).

    Attributes:
        nodes: among all nodes, including words and unary nodes, which always agree.
        branching: among nodes with at least two children.
        combs: among the combine steps of the bottom-up oracle. A step joins the first children of a node with
            the next child; the rules apply to these children.
        words: nodes whose head word is their last word, among nodes with at least two children. This is the
            heuristic's result over several levels.
    """

    nodes: float
    branching: float
    combs: float
    words: float


def head_agreement(trees: Iterable[Tree]) -> HeadAgreement:
    """Compare the rightmost-child heuristic with Collins' rules on trees with Penn Treebank tags.

    Raises:
        ValueError: no node has two children.
    """
    nodes = branching = agree = combs = combs_agree = words_agree = 0
    for tree in trees:
        internal = [node for node in tree.nodes() if node.children]
        nodes += len(internal) + len(tree)
        for node, head, (_, end, _) in zip(internal, head_words(tree), tree.spans(), strict=True):
            if len(node.children) == 1:
                continue
            labels = tuple(child.label for child in node.children)
            branching += 1
            words_agree += head == end - 1
            agree += _head_child(node.label, labels) == len(labels) - 1
            combs += len(labels) - 1
            combs_agree += sum(
                _head_child(node.label, labels[:size]) == size - 1 for size in range(2, len(labels) + 1)
            )
    if not branching:
        raise ValueError("no node has two children: there is nothing to compare")
    return HeadAgreement(
        nodes=100 * (nodes - branching + agree) / nodes,
        branching=100 * agree / branching,
        combs=100 * combs_agree / combs,
        words=100 * words_agree / branching,
    )


def _heads_bottom_up(
    tree: Tree, find: Callable[[str, Sequence[str]], int]
) -> Iterator[tuple[int, list[int]]]:
    """Yield the head word of each node and the head words of its children, children before parents."""
    nodes = list(tree.nodes())
    position = len(tree)
    pending: list[int] = []  # heads of the nodes whose parent is not yet visited, the leftmost last
    for node in reversed(nodes):
        if node.children:
            below = [pending.pop() for _ in node.children]
            head = below[find(node.label, [child.label for child in node.children])]
            yield head, below
            pending.append(head)
        else:
            position -= 1
            pending.append(position)


def _rightmost(label: str, child_labels: Sequence[str]) -> int:
    return len(child_labels) - 1


@lru_cache(maxsize=1 << 16)
def _head_child(label: str, child_labels: tuple[str, ...]) -> int:
    children = [strip_functions(child) for child in child_labels]
    head = _by_rule(COLLINS.get(strip_functions(label), _UNLISTED), children)
    if head >= 2 and children[head - 1] in _CONJUNCTIONS:
        coordinated = (i for i in reversed(range(head - 1)) if children[i] not in _PUNCTUATION)
        return next(coordinated, head)
    return head


def _by_rule(rules: Sequence[tuple[str, str]], children: list[str]) -> int:
    for side, names in rules:
        order = range(len(children)) if side == "left" else range(len(children))[::-1]
        categories = names.split()
        if side == "rightmost of":
            found = (i for i in order if children[i] in categories)
        else:
            found = (i for category in categories for i in order if children[i] == category)
        head = next(found, None)
        if head is not None:
            return head
    return order[0]
