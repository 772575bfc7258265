"""Make, load and time one parser in this process. `benchmarks/parsers.py` runs it with the parser's own
Python.

    python measure.py make PARSER VARIANT FOLDER --text text.json --encoder FOLDER
    python measure.py first|rates|trees PARSER VARIANT FOLDER --text text.json

PARSER names an adapter, the module `with_PARSER.py` beside this file. An adapter has two functions:

- `make(folder, variant, sentences, encoder)` saves a model with random weights, in the parser's own format.
It
  returns "random", or "published" if it found published weights.
- `load(folder, variant)` loads a model. It returns a function from sentences and a batch size to bracketed
trees.

`make` prints the kind of weights. `first` prints "tree" as soon as it has a tree. `rates` prints a JSON
object with
the sentences a second at each batch size and the peak memory in MB. `trees` prints a tree per line.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import time
from importlib import import_module
from pathlib import Path

WARM_UP = 2
BATCH_SIZES = (1, 16, 64)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("job", choices=("make", "first", "rates", "trees"))
    parser.add_argument("parser")
    parser.add_argument("variant")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--text", type=Path, required=True, help="JSON list of lists of words")
    parser.add_argument("--encoder", type=Path, help="folder of an encoder with random weights")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=4.0, help="time to spend on a batch size")
    arguments = parser.parse_args()

    adapter = import_module(f"with_{arguments.parser}")
    sentences = json.loads(arguments.text.read_text(encoding="utf-8"))
    if arguments.job == "make":
        print(adapter.make(arguments.folder, arguments.variant, sentences, arguments.encoder))
        return
    set_threads(arguments.threads)
    parse = adapter.load(arguments.folder, arguments.variant)
    if arguments.job == "first":
        parse(sentences[:1], 1)
        print("tree", flush=True)
    elif arguments.job == "trees":
        sys.stdout.writelines(f"{tree}\n" for tree in parse(sentences, 64))
    else:
        rates = {size: rate(parse, sentences, size, arguments.seconds) for size in BATCH_SIZES}
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        print(json.dumps({"sentences_per_second": rates, "peak_mb": peak}))


def set_threads(number):
    """OMP_NUM_THREADS does the same for NumPy; PyTorch may overrule the variable."""
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(number)


def rate(parse, sentences, batch_size, seconds):
    """Median sentences a second over runs of the same sentences.

    A trial run tells how many sentences fit the time. A parser that is fast enough gets all of them.
    """
    trial = sentences[: max(4, min(batch_size, 16))]
    parse(trial[:WARM_UP], batch_size)  # warms up
    started = time.perf_counter()
    parse(trial, batch_size)
    fitting = int(seconds / 2 * len(trial) / (time.perf_counter() - started))
    part = sentences[: max(len(trial), fitting)]
    taken = []
    while not taken or sum(taken) + taken[-1] < seconds:
        started = time.perf_counter()
        found = parse(part, batch_size)
        taken.append(time.perf_counter() - started)
        if len(found) != len(part):
            raise ValueError(f"{len(found)} trees for {len(part)} sentences")
    return len(part) / statistics.median(taken)


if __name__ == "__main__":
    main()
