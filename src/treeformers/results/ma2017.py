"""The tables and figures of Ma et al. 2017 beside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from treeformers.drawing import learning_curve_svg
from treeformers.drawing.svg import count, svg_frame, text_width, xml
from treeformers.results.tables import (
    Result,
    Results,
    markdown_table,
    mean,
    mean_by_key,
    millions,
    provenance,
    tagged,
)
from treeformers.trees.formats import atomic_write
from treeformers.trees.tree import Tree, unescape_word

if TYPE_CHECKING:
    from treeformers.reproduction.inspection import Steps

INTERVAL = "95 % interval, test"


class _Row(NamedTuple):
    """One model or one ensemble: means over the seeds, or the figures of all of them together."""

    title: str
    models: int
    figures: Mapping[str, float]
    sd: float | None
    by_length: Mapping[str, float]
    by_treebank: Mapping[str, float]
    published: Mapping[str, float]


def table4(results: Results) -> str:
    """Labelled F1 beside the paper's: single models first, then ensembles."""
    cells = [
        (
            row.title,
            *(_exact(row.published.get(name)) for name in ("f1_validation", "f1_test")),
            str(row.models),
            row.figures["f1_validation"],
            _with_sd(row.figures["f1_test"], row.sd),
            _interval(row.figures),
            *(row.figures[name] for name in ("f1_both", "greedy_f1_test")),
        )
        for row in _rows(tagged(results, "4"))
    ]
    head = ("", "validation, paper", "test, paper", "models", "validation", "test", INTERVAL)
    return markdown_table((*head, "validation and test", "test, greedy"), cells)


def modern(results: Results) -> str:
    """What ten years have improved: size, F1, whole sentences, tags and speed."""
    parameters = {
        name: result["seeds"][0]["parameters"] for name, result in tagged(results, "modern").items()
    }
    cells = []
    for name, result in tagged(results, "modern").items():
        for row in _rows({name: result}):
            cells.append(
                (
                    row.title,
                    millions(parameters[name]),
                    str(row.models),
                    row.figures["f1_validation"],
                    _with_sd(row.figures["f1_test"], row.sd),
                    _interval(row.figures),
                    row.figures["exact_test"],
                    row.figures.get("predicted_tags_accuracy_test"),
                    f"{row.figures['sentences_per_second']:.0f}",
                )
            )
    head = ("", "parameters of a model", "models", "validation", "test", INTERVAL)
    return markdown_table((*head, "whole sentences, %", "right tags, %", "sentences a second"), cells)


def treebanks(results: Results) -> str:
    """F1 on the test part of every treebank."""
    rows = list(_rows(tagged(results, "treebanks")))
    names = list(dict.fromkeys(name for row in rows for name in row.by_treebank))
    cells = [(row.title, str(row.models), *(row.by_treebank.get(name) for name in names)) for row in rows]
    return markdown_table(("", "models", *names), cells)


def lengths(results: Results) -> str:
    """F1 by length of sentence, as a plot and as a table."""
    shown = tagged(results, "lengths")
    parts = [f"![F1 by length of sentence](figures/{name})" for name in lengths_plot(results)]
    head: dict[str, str] = {}
    for result in shown.values():
        head |= {
            name: f"{name} words ({within['sentences']})"
            for name, within in result["data"]["lengths"].items()
        }
    cells = [
        (row.title, str(row.models), *(row.by_length.get(name) for name in head)) for row in _rows(shown)
    ]
    return "\n\n".join([*parts, markdown_table(("", "models", *head.values()), cells)])


def lengths_plot(results: Results) -> dict[str, str]:
    """The plot of `lengths`: file name to SVG. A point stands at the mean length of its sentences."""
    curves = {}
    scale = ""
    for result in tagged(results, "lengths").values():
        scale = result["scale"]
        at = {name: within["mean"] for name, within in result["data"]["lengths"].items()}
        row = next(_rows({"": result}))  # the single model where there is one
        curves[row.title] = [(at[name], f1) for name, f1 in row.by_length.items()]
    if not curves:
        return {}
    return {
        f"lengths.{scale}.svg": learning_curve_svg(curves, "words", "F1", "F1 by length of sentence"),
    }


