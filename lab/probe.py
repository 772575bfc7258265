"""Results of probes: what each instrument reads of each system, side by side."""

from __future__ import annotations

import time
from typing import Any

from lab.provenance import origin
from lab.recipes import ProbeRecipe


def collect(recipe: ProbeRecipe) -> dict[str, Any]:
    """Probe the systems of a recipe.

    Returns:
        What is written to the results file: `report` is that of `treeformers.probing.ProbeReport.to_dict`
        without its examples, which may be sentences of a corpus.

    Raises:
        FileNotFoundError: no such system or corpus.
        ValueError: an unknown part of it, or trees over other words.
    """
    from treeformers.probing import find_pairs, find_system, find_treebank, probe

    data = recipe.data
    minimal, agreement = find_pairs(data.pairs, data.max_per_group, 0, data.data_dir or None)
    treebank = find_treebank(data.corpus, data.split, data.data_dir or None) if data.corpus else []
    systems = {name: find_system(source) for name, source in data.systems.items()}
    started = time.perf_counter()
    report = probe(
        systems,
        data.sentences,
        treebank,
        minimal,
        agreement,
        treebank_name=f"{data.corpus} {data.split}" if data.corpus else "",
    ).to_dict()
    del report["examples"]
    return {**origin(recipe), "wall_seconds": time.perf_counter() - started, "report": report}
