"""Constituency trees as SVG, terminal text and LaTeX. Labels "X" and "" mean "no label": not written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from treeformers.trees.latex import escape
from treeformers.trees.svg import Svg, clip, count, plain, svg_frame, text_columns, text_width, xml
from treeformers.trees.tree import Tree, unescape_word

_NO_LABEL = frozenset({"", "X"})


def tree_svg(
    tree: Tree,
    gold: Tree | None = None,
    title: str | None = None,
    shares: Sequence[float] | None = None,
) -> Svg:
    """Draw a constituency tree, with the words on one line and every node as low as it can stand.

    Args:
        tree: the tree.
        gold: a tree over the same words. Constituents whose span is also in it are drawn strong
            and coloured (class "agree"), constituents that cross one of its spans dashed (class
            "cross"); the rest, neither in gold nor against it, keep the plain line (class "extra").
        title: the accessible title; the sentence if absent.
        shares: of attention, one a node in pre-order, leaves too: the darker a node, the larger its share of
            the largest.

    Returns:
        One `<svg>` element, shown as a picture by notebooks.

    Raises:
        ValueError: `gold` has another number of words, or there are not as many shares as nodes.
    """
    layout = _Layout.of(tree)
    placed, baseline = layout.placed, layout.baseline
    kinds = iter(_compare(tree, gold)) if gold else None
    counts = {"agree": 0, "cross": 0, "extra": 0}
    if shares is not None and len(shares) != len(placed):
        raise ValueError(f"{len(shares)} shares, expected one for each of the {len(placed)} nodes")
    most = max(shares or (0.0,)) or 1.0
    shades: list[str] = []
    branches: list[str] = []
    texts: list[str] = []
    for number, place in enumerate(placed):
        if shares is not None:
            leaf = place.node.word is not None
            shades.append(_shade(place, baseline if leaf else layout.top(place) + 12, shares[number] / most))
        x, y, label = place.center + 8, layout.top(place), _shown(place.node.label)
        if place.node.word is not None:
            texts.append(f'<text class="word middle" x="{x}" y="{baseline}">{xml(_word(place.node))}</text>')
            if label:
                texts.append(
                    f'<text class="small middle" x="{x}" y="{layout.leaf_top + 14}">{xml(label)}</text>'
                )
            continue
        kind = ""
        if kinds:
            name = next(kinds)
            counts[name] += 1
            kind = f" {name}"
        if label:
            texts.append(f'<text class="label middle{kind}" x="{x}" y="{y + 12}">{xml(label)}</text>')
        bar = layout.bar(place)
        start = bar if label or not layout.labelled else y
        ends = layout.ends(place)
        branches.append(f'<path class="branch{kind}" d="{_branch(x, start, bar, ends)}"/>')

    sentence = " ".join(_word(leaf) for leaf in tree.leaves)
    about = f"Constituency tree: {count(len(tree), 'word')}, {count(len(branches), 'constituent')}"
    if gold:
        about += f"; {counts['agree']} also in the gold tree, {counts['cross']} crossing it"
    style = (
        ".figure .word{font:16px ui-serif,Georgia,'Times New Roman',serif}"
        ".figure .label{font-size:12px;font-weight:600}"
        ".figure path.agree{stroke:var(--agree);stroke-width:2.2}.figure text.agree{fill:var(--agree)}"
        ".figure path.cross{stroke:var(--cross);stroke-dasharray:4 4}.figure text.cross{fill:var(--cross)}"
        ".figure text.extra{fill:var(--muted)}.figure .shade{fill:var(--c3)}"
    )
    return svg_frame(
        layout.width, layout.height, title or sentence, about, style, [*shades, *branches, *texts]
    )


def tree_png(tree: Tree, path: str | Path) -> None:
    """Write the picture of `tree_svg`, in light colours, as a PNG file (needs matplotlib, the extra `draw`).

    Args:
        tree: the tree.
        path: of the file.

    Raises:
        OSError: the file cannot be written.
    """
    from matplotlib.figure import Figure

    layout = _Layout.of(tree)
    figure = Figure(figsize=(layout.width / 96, layout.height / 96), dpi=192)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, layout.width), ylim=(layout.height, 0))
    axes.set_axis_off()

    def write(x: int, y: int, text: str, points: float, color: str) -> None:
        # A dollar sign would start matplotlib's mathematics.
        text = text.replace("$", r"\$")
        axes.text(x, y, text, fontsize=points, color=color, ha="center", va="baseline")

    for place in layout.placed:
        x, label = place.center + 8, _shown(place.node.label)
        if place.node.word is not None:
            write(x, layout.baseline, _word(place.node), 12, "#111827")
            write(x, layout.leaf_top + 14, label, 8, "#6b7280")
            continue
        bar, ends = layout.bar(place), layout.ends(place)
        write(x, layout.top(place) + 12, label, 9, "#111827")
        axes.plot([ends[0][0], ends[-1][0]], [bar, bar], color="#6b7280", linewidth=1)
        for end, below in ends:
            axes.plot([end, end], [bar, below], color="#6b7280", linewidth=1)
    figure.savefig(path, format="png", metadata={"Software": None})


def tree_text(tree: Tree, width: int = 100) -> str:
    """Draw a tree for the terminal.

    Upright, with the words on the last line, where that fits; otherwise sideways, one node a line.
    Nodes too deep to be indented show their depth instead, so that no line is wider than asked.

    Args:
        tree: the tree.
        width: columns, at least 20.

    Returns:
        Lines without trailing blanks or a final newline.

    Raises:
        ValueError: `width` is below 20.
    """
    if width < 20:
        raise ValueError(f"a drawing needs a width of at least 20 columns, got {width}")

    def size(node: Tree) -> int:
        return max(text_columns(plain(_word(node))), text_columns(plain(_shown(node.label)))) + 2

    placed = _place(tree, size)
    return _upright(tree, placed) if placed[0].width - 2 <= width else _sideways(tree, width)


def tree_latex(tree: Tree) -> str:
    r"""Write a tree for the LaTeX package forest, words on one tier; special characters are escaped."""
    pieces: list[str] = []
    stack: list[Tree | None] = [tree]
    while stack:
        node = stack.pop()
        if node is None:
            pieces.append("]")
        elif node.word is None:
            pieces.append(f"[{{{escape(_shown(node.label))}}}")
            stack.append(None)
            stack.extend(reversed(node.children))
        else:
            word = f"[{{{escape(_word(node))}}}, tier=word]"
            tag = _shown(node.label)
            pieces.append(f"[{{{escape(tag)}}} {word}]" if tag else word)
    body = " ".join(pieces).replace(" ]", "]")
    return f"\\begin{{forest}}\n{body}\n\\end{{forest}}"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a node stands: `height` edges above the words, `center` units from the left."""

    node: Tree
    center: int
    height: int
    width: int
    children: tuple[int, ...]