def attention(results: Results) -> str:
    """How often probabilistic attention lies on a single word."""
    cells = [
        (
            result["recipe"]["title"],
            str(len(result["seeds"])),
            _exact(result["recipe"]["published"].get("one_word_sentences")),
            mean(result, "one_word_sentences"),
            mean(result, "one_word_steps"),
        )
        for result in results.values()
        if mean(result, "one_word_steps") is not None
    ]
    head = ("", "models", "sentences, paper, %", "sentences with more than 80 % of such steps, %")
    return markdown_table((*head, "steps with more than 90 % on one word, %"), cells)


def table5(results: Results) -> str:
    """Whether near words are of one part of speech, and the words near to some, of the first seed."""
    shown = {
        name: result
        for name, result in tagged(results, "5").items()
        if mean(result, "same_tag_chance") is not None
    }
    figures = [
        (
            result["recipe"]["title"],
            str(len(result["seeds"])),
            str(result["seeds"][0]["compared_words"]),
            *(mean(result, f"same_tag_{name}") for name in ("euclidean", "cosine", "chance")),
        )
        for result in shown.values()
    ]
    near = {
        (query, result["recipe"]["title"], distance): " ".join(map(_code, words))
        for result in shown.values()
        for distance, rows in result["seeds"][0]["neighbours"].items()
        for query, words in rows.items()
    }
    queries = list(dict.fromkeys(query for query, _, _ in near))
    cells = [
        (_code(key[0]), *key[1:], near[key]) for key in sorted(near, key=lambda key: queries.index(key[0]))
    ]
    head = ("", "models", "words", "same tag, Euclidean, %", "same tag, cosine, %", "by chance, %")
    tables = markdown_table(head, figures), markdown_table(("word", "model", "distance", "nearest"), cells)
    return "\n\n".join(filter(None, tables))


def malformed(results: Results) -> str:
    """What top-down brackets are when the model is left alone."""
    cells = [
        (
            row.title,
            str(row.models),
            *(row.figures[name] for name in ("malformed", "repaired_f1_test", "f1_test")),
        )
        for row in _rows(results)
        if "malformed" in row.figures
    ]
    head = ("", "models", "malformed, % of the sentences", "test, repaired", "test, legal moves only")
    return markdown_table(head, cells)


PARTS: Mapping[str, Callable[[Results], str]] = {
    part.__name__: part
    for part in (table4, modern, treebanks, lengths, attention, table5, malformed, provenance)
}
FIGURES: Mapping[str, Callable[[Results], Mapping[str, str]]] = {"lengths": lengths_plot}


def draw_attention(model: str | Path, sentence: Tree | str | Sequence[str], out: str | Path) -> Path:
    """Draw what a parser looks at, step by step (Figures 1 and 3 of the paper).

    A row is a step, a column a word. Cells are the probabilities of probabilistic attention, or the positions
    D_i of deterministic attention. With a gold tree the parser takes its actions (teacher forcing), and the
    steps at which it preferred another one are marked with that one.

    Args:
        model: folder of a trained parser.
        sentence: a gold tree; or a string or a list of words, over which the parser takes its own actions.
        out: the SVG file.

    Returns:
        The file written.

    Raises:
        FileNotFoundError: no such model.
        ValueError: a sentence without words, or a tree with an action that the model does not have.
    """
    from treeformers.parsing import Parser
    from treeformers.reproduction.inspection import follow

    parser = Parser.from_pretrained(model)
    steps = follow(parser, sentence)
    kind = parser.models[0].config.attention.capitalize()
    title = f"{kind} attention" + (f", {count(len(steps.errors), 'error')}" if steps.errors else "")
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(Path(out)) as file:
        file.write(_steps_svg(steps, title))
    return Path(out)


