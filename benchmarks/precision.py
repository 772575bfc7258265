"""Training in float32 beside training in bfloat16 on this processor, in one interleaved run.

    python benchmarks/precision.py --out benchmarks/results/precision.json

Single products of matrices (rows x inner x columns), and steps, forward and backward, of encoders at the
sizes of the recipes for small machines. A ratio above 1 says that bfloat16 is faster; `computes_bf16` is what
training goes by.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable
from pathlib import Path

import torch
from figures import report
from torch import Tensor, nn
from traversal import clock, plan_of

from treeformers.induction import trivial_tree
from treeformers.models.recurrent import RecurrentConfig, RecurrentModel
from treeformers.models.traversal import TraversalConfig, TraversalModel
from treeformers.models.treebert import TreeBertConfig, TreeBertForMaskedLM
from treeformers.training import computes_bf16

PRODUCTS = ((1024, 128, 5000), (2048, 128, 256), (1500, 300, 300), (1000, 2688, 150))


def product(rows: int, inner: int, columns: int, bfloat16: bool) -> Callable[[], object]:
    dtype = torch.bfloat16 if bfloat16 else torch.float32
    x, weight = torch.randn(rows, inner, dtype=dtype), torch.randn(columns, inner, dtype=dtype)
    return lambda: nn.functional.linear(x, weight)


def step(model: nn.Module, loss: Callable[[], Tensor], bfloat16: bool) -> Callable[[], object]:
    def run() -> None:
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
            value = loss()
        value.float().backward()

    return run


def tree_encoder(kind: str, args: argparse.Namespace) -> tuple[nn.Module, Callable[[], Tensor]]:
    chance = random.Random(0)
    sizes = [chance.randint(15, 25) for _ in range(args.trees)]
    trees = [trivial_tree([f"w{i}" for i in range(size)], "random", f"{size}") for size in sizes]
    plan, words = plan_of(trees, "cpu"), torch.randn(args.trees, max(sizes), args.width)
    if kind == "branch attention":
        model: nn.Module = TraversalModel(TraversalConfig(input_size=args.width, hidden_size=args.width))
    else:
        model = RecurrentModel(RecurrentConfig(kind="n-ary", input_size=args.width, hidden_size=args.width))
    return model, lambda: model(words, plan).root.sum()


def tree_bert(args: argparse.Namespace) -> tuple[nn.Module, Callable[[], Tensor]]:
    config = TreeBertConfig(
        vocab_size=args.vocabulary, hidden_size=128, num_hidden_layers=4, num_attention_heads=4
    )
    model = TreeBertForMaskedLM(config)
    ids = torch.randint(1, args.vocabulary, (args.trees, 40))
    return model, lambda: model(input_ids=ids, labels=ids).loss


def compare(ways: dict[bool, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Milliseconds in both, by turns, and how many times as fast bfloat16 is."""
    taken: dict[bool, list[float]] = {bfloat16: [] for bfloat16 in ways}
    for _ in range(repeats + 1):
        for bfloat16, way in ways.items():
            start = clock()
            way()
            taken[bfloat16].append(clock() - start)
    single, half = taken[False][1:], taken[True][1:]
    return {
        "float32_milliseconds": 1e3 * statistics.median(single),
        "bfloat16_milliseconds": 1e3 * statistics.median(half),
        "ratio": statistics.median(a / b for a, b in zip(single, half, strict=True)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trees", type=int, default=25, help="sentences of a step")
    parser.add_argument("--width", type=int, default=300)
    parser.add_argument("--vocabulary", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)

    both = (False, True)
    rows = {
        " x ".join(map(str, sizes)): compare({half: product(*sizes, half) for half in both}, args.repeats)
        for sizes in PRODUCTS
    }
    for kind in ("branch attention", "n-ary Tree-LSTM", "Tree Transformer"):
        model, loss = tree_bert(args) if kind == "Tree Transformer" else tree_encoder(kind, args)
        rows[kind] = compare({half: step(model, loss, half) for half in both}, args.repeats)
    report({"computes_bf16": computes_bf16(), "rows": rows}, args.out)


if __name__ == "__main__":
    main()
