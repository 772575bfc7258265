"""Constituent attention against loops over Wang et al. 2019, Eqs. 2-8: values and gradients in float64."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from treeformers.attention import constituent
from treeformers.attention.constituent import (
    ConstituentAttention,
    accumulate_links,
    accumulate_log_odds,
    constituent_attention,
    constituent_prior,
    constituent_weights,
    neighbor_links,
)

torch.set_num_threads(1)
sizes = settings(max_examples=25, deadline=None)


def literal_links(query: Tensor, key: Tensor, mask: Tensor, scale: float) -> Tensor:
    """Eqs. 5-7, one softmax over the real neighbours of each token."""
    batch, tokens, _ = query.shape
    rows = []
    for b in range(batch):
        choice = {}
        for i in range(tokens):
            near = [j for j in (i + 1, i - 1) if 0 <= j < tokens and mask[b, i] and mask[b, j]]
            if near:
                scores = torch.stack([query[b, i] @ key[b, j] / scale for j in near])
                choice.update({(i, j): p for j, p in zip(near, scores.softmax(0), strict=True)})
        zero = query.new_zeros(())
        links = [
            (choice[i, i + 1] * choice[i + 1, i]).sqrt() if (i, i + 1) in choice else zero
            for i in range(tokens - 1)
        ]
        rows.append(torch.stack(links) if links else query.new_zeros(0))
    return torch.stack(rows)


def literal_prior(links: Tensor, self_prior: float) -> Tensor:
    """Eq. 3 by multiplication."""
    batch, tokens = links.shape[0], links.shape[1] + 1
    rows = []
    for b in range(batch):
        for i in range(tokens):
            for j in range(tokens):
                product = links.new_tensor(1.0 if i != j else self_prior)
                for k in range(min(i, j), max(i, j)):
                    product = product * links[b, k]
                rows.append(product)
    return torch.stack(rows).view(batch, tokens, tokens)


def literal_attention(
    q: Tensor, k: Tensor, v: Tensor, links: Tensor, mask: Tensor, self_prior: float
) -> Tensor:
    """Eq. 2, one query at a time."""
    prior = literal_prior(links, self_prior)
    output = []
    for b in range(q.shape[0]):
        real = mask[b].nonzero()[:, 0]
        for h in range(q.shape[1]):
            for i in range(q.shape[2]):
                scores = torch.stack([q[b, h, i] @ k[b, h, j] / math.sqrt(q.shape[3]) for j in real])
                output.append((prior[b, i, real] * scores.softmax(0)) @ v[b, h, real])
    return torch.stack(output).view(q.shape)


def gradients(output: Tensor, inputs: tuple[Tensor, ...], seed: Tensor) -> list[Tensor]:
    if not output.requires_grad:
        return [torch.zeros_like(x) for x in inputs]
    found = torch.autograd.grad(output, inputs, seed, allow_unused=True, retain_graph=True)
    return [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, found, strict=True)]


def assert_same(ours: Tensor, literal: Tensor, inputs: tuple[Tensor, ...]) -> None:
    seed = torch.randn_like(literal)
    torch.testing.assert_close(ours, literal, rtol=1e-9, atol=1e-10)
    for a, b in zip(gradients(ours, inputs, seed), gradients(literal, inputs, seed), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-9)


def padded_mask(batch: int, tokens: int, padding: int) -> Tensor:
    """The first sentence is full. The others lose `padding` tokens but keep at least one."""
    lengths = torch.tensor([max(1, tokens - min(b, 1) * padding) for b in range(batch)])
    return torch.arange(tokens) < lengths[:, None]


def leaf(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def random_links(batch: int, tokens: int) -> Tensor:
    return torch.rand(batch, tokens - 1, dtype=torch.float64).clamp(0.01).requires_grad_()


@sizes
@given(
    st.integers(1, 3), st.integers(1, 7), st.integers(1, 5), st.integers(0, 4), st.sampled_from([None, 0.3])
)
def test_neighbor_links(batch: int, tokens: int, width: int, padding: int, scale: float | None) -> None:
    query, key = leaf(batch, tokens, width), leaf(batch, tokens, width)
    mask = padded_mask(batch, tokens, padding)
    literal = literal_links(query, key, mask, width / 2 if scale is None else scale)
    assert_same(neighbor_links(query, key, mask.int(), scale), literal, (query, key))
    assert_same(neighbor_links(query, key, mask, scale, log=True).exp(), literal, (query, key))


def test_neighbor_links_at_the_edges() -> None:
    query, key = torch.randn(1, 4, 3), torch.randn(1, 4, 3)
    assert neighbor_links(query[:, :1], key[:, :1]).shape == (1, 0)
    assert neighbor_links(query[:, :2], key[:, :2]).item() == 1
    around_a_hole = neighbor_links(query, key, torch.tensor([[1, 1, 0, 1]]))
    assert around_a_hole.tolist() == [[1, 0, 0]]


@sizes
@given(st.integers(1, 7), st.integers(1, 5))
def test_link_accumulation_in_both_arithmetics(tokens: int, layers: int) -> None:
    currents = tuple(random_links(2, tokens) for _ in range(layers))
    literal = torch.zeros(2, tokens - 1, dtype=torch.float64)
    links = odds = None
    for current in currents:
        literal = literal + (1 - literal) * current
        links = accumulate_links(current, links)
        odds = accumulate_log_odds(current.log(), odds)
    assert links is not None and odds is not None
    assert_same(links, literal, currents)
    assert_same(odds.sigmoid(), literal, currents)


def test_log_odds_do_not_saturate() -> None:
    current = torch.full((1, 1), math.log(0.5))
    links, odds = None, None
    for _ in range(60):
        links, odds = accumulate_links(current.exp(), links), accumulate_log_odds(current, odds)
    assert links is not None and links.item() == 1
    assert odds is not None and odds.item() == pytest.approx(60 * math.log(2), rel=1e-5)


@sizes
@given(st.integers(1, 2), st.integers(1, 6), st.sampled_from([1.0, 0.0]))
def test_prior(batch: int, tokens: int, self_prior: float) -> None:
    links = random_links(batch, tokens)
    literal = literal_prior(links, self_prior)
    assert_same(constituent_prior(links, self_prior), literal, (links,))
    assert_same(constituent_prior(links.log(), self_prior, log=True), literal, (links,))


def test_prior_of_certain_and_impossible_links() -> None:
    links = torch.tensor([[1.0, 0.0, 0.5]], requires_grad=True)
    prior = constituent_prior(links)
    expected = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0.5], [0, 0, 0.5, 1]]
    torch.testing.assert_close(prior, torch.tensor([expected]), atol=1e-30, rtol=1e-6)
    prior[0, 0, 1].backward()
    assert links.grad is not None and links.grad.tolist() == [[1, 0, 0]]


def test_prior_is_exact_far_along_a_long_sentence() -> None:
    links = torch.full((1, 3000), 1e-4)
    links[0, -1] = 0.9
    assert constituent_prior(links)[0, -1, -2].item() == pytest.approx(0.9, rel=1e-6)


@pytest.mark.parametrize("block", [2**19, 70, 1])
@pytest.mark.parametrize("self_prior", [1.0, 0.0])
@pytest.mark.parametrize(("tokens", "padding"), [(1, 0), (2, 1), (5, 0), (6, 3)])
def test_attention(
    monkeypatch: pytest.MonkeyPatch, tokens: int, padding: int, self_prior: float, block: int
) -> None:
    monkeypatch.setitem(constituent._BLOCK, "cpu", block)
    q, k, v = (leaf(3, 2, tokens, 3) for _ in range(3))
    links, mask = random_links(3, tokens), padded_mask(3, tokens, padding)
    literal = literal_attention(q, k, v, links, mask, self_prior)
    inputs = (q, k, v, links)
    assert_same(constituent_attention(q, k, v, links, mask.int(), self_prior=self_prior), literal, inputs)
    assert_same(constituent_weights(q, k, links, mask, self_prior=self_prior) @ v, literal, inputs)
    fused = constituent_attention(q, k, v, links.log(), mask, self_prior=self_prior, log=True)
    assert_same(fused, literal, inputs)


@pytest.mark.parametrize("block", [2**19, 300])
def test_dropout_is_the_same_forward_and_backward(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setitem(constituent._BLOCK, "cpu", block)
    q, k, links = leaf(2, 2, 9, 9), leaf(2, 2, 9, 9), random_links(2, 9)
    identity = torch.eye(9, dtype=torch.float64).expand(2, 2, 9, 9).contiguous().requires_grad_()
    dropped = constituent_attention(q, k, identity, links, dropout_p=0.3)
    weights = constituent_weights(q, k, links)
    kept = dropped != 0
    literal = torch.where(kept, weights / 0.7, 0.0) @ identity
    assert 0.55 < kept.double().mean() < 0.85
    assert_same(dropped, literal, (q, k, identity, links))


def test_dropout_keeps_the_expected_fraction() -> None:
    q, links = torch.zeros(4, 8, 64, 64), torch.ones(4, 63)
    identity = torch.eye(64).expand(4, 8, 64, 64)
    for p in (0.1, 0.5):
        kept = (constituent_attention(q, q, identity, links, dropout_p=p) != 0).float().mean()
        assert kept.item() == pytest.approx(1 - p, abs=0.006)
    with pytest.raises(ValueError, match="dropout_p is 1"):
        constituent_attention(q, q, identity, links, dropout_p=1)


@pytest.mark.parametrize(("block", "most"), [(150, 144), (72, 72), (30, 24), (1, 12)])
def test_a_block_bounds_the_scores_of_any_batch(
    monkeypatch: pytest.MonkeyPatch, block: int, most: int
) -> None:
    """Two heads and six tokens: 72 scores for each sentence, 12 for each query row."""
    sizes, scores = [], constituent._scores

    def recorded(q: Tensor, k: Tensor) -> Tensor:
        result = scores(q, k)
        sizes.append(result.numel())
        return result

    monkeypatch.setitem(constituent._BLOCK, "cpu", block)
    monkeypatch.setattr(constituent, "_scores", recorded)
    q = leaf(7, 2, 6, 3)
    constituent_attention(q, q, q, random_links(7, 6)).sum().backward()
    assert max(sizes) == most and sum(sizes) == 2 * 7 * 72


def test_no_tokens_give_no_values() -> None:
    q, links = leaf(2, 2, 0, 3), torch.ones(2, 0, dtype=torch.float64)
    output = constituent_attention(q, q, q, links)
    output.sum().backward()
    assert output.shape == q.shape == q.grad.shape


def test_padding_never_reaches_real_tokens() -> None:
    module = ConstituentAttention(8).double()
    hidden, mask = torch.randn(1, 6, 8, dtype=torch.float64), torch.tensor([[1, 1, 1, 1, 0, 0]])
    q, k, v = (torch.randn(1, 2, 6, 4, dtype=torch.float64) for _ in range(3))
    log_links, state = module(hidden, None, mask)
    alone, state_alone = module(hidden[:, :4])
    torch.testing.assert_close(log_links[:, :3], alone)
    torch.testing.assert_close(state[:, :3], state_alone)
    assert log_links[:, 3:].exp().tolist() == [[0, 0]]
    attended = constituent_attention(q, k, v, log_links, mask, log=True)[:, :, :4]
    short = constituent_attention(q[:, :, :4], k[:, :, :4], v[:, :, :4], alone, log=True)
    torch.testing.assert_close(attended, short)


def test_one_projection_equals_two() -> None:
    module = ConstituentAttention(8).double()
    hidden = torch.randn(5, 4, 8, dtype=torch.float64, requires_grad=True)
    inputs = (hidden, *module.parameters())
    together = module(hidden)[0]
    apart = torch.cat([module(sentence[None])[0] for sentence in hidden])
    assert_same(together, apart, inputs)


@pytest.mark.parametrize("arithmetic", ["log", "probability"])
def test_links_never_fall_from_layer_to_layer(arithmetic: str) -> None:
    layers = [ConstituentAttention(8, scale=0.5, arithmetic=arithmetic) for _ in range(8)]  # type: ignore[arg-type]
    hidden, state, below = torch.randn(3, 7, 8), None, torch.zeros(3, 6)
    for layer in layers:
        log_links, state = layer(hidden, state)
        links = log_links.exp()
        assert (links >= below - 1e-6).all() and (links <= 1).all()
        below = links


@pytest.mark.parametrize("arithmetic", ["log", "probability"])
@pytest.mark.parametrize("size", [1.0, 1e4, 1e8])
@pytest.mark.parametrize("tokens", [1, 2, 6])
def test_extreme_scores_stay_finite(arithmetic: str, size: float, tokens: int) -> None:
    first, second = (ConstituentAttention(4, scale=1 / size, arithmetic=arithmetic) for _ in range(2))  # type: ignore[arg-type]
    hidden = torch.randn(2, tokens, 4, requires_grad=True)
    mask = padded_mask(2, tokens, 2)
    _, state = first(hidden, None, mask)
    log_links, _ = second(hidden, state, mask)
    q = hidden[:, None]
    output = constituent_attention(q, q * size, q, log_links, mask, log=True)
    eager = constituent_weights(q, q * size, log_links, mask, log=True) @ q
    torch.testing.assert_close(output, eager, rtol=1e-4, atol=1e-4)
    output.sum().backward()
    for tensor in (output, hidden.grad, *(p.grad for m in (first, second) for p in m.parameters())):
        assert tensor is not None and tensor.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype: torch.dtype) -> None:
    module = ConstituentAttention(16).to(dtype)
    hidden = torch.randn(2, 9, 16).to(dtype).requires_grad_()
    q, k, v = (torch.randn(2, 2, 9, 8).to(dtype).requires_grad_() for _ in range(3))
    log_links, state = module(hidden, None, padded_mask(2, 9, 4))
    assert log_links.dtype == state.dtype == torch.float32
    output = constituent_attention(q, k, v, log_links, dropout_p=0.1, log=True)
    assert output.dtype == dtype
    output.sum().backward()
    for tensor in (output, hidden.grad, q.grad, k.grad, v.grad, module.key.weight.grad):
        assert tensor is not None and tensor.dtype == dtype and tensor.isfinite().all()
    exact = constituent_attention(q.float(), k.float(), v.float(), log_links, log=True)
    torch.testing.assert_close(
        constituent_attention(q, k, v, log_links, log=True).float(), exact, rtol=0.03, atol=0.03
    )


def test_autocast_computes_links_in_float32() -> None:
    module = ConstituentAttention(16)
    hidden = torch.randn(4, 9, 16)
    with torch.autocast("cpu", torch.bfloat16):
        log_links, _ = module(hidden)
        q = torch.randn(4, 2, 9, 8, requires_grad=True)
        output = constituent_attention(q.bfloat16(), q.bfloat16(), q.bfloat16(), log_links, log=True)
        output.float().sum().backward()
    torch.testing.assert_close(log_links, module(hidden)[0], rtol=0.01, atol=0.01)
    assert log_links.dtype == torch.float32 and q.grad is not None and q.grad.isfinite().all()


def test_initial_link_scores_have_the_scale_of_the_released_code() -> None:
    module = ConstituentAttention(512)
    hidden = module.norm(torch.randn(64, 8, 512))
    scores = (module.query(hidden)[:, :-1] * module.key(hidden)[:, 1:]).sum(-1) / 256
    assert scores.std().item() == pytest.approx(0.089, rel=0.15)


def literal_variant(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    links: Tensor,
    seen: Tensor,
    self_prior: float,
    before_softmax: bool,
    straight_through: bool,
) -> Tensor:
    """One query at a time, with a prior for each group of heads: links (B, G, T-1), mask (B, T, T)."""
    heads = q.shape[1] // links.shape[1]
    output = []
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            link = links[b, h // heads][None]
            prior = literal_prior(link, self_prior)[0]
            if straight_through:  # the value with rounded links, the gradient with the given ones
                prior = prior + (literal_prior((link > 0.5).double(), self_prior)[0] - prior).detach()
            for i in range(q.shape[2]):
                keys = seen[b, i].nonzero()[:, 0]
                scores = torch.stack([q[b, h, i] @ k[b, h, j] / math.sqrt(q.shape[3]) for j in keys])
                weights = (
                    (scores * prior[i, keys]).softmax(0)
                    if before_softmax
                    else scores.softmax(0) * prior[i, keys]
                )
                output.append(weights @ v[b, h, keys])
    return torch.stack(output).view(q.shape)


@pytest.mark.parametrize("block", [2**19, 1])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    ("self_prior", "before_softmax", "straight_through"),
    [(1.0, True, False), (0.0, True, False), (1.0, False, True), (1.0, True, True), (1.0, False, False)],
)
def test_variants_of_attention(
    monkeypatch: pytest.MonkeyPatch,
    self_prior: float,
    before_softmax: bool,
    straight_through: bool,
    groups: int,
    block: int,
) -> None:
    monkeypatch.setitem(constituent._BLOCK, "cpu", block)
    q, k, v = (leaf(2, 4, 5, 3) for _ in range(3))
    links = random_links(2 * groups, 5).detach().view(2, groups, 4).requires_grad_()
    seen = padded_mask(2, 5, 2)[:, None] & (torch.rand(2, 5, 5) > 0.3) | torch.eye(5, dtype=torch.bool)
    literal = literal_variant(q, k, v, links, seen, self_prior, before_softmax, straight_through)
    inputs, switches = (
        (q, k, v, links),
        {"self_prior": self_prior, "before_softmax": before_softmax, "straight_through": straight_through},
    )
    given = links if groups > 1 else links[:, 0]
    assert_same(constituent_attention(q, k, v, given, seen, **switches), literal, inputs)
    assert_same(constituent_weights(q, k, given, seen, **switches) @ v, literal, inputs)
    fused = constituent_attention(q, k, v, given.log(), seen, log=True, **switches)
    assert_same(fused, literal, inputs)


@pytest.mark.parametrize("before_softmax", [True, False])
@pytest.mark.parametrize("straight_through", [True, False])
def test_dropout_of_the_variants(before_softmax: bool, straight_through: bool) -> None:
    q, k, links = leaf(2, 2, 9, 9), leaf(2, 2, 9, 9), random_links(2, 9)
    identity = torch.eye(9, dtype=torch.float64).expand(2, 2, 9, 9).contiguous().requires_grad_()
    inputs = (q, k, identity, links)
    weights = constituent_weights(
        q, k, links, before_softmax=before_softmax, straight_through=straight_through
    )
    torch.manual_seed(3)
    dropped = constituent_attention(
        q, k, identity, links, dropout_p=0.3, before_softmax=before_softmax, straight_through=straight_through
    )
    torch.manual_seed(3)  # recover the mask with links of 1, which leave no weight at 0
    certain = torch.ones_like(links)
    kept = constituent_attention(q, k, identity, certain, dropout_p=0.3) != 0
    assert 0.55 < kept.double().mean() < 0.85
    assert_same(dropped, torch.where(kept, weights / 0.7, 0.0) @ identity, inputs)


def test_a_prior_before_the_softmax_leaves_attention_outside_the_constituent() -> None:
    q, k = torch.randn(1, 1, 12, 4), torch.randn(1, 1, 12, 4)
    links = torch.ones(1, 11)
    links[0, 2::3] = 0  # four constituents of three words
    same = constituent_prior(links)[0].bool()
    before, after = (
        constituent_weights(q, k, links, before_softmax=before_softmax)[0, 0]
        for before_softmax in (True, False)
    )
    assert (after[~same] == 0).all() and after.sum(1).max() < 1
    assert before[~same].sum() / 12 > 0.5
    torch.testing.assert_close(before.sum(1), torch.ones(12))


def test_hard_links_round_and_keep_a_gradient() -> None:
    links = torch.tensor([[0.9, 0.5, 0.6]], dtype=torch.float64, requires_grad=True)
    prior = constituent_prior(links, straight_through=True)
    assert prior[0].tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    assert torch.equal(constituent_prior(links.log(), log=True, straight_through=True), prior)
    prior[0, 0, 3].backward()  # the gradient of 0.9 * 0.5 * 0.6
    assert links.grad is not None
    torch.testing.assert_close(links.grad, torch.tensor([[0.3, 0.54, 0.45]], dtype=torch.float64))


@sizes
@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(0, 2))
def test_no_link_crosses_a_boundary(lengths: list[int], padding: int) -> None:
    tokens = sum(lengths)
    query, key = leaf(1, tokens + padding, 4), leaf(1, tokens + padding, 4)
    document = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
    document = torch.nn.functional.pad(document, (0, padding), value=len(lengths) - 1)[None]
    mask = torch.arange(tokens + padding)[None] < tokens
    packed = neighbor_links(query, key, mask, boundaries=document[:, 1:] != document[:, :-1])
    pieces, start = [], 0
    for length in lengths:
        part = slice(start, start + length)
        alone = literal_links(query[:, part], key[:, part], mask[:, part], 2.0)
        pieces += [alone, alone.new_zeros(1, 1)]
        start += length
    literal = torch.nn.functional.pad(torch.cat(pieces[:-1], 1), (0, padding))
    assert_same(packed, literal, (query, key))


@pytest.mark.parametrize("arithmetic", ["log", "probability"])
def test_groups_have_independent_links(arithmetic: str) -> None:
    module = ConstituentAttention(8, arithmetic=arithmetic, groups=2).double()  # type: ignore[arg-type]
    hidden, mask = torch.randn(3, 6, 8, dtype=torch.float64, requires_grad=True), padded_mask(3, 6, 3)
    first, state = module(hidden, None, mask)
    second, _ = module(hidden, state, mask)
    assert first.shape == second.shape == (3, 2, 5)
    normed = module.norm(hidden)
    query, key = module.query(normed), module.key(normed)
    current = torch.stack(
        [literal_links(query[..., part], key[..., part], mask, 2.0) for part in (slice(4), slice(4, 8))], 1
    )
    assert_same(first.exp(), current, (hidden,))
    assert_same(second.exp(), current + (1 - current) * current, (hidden,))


def test_groups_must_divide_the_heads() -> None:
    q = torch.zeros(1, 3, 4, 2)
    with pytest.raises(ValueError, match="3 heads, expected a multiple of the 2 groups"):
        constituent_attention(q, q, q, torch.ones(1, 2, 3))


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("arithmetic", ["log", "probability"])
def test_constant_links_ignore_the_words(arithmetic: str, groups: int) -> None:
    module = ConstituentAttention(8, arithmetic=arithmetic, groups=groups, mode="constant")
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    found, state = module(torch.randn(2, 5, 8), None, mask)
    outer = math.sqrt(0.5)  # the edge chooses its only neighbour, which chooses one of two
    expected = torch.tensor([[outer, 0.5, 0.5, outer], [outer, outer, 0.0, 0.0]])
    torch.testing.assert_close(found.exp() if groups == 1 else found.exp()[:, 1], expected)
    above, _ = module(torch.randn(2, 5, 8), state, mask)
    above = above if groups == 1 else above[:, 1]
    torch.testing.assert_close(above.exp(), expected + (1 - expected) * expected)
    learned = ConstituentAttention(8, groups=groups)
    assert [p.shape for p in module.parameters()] == [p.shape for p in learned.parameters()]
    found.sum().backward()
    assert all(p.grad is None or not p.grad.any() for p in module.parameters())


def test_links_near_one_leave_the_attention_nearly_as_it_is() -> None:
    module = ConstituentAttention(8, mode="near_one")
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    boundaries = torch.tensor([[False, True, False, False], [False, False, False, False]])
    links = module(torch.randn(2, 5, 8), None, mask, boundaries)[0].exp()
    torch.testing.assert_close(links, torch.tensor([[0.999, 0, 0.999, 0.999], [0.999, 0.999, 0, 0]]))
