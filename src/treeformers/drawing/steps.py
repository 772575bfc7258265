"""The steps of a parser as a matrix of what it looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from treeformers.trees.escapes import unescape_word
from treeformers.trees.svg import Svg, svg_frame, text_width, xml
from treeformers.trees.text import count

__all__ = ["steps_svg"]

WIDE, HIGH, FONT = 22, 16, 12
"""A cell, and its letters, in pixels."""


def steps_svg(
    words: Sequence[str],
    actions: Sequence[str],
    attention: Iterable[Iterable[float]],
    preferred: Sequence[str] = (),
    errors: Iterable[int] = (),
    title: str = "Attention",
) -> Svg:
    """Draw what a parser looks at, step by step (Ma et al. 2017, Figures 1 and 3).

    A row is a step, with its action at its left, a column a word.

    Args:
        words: the T words, with the end mark that parsers read.
        actions: the S actions taken.
        attention: (S, T), each from 0 to 1.
        preferred: at each step the action that the parser found best; needed where there are errors.
        errors: the steps at which it was another than the one taken; these are marked with it.
        title: above the matrix, where the number of errors stands too.
    """
    wrong = set(errors)
    if wrong:
        title = f"{title}, {count(len(wrong), 'error')}"
    shown = [unescape_word(word) for word in words]
    labels = [f"{number}  {action}" for number, action in enumerate(actions)]
    left = max(text_width(label, FONT) for label in labels) + 16
    top = 34 + max(text_width(word, FONT) for word in shown) + 14
    right, bottom = left + WIDE * len(shown), top + HIGH * len(labels)
    parts = [f'<text class="title" x="8" y="20">{xml(title)}</text>']
    for column, word in enumerate(shown):
        x = left + (column + 0.5) * WIDE + FONT * 0.35
        parts.append(f'<text transform="translate({x:g} {top - 8}) rotate(-90)">{xml(word)}</text>')
    parts.append(f'<rect class="frame" x="{left}" y="{top}" width="{right - left}" height="{bottom - top}"/>')
    for row, shares in enumerate(attention):
        for column, share in enumerate(shares):
            if (shade := f"{share:.2f}") != "0.00":
                place = f'x="{left + WIDE * column}" y="{top + HIGH * row}" width="{WIDE}" height="{HIGH}"'
                parts.append(f'<rect class="cell" {place} fill-opacity="{shade}"/>')
    beyond = 0
    for row, label in enumerate(labels):
        y = top + (row + 0.5) * HIGH
        kind = "end wrong" if row in wrong else "end"
        parts.append(f'<text class="{kind}" x="{left - 8}" y="{y + 4:g}">{xml(label)}</text>')
        if row in wrong:
            instead = f"instead: {preferred[row]}"
            beyond = max(beyond, text_width(instead, FONT) + 8)
            place = f'x="{left}" y="{y - HIGH / 2:g}" width="{right - left}" height="{HIGH}"'
            parts.append(f'<rect class="wrong" {place}/>')
            parts.append(f'<text class="wrong" x="{right + 8}" y="{y + 4:g}">{xml(instead)}</text>')
    style = (
        ".figure .title{font-weight:600}.figure .frame{fill:var(--faint);fill-opacity:.5}"
        f".figure text{{font-size:{FONT}px}}.figure rect.cell{{fill:var(--agree)}}"
        ".figure text.wrong{fill:var(--cross)}"
        ".figure rect.wrong{fill:none;stroke:var(--cross);stroke-width:1.4}"
    )
    about = (
        f"{count(len(labels), 'step')} over {count(len(shown), 'word')} with the end mark; "
        f"{count(len(wrong), 'error')}."
    )
    width = max(right + 8 + beyond, text_width(title, FONT) + 16)
    return svg_frame(width, bottom + 10, title, about, style, parts)