def _rows(results: Results) -> Iterator[_Row]:
    """The single models, then the ensembles."""
    for result in results.values():
        if "f1_test" in result["summary"]:
            yield _Row(
                result["recipe"]["title"],
                len(result["seeds"]),
                {name: figures["mean"] for name, figures in result["summary"].items()},
                result["summary"]["f1_test"]["sd"] if len(result["seeds"]) > 1 else None,
                mean_by_key(result, "f1_by_length"),
                {
                    name: fmean(seed["by_treebank"][name]["f1_test"] for seed in result["seeds"])
                    for name in result["data"]["test"]
                },
                result["recipe"]["published"],
            )
    for result in results.values():
        if ensemble := result.get("ensemble"):
            yield _ensemble_row(result, ensemble)


def _ensemble_row(result: Result, ensemble: Mapping[str, Any]) -> _Row:
    published = result["recipe"]["published"]
    return _Row(
        f"{result['recipe']['title']}, ensemble",
        ensemble["models"],
        ensemble,
        None,
        ensemble["f1_by_length"],
        {name: figures["f1_test"] for name, figures in ensemble["by_treebank"].items()},
        {name: published.get(f"{name}_ensemble") for name in ("f1_validation", "f1_test")},
    )


def _with_sd(value: float, sd: float | None) -> str:
    return f"{value:.1f}" if sd is None else f"{value:.1f} ± {sd:.1f}"


def _interval(figures: Mapping[str, float]) -> str:
    return f"{figures['f1_test_low']:.1f} to {figures['f1_test_high']:.1f}"


def _exact(value: float | None) -> str | None:
    """As the paper prints it."""
    return None if value is None else f"{value:.2f}"


def _code(word: str) -> str:
    return f"`{word.replace('|', chr(92) + '|')}`"


def _steps_svg(steps: Steps, title: str) -> str:
    """The matrix of the steps, actions at its left, words above it, errors marked at both sides."""
    wide, high, font = 22, 16, 12
    words = [unescape_word(word) for word in steps.words]
    labels = [f"{number}  {action}" for number, action in enumerate(steps.actions)]
    left = max(text_width(label, font) for label in labels) + 16
    top = 34 + max(text_width(word, font) for word in words) + 14
    right, bottom = left + wide * len(words), top + high * len(labels)
    parts = [f'<text class="title" x="8" y="20">{xml(title)}</text>']
    for column, word in enumerate(words):
        x = left + (column + 0.5) * wide + font * 0.35
        parts.append(f'<text transform="translate({x:g} {top - 8}) rotate(-90)">{xml(word)}</text>')
    parts.append(f'<rect class="frame" x="{left}" y="{top}" width="{right - left}" height="{bottom - top}"/>')
    for row, column in zip(*steps.attention.nonzero(), strict=True):
        shade = f"{steps.attention[row, column]:.2f}"
        if shade != "0.00":
            place = f'x="{left + wide * column}" y="{top + high * row}" width="{wide}" height="{high}"'
            parts.append(f'<rect class="cell" {place} fill-opacity="{shade}"/>')
    errors, beyond = set(steps.errors), 0
    for row, label in enumerate(labels):
        y = top + (row + 0.5) * high
        kind = "end wrong" if row in errors else "end"
        parts.append(f'<text class="{kind}" x="{left - 8}" y="{y + 4:g}">{xml(label)}</text>')
        if row in errors:
            preferred = f"instead: {steps.preferred[row]}"
            beyond = max(beyond, text_width(preferred, font) + 8)
            place = f'x="{left}" y="{y - high / 2:g}" width="{right - left}" height="{high}"'
            parts.append(f'<rect class="wrong" {place}/>')
            parts.append(f'<text class="wrong" x="{right + 8}" y="{y + 4:g}">{xml(preferred)}</text>')
    style = (
        ".figure .title{font-weight:600}.figure .frame{fill:var(--faint);fill-opacity:.5}"
        f".figure text{{font-size:{font}px}}.figure rect.cell{{fill:var(--agree)}}"
        ".figure text.wrong{fill:var(--cross)}"
        ".figure rect.wrong{fill:none;stroke:var(--cross);stroke-width:1.4}"
    )
    about = (
        f"{count(len(labels), 'step')} over {count(len(words), 'word')} with the end mark; "
        f"{count(len(errors), 'error')}."
    )
    width = max(right + 8 + beyond, text_width(title, font) + 16)
    return svg_frame(width, bottom + 10, title, about, style, parts)
