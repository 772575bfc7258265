"""Results files to tables beside the paper's figures, plots and heat maps.

The README of an experiment has marked parts, `<!-- results: NAME -->` or `<!-- results: NAME at SCALE -->`
up to `<!-- end -->`, that are written here; NAME is a key of `PARTS`. All figures come from the results
files, those of the paper too: a recipe's `[published]` is part of its results.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from treeformers.drawing import heat_map_svg, learning_curve_svg
from treeformers.reproduction import FROM, LABELS, SHORT, TRIVIAL
from treeformers.trees.formats import atomic_write

__all__ = ["PARTS", "draw_heat_maps", "figures", "render", "rendered"]

Result = Mapping[str, Any]
Results = Mapping[str, Result]  # by the name of the recipe, in the order of the titles

_MARK = re.compile(r"<!-- results: ([\w-]+)(?: at (\w+))? -->\n")
_END = "<!-- end -->"


def render(readme: Path) -> list[Path]:
    """Write the marked parts of a README from the results beside it, and the plots they show.

    Args:
        readme: `experiments/<paper>/README.md`; its results lie in `results/`, its plots in `figures/`.

    Returns:
        The files written.

    Raises:
        ValueError: an unknown part, one without an end, or a damaged results file.
    """
    text = readme.read_text(encoding="utf-8")
    files = {readme: rendered(text, readme.parent / "results")}
    for name, svg in figures(text, readme.parent / "results").items():
        files[readme.parent / "figures" / name] = svg
    for path, content in files.items():
        path.parent.mkdir(exist_ok=True)
        with atomic_write(path) as file:
            file.write(content)
    return list(files)


def rendered(text: str, results: Path) -> str:
    """The text of a README with its marked parts filled in; see `render`."""
    pieces, done = [], 0
    for name, scale, start, end in _marked(text, results):
        rows = _load(results, scale)
        part = PARTS[name](rows) if rows else ""
        missing = f"No results yet: `treeformers reproduce {results.parent.name} --scale {scale}`."
        pieces += [text[done:start], "\n", part or missing, "\n\n"]
        done = end
    return "".join([*pieces, text[done:]])


def figures(text: str, results: Path) -> dict[str, str]:
    """The plots that the marked parts of a README show: file name to SVG."""
    plots = {}
    for name, scale, _, _ in _marked(text, results):
        if name == "figure4":
            for row, result in _tagged(_load(results, scale), "figure4").items():
                plots[_figure4_file(row, result)] = _figure4_plot(result)
    return plots


def draw_heat_maps(model: str | Path, sentence: str | Sequence[str], out: str | Path) -> list[Path]:
    """Draw the priors (Wang et al. 2019, Figure 5) and the attention (Figure 6) of three layers.

    Args:
        model: folder of a trained inducer.
        sentence: what it reads.
        out: folder for the pictures `prior-layer-K.svg` and `attention-layer-K.svg` of the lowest, the middle
            and the top layer, counted from 0.

    Returns:
        The files written.

    Raises:
        FileNotFoundError: no such model.
        ValueError: a sentence without words, or a model without a prior.
    """
    from treeformers.inducer import Inducer

    look = Inducer.from_pretrained(model).look(sentence)
    top = len(look.links) - 1
    written = []
    Path(out).mkdir(parents=True, exist_ok=True)
    for layer in sorted({0, top // 2, top}):
        for kind, matrix, maximum in (
            ("prior", look.priors[layer], 1.0),
            ("attention", look.attentions[layer], None),
        ):
            path = Path(out) / f"{kind}-layer-{layer}.svg"
            with atomic_write(path) as file:
                file.write(heat_map_svg(matrix, look.words, f"{kind.capitalize()}, layer {layer}", maximum))
            written.append(path)
    return written


def table1(results: Results) -> str:
    """F1 of all sentences, with trivial trees below."""
    head = ("spans a sentence", "flat trees, %", f"F1 from {FROM} words")
    names = ("spans_per_sentence", "flat_share", f"sentence_f1_from_{FROM}")
    return _f1_table(_tagged(results, "1"), "sentence_f1", dict(zip(head, names, strict=True)))


def table2(results: Results) -> str:
    """F1 of the sentences of at most ten words."""
    return _f1_table(_tagged(results, "2"), f"sentence_f1_{SHORT}", {})


def table3(results: Results) -> str:
    """Recall by label."""
    rows: list[Sequence[Any]] = []
    for result in _tagged(results, "3").values():
        gold, title = result["data"]["gold"], result["recipe"]["title"]
        published = result["recipe"]["published"]
        paper = [published.get(f"recall_{label}") for label in LABELS]
        if any(paper):
            rows.append((f"{title}: the paper", None, *paper))
        recalls = {
            f"mean of {_count(result)}": _mean_of(result, "recall_by_label"),
            "averaged trees": result.get("averaged", {}).get("recall_by_label"),
            "right-branching": result["baselines"]["right"]["recall_by_label"],
        }
        for name, recall in recalls.items():
            if recall:
                rows.append((f"{title}: {name}", gold, *(recall.get(label) for label in LABELS)))
    return _table(("", "scored on", *LABELS), rows)


def table4(results: Results) -> str:
    """Pseudo-perplexity, beside the plain Transformer of the same size."""
    rows = _tagged(results, "4").values()
    plain = {_size(row): _mean(row, "pseudo_perplexity") for row in rows if _is_plain(row)}
    cells = []
    for row in rows:
        published = row["recipe"]["published"]
        perplexity, other = _mean(row, "pseudo_perplexity"), plain.get(_size(row))
        change = None
        if perplexity and other and not _is_plain(row):
            change = f"{100 * (perplexity / other - 1):+.1f} %"
        cells.append(
            (
                row["recipe"]["title"],
                _millions(published.get("parameters")),
                published.get("pseudo_perplexity"),
                *map(str, _size(row)),
                _millions(row["seeds"][0]["parameters"]),
                str(len(row["seeds"])),
                perplexity,
                change,
            )
        )
    head = ("", "parameters, paper", "perplexity, paper", "layers", "width", "parameters", "seeds")
    return _table((*head, "perplexity", "against the plain one"), cells)


def switches(results: Results) -> str:
    """What the paper leaves open, one change a row; the reference first."""
    rows = _tagged(results, "switches").values()
    cells = [
        (
            row["recipe"]["title"],
            _mean(row, "sentence_f1"),
            _mean_of(row, "by_readout")["layers"],
            _mean(row, "spans_per_sentence"),
            _mean(row, "flat_share"),
            _mean(row, "algorithm1_flat_share"),
            _mean(row, "pseudo_perplexity"),
        )
        for row in sorted(rows, key=lambda row: row["recipe"]["tables"] == ["switches"])
    ]
    head = ("", "F1", "F1, Algorithm 1", "spans a sentence", "flat trees, %", "flat by Algorithm 1, %")
    return _table((*head, "perplexity"), cells)


def readouts(results: Results) -> str:
    """F1 of the same links read in other ways."""
    cells = []
    ways: dict[str, float] = {}
    for row in _tagged(results, "1").values():
        ways = _mean_of(row, "by_readout")
        layers = _mean_by_layer(row, "by_layer")
        best = max(range(len(layers)), key=layers.__getitem__)
        single = f"{layers[best]:.1f} (layer {best} of 0 to {len(layers) - 1})"
        cells.append(
            (
                row["recipe"]["title"],
                row["data"]["gold"],
                *ways.values(),
                layers[-1],
                single,
            )
        )
    names = [re.sub("^layers", "Algorithm 1", name) for name in ways]
    return _table(("", "scored on", *names, "top layer, greedy", "best layer, greedy"), cells)


def figure4(results: Results) -> str:
    """F1 by minimum layer and by single layer, as a plot and as a table."""
    parts = []
    for name, row in _tagged(results, "figure4").items():
        title, published = row["recipe"]["title"], row["recipe"]["published"]
        columns = [_mean_by_layer(row, key) for key in ("by_min_layer", "by_layer", "mean_link_by_layer")]
        cells = [
            (str(layer), low, alone, f"{link:.3f}")
            for layer, (low, alone, link) in enumerate(zip(*columns, strict=True))
        ]
        head = ("layer, from 0", "(a) Algorithm 1 down to it", "(b) it alone, greedy", "mean link")
        parts.append(f"![F1 by layer: {title}](figures/{_figure4_file(name, row)})")
        parts.append(_table(head, cells))
        if "best_layer_f1" in published:
            parts.append(
                f"{title}, mean of {_count(row)}. In the paper the best minimum layer is "
                f"{published['best_min_layer']:.0f}, and the best single layer {published['best_layer']:.0f} "
                f"with an F1 of {published['best_layer_f1']}."
            )
    return "\n\n".join(parts)


def provenance(results: Results) -> str:
    """Where every results file comes from."""
    cells = [
        (
            f"`{name}`",
            ", ".join(str(seed["seed"]) for seed in row["seeds"]),
            str(row["seeds"][0]["steps"]),
            f"{fmean(seed['wall_seconds'] for seed in row['seeds']) / 60:.1f}",
            f"{row['environment']['device']}, {row['environment']['threads']} of "
            f"{row['environment']['cores']} cores",
            row["environment"]["torch"],
            f"`{row['commit']}`",
            row["date"],
        )
        for name, row in results.items()
    ]
    head = ("recipe", "seeds", "steps", "minutes a seed", "device", "torch", "commit", "date")
    signatures = {seed.get("signature") for row in results.values() for seed in row["seeds"]}
    lines = [f"Signature of the F1: `{signature}`" for signature in sorted(filter(None, signatures))]
    return "\n\n".join([_table(head, cells), *lines])


PARTS: Mapping[str, Callable[[Results], str]] = {
    part.__name__: part for part in (table1, table2, table3, table4, switches, readouts, figure4, provenance)
}


def _f1_table(results: Results, metric: str, more: Mapping[str, str]) -> str:
    """Rows beside the paper's median and maximum, then the trivial trees of every treebank.

    Args:
        results: the rows.
        metric: the F1 to show.
        more: further columns, head to metric.
    """
    cells: list[Sequence[Any]] = []
    trivial: dict[tuple[str, str], Sequence[Any]] = {}
    for row in results.values():
        published, gold = row["recipe"]["published"], row["data"]["gold"]
        ours = row["summary"].get(metric, {})
        cells.append(
            (
                row["recipe"]["title"],
                gold,
                *(published.get(f"{metric}_{figure}") for figure in ("median", "max")),
                *(ours.get(figure) for figure in ("mean", "max", "sd")),
                str(len(row["seeds"])),
                row.get("averaged", {}).get(metric),
                row.get("averaged_layers", {}).get(metric),
                *(_mean(row, name) for name in more.values()),
            )
        )
        for kind in (*TRIVIAL, "best binary"):
            score = row["baselines"][kind]
            paper = [published.get(f"{kind}_{metric}_{figure}") for figure in ("median", "max")]
            if (gold, kind) not in trivial or any(paper):
                label = kind if kind in ("random", "balanced", "best binary") else f"{kind}-branching"
                others = [score.get(name) for name in more.values()]
                trivial[gold, kind] = (label, gold, *paper, score[metric], *[None] * 5, *others)
    head = ("", "scored on", "median, paper", "maximum, paper", "mean", "maximum", "sd", "seeds")
    below = sorted(trivial, key=lambda key: key[0])  # by treebank; stable, so in the order of the kinds
    return _table(
        (*head, "averaged trees", "of all layers", *more), [*cells, *(trivial[key] for key in below)]
    )


def _figure4_file(name: str, result: Result) -> str:
    return f"figure4-{name}.{result['scale']}.svg"


def _figure4_plot(result: Result) -> str:
    curves = {
        "Algorithm 1 down to it": list(enumerate(_mean_by_layer(result, "by_min_layer"))),
        "it alone, greedy": list(enumerate(_mean_by_layer(result, "by_layer"))),
    }
    ends = (0, max(1, len(curves["it alone, greedy"]) - 1))
    right = result["baselines"]["right"]["sentence_f1"]
    curves["right-branching"] = [(end, right) for end in ends]
    title = f"F1 by layer, {result['recipe']['title']}"
    return learning_curve_svg(curves, "layer, from 0", "sentence F1", title)


def _marked(text: str, results: Path) -> Iterator[tuple[str, str, int, int]]:
    """Name and scale of every marked part, and where its content starts and ends."""
    for mark in _MARK.finditer(text):
        where = f"{results.parent / 'README.md'}:{text.count(chr(10), 0, mark.start()) + 1}"
        name, end = mark[1], text.find(_END, mark.end())
        if name not in PARTS:
            near = difflib.get_close_matches(name, PARTS, n=1, cutoff=0.0)[0]
            raise ValueError(f"{where}: unknown part {name!r}, the nearest is {near!r}")
        if end < 0 or _MARK.search(text, mark.end(), end):
            raise ValueError(f"{where}: the part {name!r} has no {_END}")
        yield name, mark[2] or "small", mark.end(), end


def _load(results: Path, scale: str) -> Results:
    rows = {}
    for path in results.glob(f"*.{scale}.json"):
        try:
            rows[path.name.removesuffix(f".{scale}.json")] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path}: not a results file: {error}") from None
    return dict(sorted(rows.items(), key=lambda item: (_natural(item[1]["recipe"]["title"]), item[0])))


def _natural(title: str) -> list[tuple[int, str]]:
    """A key that sorts L=8 before L=10."""
    return [(int(number or 0), word) for number, word in re.findall(r"(\d+)|(\D+)", title)]


def _tagged(results: Results, table: str) -> Results:
    return {name: row for name, row in results.items() if table in row["recipe"]["tables"]}


def _mean(result: Result, name: str) -> float | None:
    mean: float | None = result["summary"].get(name, {}).get("mean")
    return mean


def _mean_of(result: Result, name: str) -> dict[str, float]:
    seeds = [seed[name] for seed in result["seeds"]]
    return {key: fmean(seed[key] for seed in seeds) for key in seeds[0]}


def _mean_by_layer(result: Result, name: str) -> list[float]:
    return [fmean(layer) for layer in zip(*(seed[name] for seed in result["seeds"]), strict=True)]


def _is_plain(result: Result) -> bool:
    return bool(result["recipe"]["model"].get("prior") == "none")


def _size(result: Result) -> tuple[int, int]:
    model = result["recipe"]["model"]
    return model["num_hidden_layers"], model["hidden_size"]


def _millions(parameters: float | None) -> str | None:
    return f"{parameters / 1e6:.3g}M" if parameters else None


def _count(result: Result) -> str:
    seeds = len(result["seeds"])
    return "1 seed" if seeds == 1 else f"{seeds} seeds"


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table: numbers with one decimal place, nothing for None."""

    def line(cells: Iterable[Any]) -> str:
        texts = ("" if cell is None else cell if isinstance(cell, str) else f"{cell:.1f}" for cell in cells)
        return f"| {' | '.join(texts)} |"

    body = [line(row) for row in rows]
    return "\n".join([line(head), "|---|" + "---:|" * (len(head) - 1), *body]) if body else ""
