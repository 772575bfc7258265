"""Search a pattern in columns: a match is a row, and each relation joins rows with nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from treeformers.query.columns import Columns, Integers, Mask, inverse, ranges
from treeformers.query.deadline import Deadline
from treeformers.query.descriptions import fitting, group_texts
from treeformers.query.relations import RANGES, WALKS, Order, Range
from treeformers.query.syntax import All, Any, Description, Formula, Maybe, Node, Not, Relation, Step

__all__ = ["Rows", "Search"]

Rows: TypeAlias = dict[str | Node, Integers]
"""Partial matches as columns of equal length. A key is the name of a node, "%" and the name of a variable, or
a node of the pattern."""

Joined: TypeAlias = tuple[NDArray[np.int64], Integers]
"""Positions of rows, and a node for each."""

MAX_ROWS = 1 << 20
"""More rows than these are made in several parts."""
ROOTS = 1 << 14
"""Number of nodes whose matches, or whose chains, are found together."""


class Search:
    """The search of a pattern in columns.

    Args:
        columns: the trees.
        pattern: the pattern.
        deadline: the end of the search.

    Raises:
        ValueError: the search or a regular expression takes too long.
    """

    def __init__(self, columns: Columns, pattern: Node, deadline: Deadline) -> None:
        self.columns = columns
        self.pattern = pattern
        self.deadline = deadline
        self._masks: dict[Description, Mask] = {}
        self._candidates: dict[tuple[Description, Order], tuple[NDArray[np.int64], Integers]] = {}
        self._orders: dict[Order, Integers] = {}
        self._texts: dict[str, int] = {}
        self._label_texts: dict[tuple[Description, int], Integers] = {}

    def matches(self) -> Iterator[Rows]:
        """All matches, ordered by the node that the pattern starts with.

        Yields:
            Rows with the key `pattern` and the names of nodes. A name that is not bound has the node -1.
        """
        nodes = np.flatnonzero(self._mask(self.pattern.description)).astype(np.int32)
        blocks = [nodes[start : start + ROOTS] for start in range(0, len(nodes), ROOTS)]
        blocks.reverse()
        while blocks:
            block = blocks.pop()
            found, total = [], 0
            for rows in self._node_rows(self.pattern, {self.pattern: block}):
                if len(block) == 1:
                    yield rows
                    continue
                found.append(rows)
                total += len(rows[self.pattern])
                if total > MAX_ROWS:
                    half = len(block) // 2
                    blocks += [block[half:], block[:half]]
                    found = []
                    break
            if found:
                yield _ordered(found, self.pattern)

    def counts(self) -> NDArray[np.int64]:
        """The number of matches in each tree."""
        nodes = np.flatnonzero(self._mask(self.pattern.description)).astype(np.int32)
        counts = np.zeros(len(self.columns.roots), np.int64)
        for rows in self._node_rows(self.pattern, {self.pattern: nodes}):
            counts += np.bincount(self.columns.tree[rows[self.pattern]], minlength=len(counts))
        return counts

    def _node_rows(self, node: Node, rows: Rows) -> Iterator[Rows]:
        """The rows whose column `node` fits the node, once for each way in which its relations hold."""
        self.deadline.check()
        rows = self._bound(node, rows)
        if not len(rows[node]):
            return
        if node.formula is None:
            yield rows
        else:
            yield from self._formula_rows(node.formula, node, rows)

    def _bound(self, node: Node, rows: Rows) -> Rows:
        """Apply what a description says about other nodes, and bind the name and the variables."""
        description, nodes = node.description, rows[node]
        labels = self.columns.label
        unbound = np.full(len(nodes), -1, np.int32)
        keep = np.ones(len(nodes), np.bool_)
        if name := description.same_node:
            keep &= nodes == rows.get(name, unbound)
        if name := description.same_label:
            other = rows.get(name, unbound)
            keep &= (other >= 0) & (labels[nodes] == labels[other])
        if name := description.variable:
            keep &= self._text_numbers(description, 0)[labels[nodes]] == rows.get(f"%{name}", unbound)
        for group, name in description.groups:
            texts = self._text_numbers(description, group)[labels[nodes]]
            known = rows.get(f"%{name}")
            keep &= texts >= 0 if known is None else texts == known
            if known is None:
                rows = {**rows, f"%{name}": texts}
        if node.name:
            known = rows.get(node.name)
            if known is None:
                rows = {**rows, node.name: nodes}
            else:
                keep &= nodes == known
        return rows if keep.all() else _taken(rows, np.flatnonzero(keep))

    def _formula_rows(self, formula: Formula, node: Node, rows: Rows) -> Iterator[Rows]:
        match formula:
            case Step(relation, target):
                for places, nodes in self._join(relation, rows[node], target.description):
                    for found in self._node_rows(target, {**_taken(rows, places), target: nodes}):
                        del found[target]
                        yield found
            case All(parts):
                yield from self._all_rows(parts, node, rows)
            case Any(parts):
                for part in parts:
                    yield from self._formula_rows(part, node, rows)
            case Not(part):
                absent = np.flatnonzero(~self._holds(part, node, rows))
                if len(absent):
                    yield _taken(rows, absent)
            case Maybe(part):
                yield from self._maybe_rows(part, node, rows)

    def _maybe_rows(self, formula: Formula, node: Node, rows: Rows) -> Iterator[Rows]:
        """Each row once: with the first nodes for which the formula holds, or as it is."""
        number = Node(Description())
        left = np.ones(len(rows[node]), np.bool_)
        for found in self._formula_rows(formula, node, {**rows, number: _numbers(left)}):
            numbers, first = np.unique(found.pop(number), return_index=True)
            new = left[numbers]
            left[numbers] = False
            yield _taken(found, first[new])
        if left.any():
            yield _taken(rows, np.flatnonzero(left))

    def _all_rows(self, parts: Sequence[Formula], node: Node, rows: Rows) -> Iterator[Rows]:
        if not parts:
            yield rows
            return
        for found in self._formula_rows(parts[0], node, rows):
            yield from self._all_rows(parts[1:], node, found)

    def _holds(self, formula: Formula, node: Node, rows: Rows) -> Mask:
        """For each row, whether the formula holds."""
        match formula:
            case All(parts) if not _names(formula):
                holds = np.ones(len(rows[node]), np.bool_)
                for part in parts:
                    left = np.flatnonzero(holds)
                    holds[left] = self._holds(part, node, _taken(rows, left))
                return holds
            case Any(parts):
                holds = np.zeros(len(rows[node]), np.bool_)
                for part in parts:
                    left = np.flatnonzero(~holds)
                    holds[left] = self._holds(part, node, _taken(rows, left))
                return holds
            case Not(part):
                return ~self._holds(part, node, rows)
            case Maybe():
                return np.ones(len(rows[node]), np.bool_)
            case Step(relation, target) if _is_plain(target) and _is_range(relation):
                begin, end, _ = self._candidate_range(relation, rows[node], target.description)
                return end > begin
            case Step(relation, target) if _is_plain(target) and relation.symbol in WALKS:
                holds = np.zeros(len(rows[node]), np.bool_)
                for places, _ in self._walk_join(relation, rows[node], target.description, once=True):
                    holds[places] = True
                return holds
        number = Node(Description())
        holds = np.zeros(len(rows[node]), np.bool_)
        for found in self._formula_rows(formula, node, {**rows, number: _numbers(holds)}):
            holds[found[number]] = True
        return holds

    def _join(self, relation: Relation, nodes: Integers, description: Description) -> Iterator[Joined]:
        """All pairs of a row and a node that stands in the relation to the row's node and fits."""
        columns, symbol = self.columns, relation.symbol
        match symbol:
            case "$":
                for places, found in self._range_join(relation, nodes, description):
                    yield _filtered(places, found, found != nodes[places])
            case "<<<":
                for places, found in self._range_join(relation, nodes, description):
                    yield _filtered(places, found, columns.is_word[found])
            case "<=":
                yield from self._range_join(Relation("=="), nodes, description)
                yield from self._range_join(Relation("<"), nodes, description)
            case "<+":
                top = self._depth_above(relation)
                for places, found in self._range_join(Relation("<<"), nodes, description):
                    yield _filtered(places, found, top[found] <= columns.depth[nodes[places]])
            case ".+" | ",+":
                for start in range(0, len(nodes), ROOTS):
                    part = nodes[start : start + ROOTS]
                    for places, found in self._chain_join(relation, part, description):
                        yield places + start, found
            case _ if symbol in WALKS:
                yield from self._walk_join(relation, nodes, description)
            case _:
                yield from self._range_join(relation, nodes, description)

    def _range_join(self, relation: Relation, nodes: Integers, description: Description) -> Iterator[Joined]:
        begin, end, candidates = self._candidate_range(relation, nodes, description)
        yield from _expanded(begin, end, candidates)

    def _candidate_range(
        self, relation: Relation, nodes: Integers, description: Description
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Integers]:
        """For each node, the begin and end of those that stand in the relation, among the candidates."""
        return self._narrowed(RANGES[relation.symbol](self.columns, nodes, relation.number), description)

    def _narrowed(
        self, found: Range, description: Description
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Integers]:
        before, candidates = self._ordered_candidates(description, found.order)
        begin = before[found.begin]
        return begin, np.maximum(begin, before[found.end]), candidates

    def _walk_join(
        self, relation: Relation, nodes: Integers, description: Description, once: bool = False
    ) -> Iterator[Joined]:
        """Walk from all nodes at the same time. With `once`, a walk ends at the first node that fits."""
        steps = WALKS[relation.symbol](self.columns)
        fits = self._mask(description)
        through = None if relation.through is None else self._mask(relation.through)
        places, walkers = np.arange(len(nodes)), nodes
        found: list[Joined] = []
        total = 0
        while len(walkers):
            walkers = steps[walkers]
            places, walkers = _filtered(places, walkers, walkers >= 0)
            found.append(_filtered(places, walkers, fits[walkers]))
            total += len(found[-1][0])
            if total > MAX_ROWS:
                yield _merged(found)
                found, total = [], 0
            if through is not None:
                places, walkers = _filtered(places, walkers, through[walkers])
            if once:
                places, walkers = _filtered(places, walkers, ~fits[walkers])
        if total:
            yield _merged(found)

    def _chain_join(self, relation: Relation, nodes: Integers, description: Description) -> Iterator[Joined]:
        """Follow chains of adjacent nodes: ".+" to the right, ",+" to the left."""
        columns, forward = self.columns, relation.symbol == ".+"
        assert relation.through is not None
        edge, trees = columns.stop if forward else columns.first, columns.tree[nodes]
        width = len(columns.words) + 1  # a row and the border that it has reached are one number
        new = np.arange(len(nodes)) * width + edge[nodes]
        reached = new[:0]
        while len(new):
            self.deadline.check()
            reached = np.union1d(reached, new)
            places, borders = np.divmod(new, width)
            between = self._narrowed(self._touching(borders, trees[places], forward), relation.through)
            further = [places[rows] * width + edge[found] for rows, found in _expanded(*between)]
            new = np.setdiff1d(np.concatenate([new[:0], *further]), reached)
        places, borders = np.divmod(reached, width)
        last = self._narrowed(self._touching(borders, trees[places], forward), description)
        for rows, found in _expanded(*last):
            yield places[rows], found

    def _touching(self, borders: NDArray[np.int64], trees: Integers, forward: bool) -> Range:
        """The nodes of a tree that start (or end) between two words, given by the position of the second."""
        columns = self.columns
        root = columns.roots[trees]
        inside = (borders > columns.first[root]) & (borders < columns.stop[root])
        left = columns.words[np.where(inside, borders - 1, 0)]
        right = columns.words[np.where(inside, borders, 0)]
        if forward:
            return Range("preorder", left + 1, np.where(inside, right + 1, 0))
        return Range("postorder", columns.postorder[left], np.where(inside, columns.postorder[right], 0))

    def _depth_above(self, relation: Relation) -> Integers:
        """The depth of the nearest ancestor that does not fit `relation.through`; 0 at most at the root."""
        assert relation.through is not None
        through, above = self._mask(relation.through), self.columns.parent.copy()
        while len(left := np.flatnonzero((above >= 0) & through[above])):
            above[left] = self.columns.parent[above[left]]
        return np.where(above < 0, 0, self.columns.depth[above]).astype(np.int32)

    def _mask(self, description: Description) -> Mask:
        if description not in self._masks:
            self._masks[description] = fitting(description, self.columns.vocabulary, self.deadline)[
                self.columns.label
            ]
        return self._masks[description]

    def _ordered_candidates(
        self, description: Description, order: Order
    ) -> tuple[NDArray[np.int64], Integers]:
        """The nodes that fit, in an order, and the number of them before each position of the order."""
        key = (description, order)
        if key not in self._candidates:
            nodes = self._order(order)
            fits = self._mask(description)[nodes]
            self._candidates[key] = np.concatenate([[0], np.cumsum(fits)]), nodes[fits]
        return self._candidates[key]

    def _order(self, order: Order) -> Integers:
        if order not in self._orders:
            columns = self.columns
            self._orders[order] = {
                "preorder": lambda: np.arange(len(columns), dtype=np.int32),
                "postorder": lambda: inverse(columns.postorder),
                "siblings": lambda: columns.siblings,
            }[order]()
        return self._orders[order]

    def _text_numbers(self, description: Description, group: int) -> Integers:
        """For each label, the number of the text of a group (0: the label itself); -1 for no text."""
        key = (description, group)
        if key not in self._label_texts:
            vocabulary = self.columns.vocabulary
            texts = group_texts(description, group, vocabulary, self.deadline) if group else vocabulary
            number = self._texts.setdefault
            self._label_texts[key] = np.array(
                [-1 if text is None else number(text, len(self._texts)) for text in texts], np.int32
            )
        return self._label_texts[key]


