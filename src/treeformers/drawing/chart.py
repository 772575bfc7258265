"""Heat maps of matrices over words, and learning curves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from treeformers.drawing.fonts import fonts_for
from treeformers.trees.escapes import unescape_word
from treeformers.trees.svg import Svg, svg_frame, text_width, xml
from treeformers.trees.text import count, shorten

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


def heat_map_svg(
    matrix: ArrayLike, words: Sequence[str], title: str = "", maximum: float | None = None
) -> Svg:
    """Draw a (T, T) matrix, such as a constituent prior or attention: row i shows the weights of word i.

    Args:
        matrix: (T, T), finite and not negative.
        words: the T words.
        title: a caption, drawn above the map and read by screen readers.
        maximum: value of the darkest shade, by default the largest of the matrix; larger values get the same
            shade. Use 1.0 to compare the priors of several layers.

    Raises:
        ValueError: the matrix has another shape, or a value is negative or not finite.
    """
    values, largest = _matrix(matrix, words, maximum)
    cell = 22 if len(words) <= 40 else 14
    font = 13 if cell == 22 else 10
    names = [shorten(unescape_word(word), 18) for word in words]
    margin = max(text_width(name, font) for name in names) + 14
    head = 34 if title else 8
    side = cell * len(words)
    left, top = margin, head + margin

    shades: dict[int, list[str]] = {}
    for row, column in zip(*values.nonzero(), strict=True):
        shade = min(25, math.ceil(25 * float(values[row, column]) / largest))
        shades.setdefault(shade, []).append(f"M{column} {row}h1v1h-1z")
    parts = [f'<text class="title" x="{left}" y="20">{xml(title)}</text>'] if title else []
    for i, name in enumerate(names):
        middle = (i + 0.5) * cell
        text = f'style="font-size:{font}px">{xml(name)}</text>'
        parts.append(f'<text class="end" x="{left - 8}" y="{top + middle + font * 0.35:g}" {text}')
        turn = f'transform="translate({left + middle + font * 0.35:g} {top - 8}) rotate(-90)"'
        parts.append(f"<text {turn} {text}")
    parts.append(f'<rect class="frame" x="{left}" y="{top}" width="{side}" height="{side}"/>')
    parts.append(f'<g transform="translate({left} {top}) scale({cell})">')
    for shade, cells in sorted(shades.items()):
        parts.append(f'<path class="cell" fill-opacity="{shade / 25:g}" d="{"".join(cells)}"/>')
    parts.append("</g>")
    foot = top + side + 14
    parts.extend(
        f'<rect class="key" x="{left + 16 + 8 * i}" y="{foot}" width="8" height="8" fill-opacity="{i / 10}"/>'
        for i in range(1, 11)
    )
    parts.append(f'<text class="small" x="{left}" y="{foot + 8}">0</text>')
    parts.append(f'<text class="small" x="{left + 112}" y="{foot + 8}">{largest:.3g}</text>')
    style = (
        ".figure .title{font-weight:600}.figure .frame{fill:var(--faint);fill-opacity:.5}"
        ".figure path.cell{stroke:none;fill:var(--agree);shape-rendering:crispEdges}"
        ".figure .key{fill:var(--agree)}"
    )
    about = f"Heat map of {len(words)} by {len(words)} words; darkest is {largest:.3g}."
    total = max(left + side + 8, left + 160, left + text_width(title, 14) if title else 0)
    return svg_frame(total, foot + 16, title or "Heat map", about, style, parts)


def heat_map_png(
    matrix: ArrayLike,
    words: Sequence[str],
    path: str | Path,
    title: str = "",
    maximum: float | None = None,
) -> None:
    """Write the picture of `heat_map_svg` to a PNG file.

    This needs matplotlib, which the extra `draw` installs.

    Raises:
        ValueError: as in `heat_map_svg`, or no installed font has a character.
    """
    values, largest = _matrix(matrix, words, maximum)
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

    side = max(3.0, 0.28 * len(words) + 1.2)
    figure = Figure(figsize=(side + 0.6, side), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    colors = LinearSegmentedColormap.from_list("prior", ["#f4f6f8", "#0f766e"])
    image = axes.imshow(values, cmap=colors, vmin=0, vmax=largest)
    # An unescaped dollar sign would start matplotlib's mathematics.
    names = [shorten(unescape_word(word), 18).replace("$", r"\$") for word in words]
    fonts = fonts_for("".join(names))
    axes.set_xticks(range(len(words)), names, rotation=90, family=fonts)
    axes.set_yticks(range(len(words)), names, family=fonts)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title(title.replace("$", r"\$"), loc="left", fontsize=11)
    figure.colorbar(image, shrink=0.6).outline.set_visible(False)
    figure.savefig(path, format="png", metadata={"Software": None})


def reliability_png(bins: Mapping[str, Sequence[tuple[float, float, int]]], path: str | Path) -> None:
    """Write a reliability diagram to a PNG file: the accuracy of predictions by their probability.

    A point on the diagonal is calibrated, and a point below it too certain. The area of a point grows with
    its number of predictions. This needs matplotlib, which the extra `draw` installs.

    Args:
        bins: for each kind of prediction, its bins as (mean probability, accuracy, number of predictions),
            such as those of `treeformers.metrics.calibration.reliability`.
        path: the file.

    Raises:
        ValueError: there are no bins.
    """
    kinds = {kind: rows for kind, rows in bins.items() if rows}
    if not kinds:
        raise ValueError("a reliability diagram needs at least one bin")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2, 4.2), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="#9aa4ae", linewidth=1, linestyle="dashed")
    colors = ("#0f766e", "#b45309", "#4338ca", "#be123c")
    for number, (kind, rows) in enumerate(kinds.items()):
        confidence, accuracy, sizes = zip(*rows, strict=True)
        color, total = colors[number % len(colors)], sum(sizes)
        axes.plot(confidence, accuracy, color=color, linewidth=1.6, label=f"{kind} ({total:,})")
        axes.scatter(
            confidence, accuracy, [12 + 200 * size / total for size in sizes], color=color, alpha=0.5
        )
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="probability", ylabel="accuracy", aspect="equal")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", frameon=False)
    figure.savefig(path, format="png", metadata={"Software": None})


def learning_curve_svg(
    curves: Mapping[str, Iterable[tuple[float, float]]],
    x_label: str = "step",
    y_label: str = "loss",
    title: str = "Learning curve",
) -> Svg:
    """Draw named curves over one pair of axes.

    Args:
        curves: for each name, the points (x, y), sorted by x; points that are not finite are left out.
        x_label: label of the x axis.
        y_label: label of the y axis.
        title: the accessible title.

    Raises:
        ValueError: no curve has a finite point.
    """
    lines = {
        name: [(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y)]
        for name, points in curves.items()
    }
    lines = {name: points for name, points in lines.items() if points}
    if not lines:
        raise ValueError("a learning curve needs at least one finite point")
    x_ticks = axis_ticks(*_range(x for points in lines.values() for x, _ in points))
    y_ticks = axis_ticks(*_range(y for points in lines.values() for _, y in points))
    left, right, top, bottom = 56, 560, 34, 264

    def at_x(x: float) -> float:
        return round(left + (x - x_ticks[0]) / (x_ticks[-1] - x_ticks[0]) * (right - left), 1)

    def at_y(y: float) -> float:
        return round(bottom - (y - y_ticks[0]) / (y_ticks[-1] - y_ticks[0]) * (bottom - top), 1)

    parts = []
    for y in y_ticks:
        parts.append(f'<path class="grid" d="M{left} {at_y(y):g}H{right}"/>')
        parts.append(f'<text class="small end" x="{left - 8}" y="{at_y(y) + 4:g}">{y:g}</text>')
    for x in x_ticks:
        parts.append(f'<text class="small middle" x="{at_x(x):g}" y="{bottom + 18}">{x:g}</text>')
    parts.append(f'<text class="small" x="8" y="16">{xml(y_label)}</text>')
    parts.append(f'<text class="small end" x="{right}" y="{bottom + 38}">{xml(x_label)}</text>')
    below = -math.inf
    names = list(lines)
    for name, points in sorted(lines.items(), key=lambda line: (-line[1][-1][1], line[0])):
        color = f'style="--curve:var(--c{names.index(name) % 5})"'
        x, y = at_x(points[-1][0]), at_y(points[-1][1])
        path = "L".join(f"{at_x(a):g} {at_y(b):g}" for a, b in points)
        below = max(y + 4, below + 16)
        parts.append(f'<path class="curve" {color} d="M{path}"/>')
        parts.append(f'<circle {color} cx="{x:g}" cy="{y:g}" r="3.5"/>')
        parts.append(f'<text class="name" {color} x="{right + 12}" y="{below:g}">{xml(name)}</text>')
    style = (
        ".figure path.grid{stroke:var(--faint);stroke-width:1}"
        ".figure path.curve{stroke:var(--curve);stroke-width:2.2;stroke-linejoin:round}"
        ".figure circle{fill:var(--curve)}.figure .name{fill:var(--curve);font-weight:600}"
    )
    ends = ", ".join(f"{name} ends at {points[-1][1]:.4g}" for name, points in lines.items())
    width = right + 24 + max(text_width(name, 15) for name in lines)
    return svg_frame(
        width, max(bottom + 46, below + 12), title, f"{y_label} by {x_label}: {ends}.", style, parts
    )


def axis_ticks(low: float, high: float, inside: bool = False) -> list[float]:
    """Choose round numbers for an axis.

    Args:
        low: the beginning of the range.
        high: its end.
        inside: no number is outside the range, which gives two to six of them. By default, four to eight
            enclose it.
    """
    largest = max(abs(low), abs(high))
    span = high - low if high - low > 1e-9 * largest else largest or 1.0
    power = 10.0 ** math.floor(math.log10(span / 4))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if span / (power * factor) <= 5)
    if inside:
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    else:
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        last = max(last, first + 1)
    return [float(f"{step * number:.12g}") for number in range(first, last + 1)]


def _matrix(
    matrix: ArrayLike, words: Sequence[str], maximum: float | None
) -> tuple[NDArray[np.float64], float]:
    import numpy as np

    values = np.asarray(matrix, dtype=np.float64)
    if not words or values.shape != (len(words), len(words)):
        raise ValueError(f"expected a square matrix over {count(len(words), 'word')}, got {values.shape}")
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("a heat map needs values that are finite and not negative")
    return values, maximum or float(values.max()) or 1.0


def _range(values: Iterable[float]) -> tuple[float, float]:
    found = list(values)
    return min(found), max(found)
