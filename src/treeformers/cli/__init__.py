"""The command line: thin calls into the library, which is imported once a command runs."""

from __future__ import annotations

import typer

from treeformers.cli.console import Commands, log_to_stderr
from treeformers.cli.corpora import get_corpus, list_corpora, make_corpus
from treeformers.cli.inducing import evaluate, parse
from treeformers.cli.training import demo, env, reproduce, train
from treeformers.cli.trees import draw, score

__all__ = ["app"]

app = typer.Typer(
    cls=Commands,
    name="treeformers",
    help="Trees that tell attention where to look: induced from raw text, scored and drawn.",
    epilog="Example: treeformers demo",
    callback=log_to_stderr,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
data = typer.Typer(
    help="Corpora: what there is, how to get it, sentences of the embedded grammar.", rich_markup_mode=None
)

app.command(epilog="Example: treeformers demo --out runs/demo")(demo)
app.command(
    epilog="Example: treeformers train recipe.toml data.text=news.txt train.epochs=3 --out runs/news"
)(train)
app.command(epilog="Example: treeformers parse runs/news < sentences.txt > trees.txt")(parse)
app.command(epilog="Example: treeformers evaluate runs/news --data wsj-sample --split test")(evaluate)
app.command(epilog="Example: treeformers score gold.txt trees.txt --unlabeled")(score)
app.command(
    epilog="Example: treeformers parse runs/news < sentences.txt | treeformers draw --out trees.html"
)(draw)
app.add_typer(data, name="data")
app.command(epilog="Example: treeformers reproduce wang2019/tree-l10-wsj-all --scale small")(reproduce)
app.command(epilog="Example: treeformers env")(env)

data.command("list", epilog="Example: treeformers data list")(list_corpora)
data.command("get", epilog="Example: treeformers data get ewt --out corpora")(get_corpus)
data.command("make", epilog="Example: treeformers data make agreement --out corpora/agreement")(make_corpus)