def _place(tree: Tree, size: Callable[[Tree], int]) -> list[_Place]:
    """Place the nodes, in pre-order, so that no two subtrees share a column.

    `size` gives the width that the text of a node needs, space around it included.
    """
    nodes = list(tree.nodes())
    heights, widths, centers, insets = ([0] * len(nodes) for _ in range(4))
    children: list[tuple[int, ...]] = [()] * len(nodes)
    pending: list[int] = []
    for i in range(len(nodes) - 1, -1, -1):
        own = children[i] = tuple(pending.pop() for _ in nodes[i].children)
        pending.append(i)
        needed = size(nodes[i])
        inner = sum(widths[child] for child in own)
        middle = 0
        if own:
            heights[i] = 1 + max(heights[child] for child in own)
            middle = (centers[own[0]] + inner - widths[own[-1]] + centers[own[-1]]) // 2
        insets[i] = max(0, (needed - 1) // 2 - middle)
        centers[i] = middle + insets[i]
        widths[i] = max(insets[i] + inner, centers[i] + needed - (needed - 1) // 2)
    lefts = [0] * len(nodes)
    for i, own in enumerate(children):
        left = lefts[i] + insets[i]
        for child in own:
            lefts[child] = left
            left += widths[child]
    return [
        _Place(node, lefts[i] + centers[i], heights[i], widths[i], children[i])
        for i, node in enumerate(nodes)
    ]


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where everything of a picture stands, in pixels from the upper left corner."""

    placed: list[_Place]
    tagged: bool
    labelled: bool

    @classmethod
    def of(cls, tree: Tree) -> _Layout:
        return cls(_place(tree, _picture_size), *_has_labels(tree))

    @property
    def step(self) -> int:
        """From a node down to one that is as low as it can stand below it."""
        return 46 if self.labelled else 24

    @property
    def leaf_top(self) -> int:
        return 12 + self.placed[0].height * self.step + (0 if self.labelled else 6)

    @property
    def baseline(self) -> int:
        """Of the words."""
        return self.leaf_top + (36 if self.tagged else 18)

    @property
    def width(self) -> int:
        return self.placed[0].width + 16

    @property
    def height(self) -> int:
        return self.baseline + 10

    def top(self, place: _Place) -> int:
        return self.leaf_top - place.height * self.step

    def bar(self, place: _Place) -> int:
        """The line that the branches of a node hang from."""
        return self.top(place) + (21 if self.labelled else 0)

    def ends(self, place: _Place) -> list[tuple[int, int]]:
        """Where the branches of a node end."""
        children = (self.placed[child] for child in place.children)
        return [(child.center + 8, self.top(child)) for child in children]


def _picture_size(node: Tree) -> int:
    """The width of the text of a node in a picture, with space around it."""
    if node.word is None:
        return text_width(_shown(node.label), 12) + 12
    return max(text_width(_word(node), 16), text_width(_shown(node.label), 11)) + 16


def _shade(place: _Place, baseline: int, share: float) -> str:
    """A box behind the text of a node, as strong as its share."""
    text = _shown(place.node.label) if place.node.word is None else _word(place.node)
    width = max(16, text_width(text, 12 if place.node.word is None else 16) + 8)
    return (
        f'<rect class="shade" x="{place.center + 8 - width / 2:g}" y="{baseline - 15}" width="{width}" '
        f'height="20" rx="4" fill-opacity="{max(0.0, share) * 0.75:.3f}"/>'
    )


def _compare(tree: Tree, gold: Tree) -> list[str]:
    """Say of each span of `tree` whether it is in `gold` ("agree"), crosses it ("cross") or neither."""
    if len(tree) != len(gold):
        raise ValueError(f"the tree has {count(len(tree), 'word')} but the gold tree has {len(gold)}")
    in_gold = {(span.start, span.end) for span in gold.spans()}
    # A gold span crosses (start, end) if it begins inside and ends after, or the other way round;
    # of those that begin at one word the longest matters, of those that end at one the longest too.
    farthest, earliest = list(range(len(gold) + 1)), list(range(len(gold) + 1))
    for start, end in in_gold:
        farthest[start] = max(farthest[start], end)
        earliest[end] = min(earliest[end], start)
    kinds = []
    for start, end, _ in tree.spans():
        if (start, end) in in_gold:
            kinds.append("agree")
        elif any(farthest[i] > end or earliest[i] < start for i in range(start + 1, end)):
            kinds.append("cross")
        else:
            kinds.append("extra")
    return kinds


def _branch(x: int, start: int, bar: int, ends: Sequence[tuple[int, int]]) -> str:
    """Path from (x, start) down to a bar, and from the bar, round its ends, down to the children."""
    path = f"M{x} {start}V{bar}" if start != bar else ""
    if len(ends) > 1:
        (left, left_end), (right, right_end) = ends[0], ends[-1]
        corner = 7
        path += f"M{left} {left_end}V{bar + corner}Q{left} {bar} {left + corner} {bar}"
        path += f"H{right - corner}Q{right} {bar} {right} {bar + corner}V{right_end}"
        ends = ends[1:-1]
    return path + "".join(f"M{x} {bar}V{end}" for x, end in ends)


def _upright(tree: Tree, placed: Sequence[_Place]) -> str:
    tagged, labelled = _has_labels(tree)
    step = 2 if labelled else 1
    leaf_top = placed[0].height * step
    rows = [[" "] * placed[0].width for _ in range(leaf_top + 1 + tagged)]

    def write(row: int, center: int, text: str) -> None:
        column = center - (text_columns(text) - 1) // 2
        for char in text:
            wide = text_columns(char)
            if wide:
                rows[row][column : column + wide] = [char] + [""] * (wide - 1)
                column += wide
            else:
                rows[row][column - 1] += char

    for i, place in enumerate(placed):
        center, label = place.center, plain(_shown(place.node.label))
        if place.node.word is not None:
            write(leaf_top + tagged, center, plain(_word(place.node)))
            if tagged:
                write(leaf_top, center, label or "│")
            continue
        top = leaf_top - place.height * step
        if labelled:
            write(top, center, label or ("│" if i else " "))
        bar = top + step - 1
        columns = [placed[child].center for child in place.children]
        rising = bool(i) or bool(label)
        rows[bar][columns[0] : columns[-1] + 1] = "─" * (columns[-1] - columns[0] + 1)
        for child in place.children:
            column, end = placed[child].center, leaf_top - placed[child].height * step
            for row in range(bar + 1, end):
                rows[row][column] = "│"
        for column in {center, *columns}:
            left, right = column > columns[0], column < columns[-1]
            strokes = (left, right, column == center and rising, column in columns)
            rows[bar][column] = _CORNERS[strokes]
    return "\n".join("".join(row[1:]).rstrip() for row in rows)  # every text has a blank on both sides


_CORNERS = {  # strokes to the left, to the right, up, down
    (False, False, False, True): "│",
    (False, False, True, True): "│",
    (False, True, False, True): "┌",
    (False, True, True, True): "├",
    (True, False, False, True): "┐",
    (True, False, True, True): "┤",
    (True, True, False, False): "─",
    (True, True, False, True): "┬",
    (True, True, True, False): "┴",
    (True, True, True, True): "┼",
}


def _sideways(tree: Tree, width: int) -> str:
    deepest = width // 4
    lines: list[str] = []
    stack: list[tuple[Tree, int, str, bool]] = [(tree, 0, "", True)]
    while stack:
        node, depth, prefix, last = stack.pop()
        label = plain(_shown(node.label))
        text = label if node.word is None else f"{label} {plain(_word(node))}".strip()
        if depth > deepest:
            line = f"{depth}⋯ {text}".rstrip()
        else:
            line = prefix + ("└" if last else "├") + (f"╴{text}" if text else "─┐") if depth else text or "┐"
        lines.append(clip(line, width))
        indent = prefix + ("  " if last else "│ ") if 0 < depth < deepest else ""
        rows = [(child, depth + 1, indent, child is node.children[-1]) for child in node.children]
        stack.extend(reversed(rows))
    return "\n".join(lines)


def _has_labels(tree: Tree) -> tuple[bool, bool]:
    """Whether any leaf shows a tag, and whether any other node shows a label."""
    shown = {node.is_leaf for node in tree.nodes() if _shown(node.label)}
    return True in shown, False in shown


def _shown(label: str) -> str:
    return "" if label in _NO_LABEL else label


def _word(node: Tree) -> str:
    return unescape_word(node.word or "")