def _is_plain(node: Node) -> bool:
    """Whether a node has only a label."""
    description = node.description
    linked = description.same_node or description.same_label or description.variable or description.groups
    return not (linked or node.formula or node.name)


def _is_range(relation: Relation) -> bool:
    return relation.symbol in RANGES and relation.symbol not in ("$", "<<<")


def _names(formula: Formula) -> bool:
    """Whether a formula may bind a name or a variable."""
    match formula:
        case Step(_, target):
            described = target.description
            bound = bool(target.name or described.groups)
            return bound or (target.formula is not None and _names(target.formula))
        case All(parts) | Any(parts):
            return any(map(_names, parts))
        case Not(part) | Maybe(part):
            return _names(part)


def _numbers(rows: Mask) -> Integers:
    return np.arange(len(rows), dtype=np.int32)


def _taken(rows: Rows, places: NDArray[np.int64]) -> Rows:
    return {key: column[places] for key, column in rows.items()}


def _filtered(places: NDArray[np.int64], nodes: Integers, keep: Mask) -> Joined:
    return places[keep], nodes[keep]


def _merged(parts: Sequence[Joined]) -> Joined:
    """Join parts, ordered by rows."""
    places = np.concatenate([places for places, _ in parts])
    order = np.argsort(places, kind="stable")
    return places[order], np.concatenate([nodes for _, nodes in parts])[order]


def _expanded(begin: NDArray[np.int64], end: NDArray[np.int64], candidates: Integers) -> Iterator[Joined]:
    """Each row with each of its candidates, at most about `MAX_ROWS` at a time."""
    counts = end - begin
    total = np.cumsum(counts)
    start = 0
    while start < len(counts):
        before = total[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(total, before + MAX_ROWS, side="right")))
        part = slice(start, stop)
        start = stop
        if counts[part].any():
            places = np.repeat(np.arange(part.start, part.stop), counts[part])
            yield places, candidates[ranges(begin[part], counts[part])]


def _ordered(found: Sequence[Rows], first: Node) -> Rows:
    """Join rows, ordered by the node `first`. A name that some rows lack gets the node -1 there."""
    keys = dict.fromkeys(key for rows in found for key in rows if not str(key).startswith("%"))
    joined = {
        key: np.concatenate([rows.get(key, np.full(len(rows[first]), -1, np.int32)) for rows in found])
        for key in keys
    }
    order = np.argsort(joined[first], kind="stable")
    return {key: column[order] for key, column in joined.items()}
