"""How fast parsers parse, greedy and with a beam, batched and one by one, and in how much memory.

    python benchmarks/parsing.py DETERMINISTIC PROBABILISTIC --data wsj-sample --out results.json

The two model folders hold parsers of the same sizes. All ways are timed in turn, several times, so that other
work on the machine hits all alike.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from provenance import report

from treeformers.recipes import Treebanks
from treeformers.tasks.parse.predictor import Parser
from treeformers.tasks.parse.train import read_treebank

LONG = 500
BEAM = 10


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("deterministic", type=Path, help="model folder")
    parser.add_argument("probabilistic", type=Path, nargs="?", help="model folder")
    parser.add_argument("--data", default="wsj-sample", help="treebank whose test part is parsed")
    parser.add_argument("--one-by-one", type=int, default=40, help="sentences timed one at a time")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    parser.add_argument("--memory-of", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory_of:
        _report_memory(arguments.deterministic, arguments.memory_of)
        return

    sentences = [tree.words for tree in read_treebank(arguments.data, "test", Treebanks())]
    some = sentences[:: max(1, len(sentences) // arguments.one_by_one)]
    models = {"deterministic": arguments.deterministic, "probabilistic": arguments.probabilistic}
    rates: dict[str, list[float]] = {}
    parsers = {name: Parser.from_pretrained(folder) for name, folder in models.items() if folder}
    for loaded in parsers.values():
        loaded.parse(sentences[:8])
    for _ in range(arguments.repeats):
        for name, loaded in parsers.items():
            for beam in (1, BEAM):
                rate = _rate(loaded, sentences, arguments.batch_size, beam)
                rates.setdefault(f"{name}, beam {beam}", []).append(rate)
                rate = _rate(loaded, some, 1, beam)
                rates.setdefault(f"{name}, beam {beam}, one by one", []).append(rate)
    figures = {
        "sentences": len(sentences),
        "words": sum(map(len, sentences)),
        "batch_size": arguments.batch_size,
        "sentences_per_second": {way: statistics.median(values) for way, values in rates.items()},
        "batched_over_one_by_one": {
            way: statistics.median(
                many / one for many, one in zip(values, rates[f"{way}, one by one"], strict=True)
            )
            for way, values in rates.items()
            if not way.endswith("one by one")
        },
        f"megabytes_at_{LONG}_words": {
            "model loaded": _memory(arguments.deterministic, 1),
            f"beam {BEAM}": _memory(arguments.deterministic, LONG),
        },
    }
    if arguments.probabilistic:
        figures["deterministic_over_probabilistic"] = {
            f"beam {beam}": statistics.median(
                one / other
                for one, other in zip(
                    rates[f"deterministic, beam {beam}"], rates[f"probabilistic, beam {beam}"], strict=True
                )
            )
            for beam in (1, BEAM)
        }
    report(figures, arguments.out)


def _rate(parser: Parser, sentences: Sequence[Sequence[str]], batch_size: int, beam: int) -> float:
    """Sentences a second."""
    started = time.perf_counter()
    if batch_size == 1:
        for words in sentences:
            parser.parse([words], beam=beam)
    else:
        parser.parse(sentences, batch_size, beam)
    return len(sentences) / (time.perf_counter() - started)


def _memory(folder: Path, words: int) -> float:
    """Peak memory of a process of its own that parses one sentence."""
    command = [sys.executable, __file__, str(folder), "--memory-of", str(words)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _report_memory(folder: Path, words: int) -> None:
    Parser.from_pretrained(folder).parse([["word"] * words], beam=BEAM)
    sys.stdout.write(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}")


if __name__ == "__main__":
    main()
