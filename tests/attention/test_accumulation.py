"""The closed form against Nguyen et al. 2020, Eqs. 5-24, as written, in float64: values and gradients."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tree_strategies import all_trees, right_branching, trees
from treeformers.attention.accumulation import (
    AccumulationMemory,
    AccumulationSelfAttention,
    HierarchicalAccumulation,
    LeafWeights,
    hierarchical_accumulation,
    plan_ancestor_pairs,
    softmax_attention,
    subtree_mask,
)
from treeformers.trees.batch import batch_trees
from treeformers.trees.tree import Tree

torch.set_num_threads(1)

MIXED = [
    "(S (NP (D a) (N fox)) (VP (V naps)))",
    "(S (NP (A (N rain))) (VP (V falls) (PP (P on) (NP (N hills)))))",
    "(T word)",
    "(X (T word))",
    "(A (B (C (T up))) (T and) (D (T down) (T again) (E (T then))) (T up))",
]


def left_branching(n_words: int) -> Tree:
    tree = Tree("T", word="w0")
    for position in range(1, n_words):
        tree = Tree("X", (tree, Tree("T", word=f"w{position}")))
    return tree


def literal(
    tree: Tree,
    leaves: Tensor,
    nodes: Tensor,
    weights: Tensor,
    vertical: Tensor | None,
    horizontal: Tensor | None,
    count_leaf: bool,
    vertical_index: str,
) -> Tensor:
    """Eqs. 5-10 for one tree and head, through the tensor of branches (N, T, D) as the paper writes them."""
    spans = tree.spans()
    below = literal_mask(tree, len(tree), len(spans))[: len(spans)]  # R of Eq. 5: nodes, then leaves
    nodes_below, covered = below[:, : len(spans)].to(nodes), below[:, len(spans) :].to(nodes)
    on_branch = nodes_below @ covered  # |V_ij|
    tensor = nodes[:, None].expand(-1, len(tree), -1)
    embeddings = [torch.zeros_like(tensor).chunk(2, -1)[0]] * 2
    if vertical is not None:
        depth = nodes_below.sum(0)[:, None].expand_as(on_branch)
        x = on_branch if vertical_index == "height" else depth
        embeddings[0] = vertical[x.long().clamp(1, len(vertical)) - 1]
    if horizontal is not None:
        embeddings[1] = horizontal[covered.cumsum(1).long().clamp(1, len(horizontal)) - 1]  # |H_ij|
    tensor = (tensor + torch.cat(embeddings, -1)) * covered[..., None]
    sums = torch.einsum("it,tjd->ijd", nodes_below, tensor) + leaves * covered[..., None]
    means = sums / (on_branch + count_leaf).clamp_min(1)[..., None]
    return (weights[:, None] * means).sum(1) / covered.sum(1, keepdim=True)


def literal_mask(tree: Tree, tokens: int, count: int) -> Tensor:
    """Eq. 11, with `tokens` and `count` columns."""
    mask = torch.zeros(count + tokens, count + tokens, dtype=torch.bool)
    pending: list[tuple[Tree, tuple[int, ...]]] = [(tree, ())]
    nodes = leaves = 0
    while pending:
        item, over = pending.pop()
        if item.children:
            over = (*over, nodes)
            for node in over:
                mask[node, nodes] = True
            nodes += 1
            pending.extend((child, over) for child in reversed(item.children))
        else:
            for node in over:
                mask[node, count + leaves] = True
            leaves += 1
    mask[count : count + leaves, count : count + leaves] = True
    return mask


def inputs(
    sentences: list[Tree], heads: int = 2, width: int = 6, tables: tuple[int, int] = (3, 4), seed: int = 0
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """A batch and values that require gradients. Values on padding are as large as the others."""
    tree = batch_trees(sentences)
    generator = torch.Generator().manual_seed(seed)

    def random(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()

    batch, tokens = tree["attention_mask"].shape
    values = {
        "leaves": random(batch, heads, tokens, width),
        "nodes": random(batch, heads, tree["node_mask"].shape[1], width),
        "weights": random(batch, heads, tokens),
        "vertical": random(tables[0], width // 2),
        "horizontal": random(tables[1], width // 2),
    }
    return tree, values


def check(sentences: list[Tree], heads: int = 2, **options: Any) -> None:
    """The batched values and all gradients equal those of loops over each tree and head."""
    tables = options.pop("tables", (3, 4))
    use = options.pop("use", ("vertical", "horizontal"))
    tree, values = inputs(sentences, heads, tables=tables)
    embeddings = {name: values[name] if name in use else None for name in ("vertical", "horizontal")}
    batch, _, count, _ = values["nodes"].shape
    rows = []
    for b, h in product(range(batch), range(heads)):
        length, size = len(sentences[b]), len(sentences[b].spans())
        row = literal(
            sentences[b],
            values["leaves"][b, h, :length],
            values["nodes"][b, h, :size],
            values["weights"][b, h, :length],
            **embeddings,
            **{"count_leaf": True, "vertical_index": "height", **options},
        )
        rows.append(F.pad(row, (0, 0, 0, count - size)))
    expected = torch.stack(rows).view_as(values["nodes"])
    flow = torch.randn(expected.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    names = [name for name in values if name not in embeddings or name in use]

    def gradients(output: Tensor) -> tuple[Tensor, ...]:
        wanted = [values[name] for name in names]
        return torch.autograd.grad((output * flow).sum(), wanted, retain_graph=True) if count else ()

    sought = gradients(expected)
    by_height = "vertical" in use and options.get("vertical_index") != "depth"
    plan = plan_ancestor_pairs(
        tree,
        tables[0] if by_height else 0,
        tables[1] if "horizontal" in use else 0,
        options.get("count_leaf", True),
    )
    result = hierarchical_accumulation(
        values["leaves"], values["nodes"], values["weights"], plan, **embeddings, **options
    )
    torch.testing.assert_close(result, expected, rtol=1e-11, atol=1e-11)
    for name, found, gold in zip(names, gradients(result), sought, strict=False):
        torch.testing.assert_close(
            found, gold, rtol=1e-11, atol=1e-11, msg=lambda text, name=name: f"{name}: {text}"
        )


OPTIONS = [
    {},
    {"count_leaf": False},
    {"vertical_index": "depth"},
    {"use": ()},
    {"use": ("vertical",)},
    {"use": ("horizontal",)},
    {"use": ("vertical",), "vertical_index": "depth"},
    {"tables": (1, 1)},
    {"tables": (2, 2), "count_leaf": False},
    {"tables": (100, 100)},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_equals_the_loops_on_mixed_shapes(options: dict[str, Any]) -> None:
    sentences = [*map(Tree.from_brackets, MIXED), right_branching(7), left_branching(6)]
    check(sentences, **options)


def test_equals_the_loops_on_all_small_trees() -> None:
    check([tree for n_words in (1, 2, 3) for tree in all_trees(n_words)], heads=1, tables=(2, 2))


@given(st.lists(trees(), min_size=1, max_size=3), st.integers(1, 6), st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_equals_the_loops_on_random_trees(sentences: list[Tree], vertical: int, horizontal: int) -> None:
    check(sentences, heads=1, tables=(vertical, horizontal))


def random_tree(n_words: int, seed: int = 0) -> Tree:
    """A tree with random splits, built without recursion."""
    generator = torch.Generator().manual_seed(seed)
    spans, pending = [], [(0, n_words)]
    while pending:
        start, end = pending.pop()
        if end - start > 1:
            spans.append((start, end))
            middle = int(torch.randint(start + 1, end, (), generator=generator))
            pending += [(start, middle), (middle, end)]
    return Tree.from_spans([f"w{i}" for i in range(n_words)], spans)


@pytest.mark.parametrize("tree", [right_branching(120), left_branching(120), random_tree(120)])
def test_tables_smaller_than_the_tree_are_clipped(tree: Tree) -> None:
    check([tree], heads=1, tables=(20, 30))


@pytest.mark.parametrize("build", [right_branching, left_branching])
def test_a_chain_of_two_thousand_leaves_keeps_float32_precision(build: Any) -> None:
    """The lowest node has two leaves. The two thousand nodes above it do not swamp its value."""
    batch, values = inputs([build(2048)], heads=1, width=4, tables=(100, 100))
    last = 2046  # the lowest node of a chain is the last one in pre-order
    low = hierarchical_accumulation(**{k: v.detach().float() + 3 for k, v in values.items()}, tree=batch)
    start, end = batch["spans"][0, last].tolist()
    v = {k: x.detach().float().double() + 3 for k, x in values.items()}
    expected = sum(
        v["weights"][0, 0, j]
        * (
            v["leaves"][0, 0, j]
            + v["nodes"][0, 0, last]
            + torch.cat((v["vertical"][0], v["horizontal"][j - start]))
        )
        for j in range(start, end)
    )
    torch.testing.assert_close(low[0, 0, last].double(), expected / 4, rtol=1e-5, atol=1e-5)
    assert low.isfinite().all()


def test_one_head_equals_no_head_axis() -> None:
    sentences = [*map(Tree.from_brackets, MIXED)]
    tree, values = inputs(sentences, heads=1)
    by_head = hierarchical_accumulation(**values, tree=tree)
    flat = {k: x[:, 0] if k in ("leaves", "nodes", "weights") else x for k, x in values.items()}
    torch.testing.assert_close(hierarchical_accumulation(**flat, tree=tree), by_head[:, 0])


def test_heads_share_weights_and_calls_share_a_plan() -> None:
    sentences = [*map(Tree.from_brackets, MIXED)]
    tree, values = inputs(sentences, heads=3)
    shared = values["weights"][:, :1]
    spread = {**values, "weights": shared.expand(-1, 3, -1)}
    expected = hierarchical_accumulation(**spread, tree=tree)
    plan = plan_ancestor_pairs(tree, 3, 4)
    for weights in (shared, shared[:, 0]):
        torch.testing.assert_close(
            hierarchical_accumulation(**{**values, "weights": weights}, tree=plan), expected
        )


def test_padding_changes_nothing() -> None:
    """Values on padding change no real node. Padded nodes become 0 and get no gradient."""
    sentences = [*map(Tree.from_brackets, MIXED)]
    tree, values = inputs([*sentences, right_branching(9)])
    plan = plan_ancestor_pairs(tree, 3, 4)
    result = hierarchical_accumulation(**values, tree=plan)
    assert (result.masked_select(~tree["node_mask"].bool()[:, None, :, None]) == 0).all()
    leaf_padding = ~tree["attention_mask"].bool()[:, None, :, None]
    node_padding = ~tree["node_mask"].bool()[:, None, :, None]
    changed = {
        **values,
        "leaves": values["leaves"].masked_fill(leaf_padding, 1e6),
        "nodes": values["nodes"].masked_fill(node_padding, 1e6),
        "weights": values["weights"].masked_fill(leaf_padding[..., 0], 1e6),
    }
    assert torch.equal(hierarchical_accumulation(**changed, tree=plan), result)
    result.pow(3).sum().backward()
    for name, padding in (("leaves", leaf_padding), ("nodes", node_padding)):
        assert (values[name].grad.masked_select(padding) == 0).all()
    for row, sentence in enumerate(sentences):
        alone = batch_trees([sentence])
        tokens, count = len(sentence), len(sentence.spans())
        single = {k: v[row : row + 1] if v.dim() > 2 else v for k, v in values.items()}
        single["leaves"], single["nodes"] = single["leaves"][:, :, :tokens], single["nodes"][:, :, :count]
        single["weights"] = single["weights"][:, :, :tokens]
        one = hierarchical_accumulation(**single, tree=alone)
        torch.testing.assert_close(one[0], result[row, :, :count])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_output_has_the_dtype_of_the_values(dtype: torch.dtype) -> None:
    batch, values = inputs([random_tree(9)])
    tree = plan_ancestor_pairs(batch, 3, 4)
    result = hierarchical_accumulation(**{k: v.detach().to(dtype) for k, v in values.items()}, tree=tree)
    exact = hierarchical_accumulation(
        **{k: v.detach().to(dtype).double() for k, v in values.items()}, tree=tree
    )
    assert result.dtype == dtype
    assert torch.equal(result, exact.to(dtype))


def test_bad_inputs_are_refused() -> None:
    tree, values = inputs([random_tree(5)])
    with pytest.raises(
        ValueError, match=r"leaves \(1, 2, 4, 6\).* do not fit 1 trees of 5 leaves and 4 nodes"
    ):
        hierarchical_accumulation(**{**values, "leaves": values["leaves"][:, :, 1:]}, tree=tree)
    with pytest.raises(ValueError, match=r"horizontal table has shape \(4, 2\), expected \(rows, 3\)"):
        hierarchical_accumulation(**{**values, "horizontal": values["horizontal"][:, 1:]}, tree=tree)
    with pytest.raises(ValueError, match="the batch lacks spans, pair_nodes: expected what batch_trees"):
        hierarchical_accumulation(
            **values, tree={k: v for k, v in tree.items() if k not in ("spans", "pair_nodes")}
        )


def test_subtree_mask_on_all_small_trees() -> None:
    sentences = [tree for n_words in (1, 2, 3) for tree in all_trees(n_words)] + [random_tree(8)]
    mask = subtree_mask(batch_trees(sentences))
    tokens, count = 8, max(len(tree.spans()) for tree in sentences)
    for row, tree in enumerate(sentences):
        assert torch.equal(mask[row], literal_mask(tree, tokens, count))


def test_subtree_mask_of_figure_3() -> None:
    """Fig. 3: g = (c h), h = (d e); g sees itself, h and its three leaves, and leaves see leaves alone."""
    tree = Tree.from_brackets("(g (C c) (h (D d) (E e)))")
    rows = ["11111", "01011", "00111", "00111", "00111"]
    assert subtree_mask(batch_trees([tree]))[0].int().tolist() == [[int(x) for x in row] for row in rows]


def test_self_attention_is_equations_12_to_20() -> None:
    tree, count = batch_trees([random_tree(6)]), 5
    accumulation = HierarchicalAccumulation(8, 2, 3, 4, weight_per_head=True)
    module = AccumulationSelfAttention(8, 2, accumulation=accumulation).double()
    hidden = torch.randn(1, 11, 8, dtype=torch.float64)
    mask = subtree_mask(tree)[:, None]
    output, weights = module(hidden, accumulation.plan(tree), mask, eager=True)
    fused, none = module(hidden, accumulation.plan(tree), mask)
    torch.testing.assert_close(fused, output)
    assert (
        none is None and weights.shape == (1, 2, 11, 11) and (weights[~mask.expand(-1, 2, -1, -1)] == 0).all()
    )
    q, k, v = (x.unflatten(-1, (2, 4)).transpose(1, 2) for x in module.query_key_value(hidden).chunk(3, -1))
    heads = []
    for h in range(2):
        nodes = literal(
            random_tree(6),
            v[0, h, count:],
            v[0, h, :count],
            accumulation.leaf_weights(hidden[0, count:])[:, h],
            accumulation.vertical.weight,
            accumulation.horizontal.weight,
            True,
            "height",
        )
        scores = (q[0, h] @ k[0, h].mT / 2).masked_fill(~mask[0, 0], -torch.inf)
        heads.append(scores.softmax(-1) @ torch.cat((nodes, v[0, h, count:])))
    torch.testing.assert_close(output[0], module.output(torch.cat(heads, -1)))


def test_cross_attention_memory_is_equation_23() -> None:
    tree = batch_trees([random_tree(6)])
    accumulation = HierarchicalAccumulation(8, 2, 3, 4)
    module = AccumulationMemory(8, 2, accumulation).double()
    states = torch.randn(1, 11, 8, dtype=torch.float64)
    keys, values = module(states, accumulation.plan(tree))
    k, v = (x.unflatten(-1, (2, 4)).transpose(1, 2) for x in module.key_value(states).chunk(2, -1))
    torch.testing.assert_close(keys, k)
    torch.testing.assert_close(values[:, :, 5:], v[:, :, 5:])
    for h in range(2):
        expected = literal(
            random_tree(6),
            v[0, h, 5:],
            v[0, h, :5],
            accumulation.leaf_weights(states[0, 5:])[:, 0],
            accumulation.vertical.weight,
            accumulation.horizontal.weight,
            True,
            "height",
        )
        torch.testing.assert_close(values[0, h, :5], expected)


def test_additional_parameters_of_the_base_model() -> None:
    """Table 5: 61,810,944 - 61,747,200, over the attention to trees of six layers each side."""
    module = HierarchicalAccumulation(512, 8, vertical_size=50, horizontal_size=100)
    assert 12 * sum(p.numel() for p in module.parameters()) == 63_744


def test_leaf_weights_start_at_unit_variance() -> None:
    assert LeafWeights(400, 50).weight.std().item() == pytest.approx(0.05, rel=0.05)


def test_attention_applies_dropout() -> None:
    q = torch.randn(1, 1, 4, 8)
    dropped, weights = softmax_attention(q, q, q, dropout_p=0.5, eager=True)
    plain, _ = softmax_attention(q, q, q, eager=True)
    assert not torch.allclose(dropped, plain)
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 1, 4))
