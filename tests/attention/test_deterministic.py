"""Deterministic attention against literal loops over Ma et al. 2017, Eq. 6, in float64."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from treeformers.attention.deterministic import (
    DeterministicAttention,
    align,
    deterministic_context,
    gather_context,
)

torch.set_num_threads(1)
sizes = settings(max_examples=25, deadline=None)


def literal_context(encoder: Tensor, positions: Tensor, alignment: Tensor) -> Tensor:
    """Eq. 6: c_i is the sum of A_m h_j over the list D_i; a negative j adds nothing."""
    contexts = []
    for h, lists in zip(encoder, positions.tolist(), strict=True):
        for positions_of_step in lists:
            context = encoder.new_zeros(alignment.shape[1])
            for m, j in enumerate(positions_of_step):
                if j >= 0:
                    context = context + alignment[m] @ h[j]
            contexts.append(context)
    return torch.stack(contexts).view(*positions.shape[:2], -1)


def leaf(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def gradients(output: Tensor, inputs: tuple[Tensor, ...], seed: Tensor) -> tuple[Tensor, ...]:
    if not output.requires_grad:  # nothing was read
        return tuple(torch.zeros_like(x) for x in inputs)
    return torch.autograd.grad(
        output, inputs, seed, retain_graph=True, materialize_grads=True, allow_unused=True
    )


def assert_same(ours: Tensor, literal: Tensor, inputs: tuple[Tensor, ...]) -> None:
    seed = torch.randn_like(literal)
    torch.testing.assert_close(ours, literal, rtol=1e-10, atol=1e-12)
    for a, b in zip(gradients(ours, inputs, seed), gradients(literal, inputs, seed), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


@sizes
@given(st.integers(1, 3), st.integers(1, 6), st.integers(1, 5), st.sampled_from([1, 5, 7]), st.booleans())
def test_context(batch: int, tokens: int, steps: int, slots: int, absent: bool) -> None:
    encoder, alignment = leaf(batch, tokens, 4), leaf(slots, 3, 4)
    positions = torch.randint(-2 if absent else 0, tokens, (batch, steps, slots))
    literal = literal_context(encoder, positions, alignment)
    assert_same(deterministic_context(encoder, positions, alignment), literal, (encoder, alignment))
    module = DeterministicAttention(4, 3, slots).double()
    literal = literal_context(encoder, positions, module.alignment)
    assert_same(module(encoder, positions), literal, (encoder, module.alignment))
    assert_same(gather_context(module.align(encoder), positions), literal, (encoder, module.alignment))
    literal = literal_context(encoder, positions, torch.eye(4).double().expand(slots, 4, 4))
    assert_same(deterministic_context(encoder, positions), literal, (encoder,))


def test_gradients_by_differences() -> None:
    positions = torch.tensor([[[0, 0, 2], [-1, 1, 2]], [[1, -1, -1], [2, 2, 2]]])
    assert torch.autograd.gradcheck(
        lambda encoder, alignment: deterministic_context(encoder, positions, alignment),
        (leaf(2, 3, 2), leaf(3, 2, 2)),
    )


def test_aligned_words_are_products_with_all_matrices() -> None:
    encoder, alignment = leaf(2, 4, 3), leaf(5, 2, 3)
    torch.testing.assert_close(
        align(encoder, alignment), torch.einsum("btd,mcd->btmc", encoder, alignment), rtol=1e-10, atol=1e-12
    )


def test_a_step_that_reads_nothing() -> None:
    encoder, alignment = leaf(1, 3, 2), leaf(5, 4, 2)
    context = deterministic_context(encoder, torch.full((1, 2, 5), -1), alignment)
    assert context.shape == (1, 2, 4) and (context == 0).all()
    context.sum().backward()
    assert encoder.grad is not None and (encoder.grad == 0).all()


def test_padding_and_other_sentences_are_not_read() -> None:
    encoder, alignment = leaf(2, 4, 3), leaf(5, 2, 3)
    positions = torch.randint(-1, 4, (2, 6, 5))
    alone = torch.cat(
        [deterministic_context(encoder[b : b + 1], positions[b : b + 1], alignment) for b in (0, 1)]
    )
    padded = torch.cat((encoder, encoder.new_full((2, 3, 3), torch.nan)), 1)
    torch.testing.assert_close(deterministic_context(padded, positions, alignment), alone)


def test_fresh_matrices_keep_the_scale_of_a_state() -> None:
    module = DeterministicAttention(256, 512, 5)
    context = module(torch.randn(4, 50, 256), torch.randint(50, (4, 60, 5)))
    assert context.std().item() == pytest.approx(1, rel=0.05)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype: torch.dtype) -> None:
    module = DeterministicAttention(32, 16, 5)
    encoder, positions = torch.randn(2, 9, 32), torch.randint(-1, 9, (2, 12, 5))
    exact = module(encoder, positions)
    with torch.autocast("cpu", dtype):
        lowered = module(encoder, positions)
    assert lowered.dtype == dtype
    torch.testing.assert_close(lowered.float(), exact, rtol=0.03, atol=0.03)
    lowered.float().sum().backward()
    assert module.alignment.grad is not None and module.alignment.grad.isfinite().all()


def test_another_number_of_positions() -> None:
    module = DeterministicAttention(4, 3, 7)
    with pytest.raises(ValueError, match="lists of 5 positions, expected one for each of 7 matrices"):
        module(torch.randn(1, 2, 4), torch.zeros(1, 3, 5, dtype=torch.long))


def test_a_position_beyond_the_sentence_is_not_one_of_the_next() -> None:
    encoder = torch.randn(2, 3, 4)
    with pytest.raises(ValueError, match="position 3 is out of range for 3 states"):
        deterministic_context(encoder, torch.tensor([[[3]], [[0]]]))
