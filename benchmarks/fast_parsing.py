"""How much faster a parser with a pretrained encoder is with the kernels for inference than without them.

    python benchmarks/fast_parsing.py MODEL --data wsj-sample --out results.json

Both ways parse the same sentences in one process, in turn, so that other work on the machine hits both alike.
The best of several runs counts. Rates are given by wall clock and by processor time; ratios are of the
latter. The trees of both ways are compared.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from provenance import report

from treeformers.metrics import parseval
from treeformers.models.parser import TreeParser
from treeformers.recipes import Treebanks
from treeformers.tasks.parse.predictor import Parser
from treeformers.tasks.parse.train import read_treebank
from treeformers.training.model_folder import load_weights
from treeformers.trees.tree import Tree

BATCH_SIZES = 1, 64
START = 3
"""Number of starts of the command, of which the fastest counts."""


def main() -> None:
    arguments = _arguments()
    torch.set_num_threads(arguments.threads)
    gold = read_treebank(arguments.data, "test", Treebanks())[: arguments.sentences]
    sentences = [tree.words for tree in gold]
    fast = Parser.from_pretrained(arguments.model)
    plain = Parser([load_weights(TreeParser, arguments.model)], fast.readers)
    ways = {"plain": plain, "fast": fast}
    trees: dict[str, list[Tree]] = {}
    rates: dict[str, dict[str, dict[str, float]]] = {}
    for beam in arguments.beams:
        for size in BATCH_SIZES:
            some = sentences[::8] if size == 1 else sentences
            best: dict[str, dict[str, float]] = {}
            for _ in range(arguments.repeats):
                for name, parser in ways.items():
                    trees[name], found = _rates(parser, some, size, beam)
                    old = best.get(name, found)
                    best[name] = {clock: max(rate, old[clock]) for clock, rate in found.items()}
            best["ratio"] = {clock: best["fast"][clock] / best["plain"][clock] for clock in best["fast"]}
            rates[f"beam {beam}, batches of {size}"] = best
    report(
        {
            "sentences": len(sentences),
            "words_per_sentence": sum(map(len, sentences)) / len(sentences),
            "threads": arguments.threads,
            "sentences_per_second": rates,
            "equal_trees": sum(a == b for a, b in zip(*trees.values(), strict=True)),
            "f1": {name: parseval(found, gold).f1 for name, found in trees.items()},
            "seconds_to_first_tree": min(_start(arguments.model) for _ in range(START)),
        },
        arguments.out,
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path, help="model folder")
    parser.add_argument("--data", default="wsj-sample", help="treebank whose test part is parsed")
    parser.add_argument("--beams", type=int, nargs="+", default=[1])
    parser.add_argument("--sentences", type=int, default=256, help="number of sentences, the first ones")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    return parser.parse_args()


def _rates(
    parser: Parser, sentences: Sequence[Sequence[str]], size: int, beam: int
) -> tuple[list[Tree], dict[str, float]]:
    """The trees, and the sentences per second by wall clock and by processor time."""
    wall, processor = time.perf_counter(), time.process_time()
    if size == 1:
        trees = [parser.parse([words], 1, beam)[0] for words in sentences]
    else:
        trees = parser.parse(sentences, size, beam)
    return trees, {
        "wall": len(sentences) / (time.perf_counter() - wall),
        "processor": len(sentences) / (time.process_time() - processor),
    }


def _start(model: Path) -> float:
    """Seconds from the command to its end, for one sentence."""
    command: Sequence[str] = [sys.executable, "-m", "treeformers.cli", "parse", str(model)]
    started = time.perf_counter()
    subprocess.run(command, input="The old man the boats.\n", check=True, capture_output=True, text=True)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
