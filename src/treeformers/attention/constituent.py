"""Constituent attention (Wang et al. 2019): a soft tree over neighbouring words as a prior on self-attention.

Only neighbours are scored, so the links cost O(T D). With coordinates x_i = -sum_{k<i} log a_k, the prior of
Eqs. 3-4 is C_ij = exp(-|x_i - x_j|). Tokens are points on a line, and T numbers represent the whole T x T
matrix. Links and priors are computed in float32 or wider, whatever the dtype of the model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LinkMode: TypeAlias = Literal["learned", "constant", "near_one"]
"""Where links come from, see `ConstituentAttention`."""

# Log-probability of an impossible link. Its exponential is exactly 0 in float32 and in float64.
_NEVER = -1e4
# Log-probability of a certain link. It rounds to a probability of 1 but keeps a finite gradient.
_CERTAIN = -1e-20
# Log-probability of a link of `link_mode="near_one"` in each layer.
_NEAR_ONE = math.log(0.999)
# Number of scores computed at once. A block stays in the cache of a CPU, and occupies all cores of a GPU.
_BLOCK = {"cpu": 2**19}
_DEVICE_BLOCK = 2**28


def neighbor_links(
    query: Tensor,
    key: Tensor,
    mask: Tensor | None = None,
    scale: float | None = None,
    *,
    log: bool = False,
    boundaries: Tensor | None = None,
) -> Tensor:
    """Probability that two neighbours choose each other (Wang et al. 2019, Eqs. 5-7).

    A token with one neighbour chooses it with probability 1. The paper leaves this case open; the
    released code does the same. Eq. 6 depends only on s_{i,i+1} - s_{i,i-1}, so only that is computed.

    Args:
        query: Link queries (B, T, D).
        key: Link keys (B, T, D).
        mask: True or 1 at real tokens (B, T). A link that touches padding has probability 0.
        scale: Divisor of the scores; the paper's D/2 by default.
        log: Return the logarithm; -10,000 if the probability is 0.
        boundaries: True between two tokens of different texts in one row (B, T-1). Their link has probability
            0, and both tokens are at the edge of their text.

    Returns:
        Links between tokens i and i+1 (B, T-1), in float32 or wider.
    """
    links = query.shape[1] - 1
    query, key = _at_least_float32(query), _at_least_float32(key)
    scale = query.shape[-1] / 2 if scale is None else scale
    preference = (query[:, 1:-1] * (key[:, 2:] - key[:, :-2])).sum(-1) / scale
    right, left = F.logsigmoid(preference), F.logsigmoid(-preference)
    linked = None if boundaries is None else ~boundaries
    if mask is not None:
        mask = mask.bool()
        real = mask[:, :-1] & mask[:, 1:]
        linked = real if linked is None else linked & real
    if linked is not None:
        right = right.masked_fill(~linked[:, :-1], 0.0)
        left = left.masked_fill(~linked[:, 1:], 0.0)
    log_links = (F.pad(right, (1, 0)) + F.pad(left, (0, 1)))[:, :links] / 2
    if linked is not None:
        log_links = log_links.masked_fill(~linked, _NEVER)
    return log_links if log else log_links.exp()


def accumulate_links(current: Tensor, previous: Tensor | None = None) -> Tensor:
    """Accumulated links of a layer: a + (1 - a) a_hat (Wang et al. 2019, Eq. 8).

    Args:
        current: The links a_hat of this layer (B, T-1).
        previous: The accumulated links a of the layer below (B, T-1); None at the first layer.
    """
    return current if previous is None else previous + (1 - previous) * current


def accumulate_log_odds(log_current: Tensor, previous: Tensor | None = None) -> Tensor:
    """Eq. 8 by its complement, log(1 - a') = log(1 - a) + log(1 - a_hat), with the log-odds of a as state.

    With even odds in each layer, a probability rounds to 1 and loses its gradient after about 24 layers in
    float32, and after 8 in bfloat16. Log-odds do not. Up to rounding, this function equals
    `accumulate_links`.

    Args:
        log_current: log a_hat of this layer (B, T-1).
        previous: Log-odds of the layer below (B, T-1); None at the first layer.

    Returns:
        Log-odds of the accumulated links (B, T-1).
    """
    log_current = log_current.clamp(max=_CERTAIN)
    log_break = torch.log(-torch.expm1(log_current))
    if previous is None:
        return log_current - log_break
    log_break_below = F.logsigmoid(-previous)
    log_link = torch.logaddexp(F.logsigmoid(previous), log_break_below + log_current)
    return log_link - log_break_below - log_break


def constituent_prior(
    links: Tensor, self_prior: float = 1.0, *, log: bool = False, straight_through: bool = False
) -> Tensor:
    """Probability that two tokens share a constituent: the product of the links between them (Eqs. 3-4).

    Args:
        links: Accumulated links (B, T-1), or (B, G, T-1).
        self_prior: The diagonal. The paper has 1, the empty product. The released code trains with 0: no
            token attends to itself.
        log: The links are given as logarithms.
        straight_through: Round the links to 1 (above 1/2) or 0. The gradient is that of the prior with the
            links as given (Bengio et al. 2013). This is not in the paper.

    Returns:
        The symmetric prior C (B, T, T), or (B, G, T, T), in float32 or wider.
    """
    flat, dtype = links.flatten(0, -2), _at_least_float32(links).dtype
    points, rounded = _coordinates(flat, log), _rounded_coordinates(flat, log) if straight_through else None
    prior = _prior(points, slice(None), self_prior, dtype)
    if rounded is not None:
        prior = _prior(rounded, slice(None), self_prior, dtype) + (prior - prior.detach())
    return prior.unflatten(0, links.shape[:-1])


def constituent_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    links: Tensor,
    mask: Tensor | None = None,
    dropout_p: float = 0.0,
    *,
    self_prior: float = 1.0,
    log: bool = False,
    before_softmax: bool = False,
    straight_through: bool = False,
) -> Tensor:
    """Attention E V with E = C * softmax(Q K' / sqrt(D/H)), not renormalised (Wang et al. 2019, Eq. 2).

    Scores, prior and weights are computed block by block, and again in the backward pass. Memory therefore
    grows with T, not with T^2. `constituent_weights` returns E itself, without this bound.

    If `before_softmax`, E = softmax(C * Q K' / sqrt(D/H)). The code released with Ginn (2024) computes this
    in place of the paper's Eq. 1. A prior of 0 then gives a score of 0, not a weight of 0: tokens outside the
    constituent still get attention.

    Args:
        q: Queries (B, H, T, D/H).
        k: Keys (B, H, T, D/H).
        v: Values (B, H, T, D/H).
        links: Accumulated links (B, T-1), or (B, G, T-1) with one prior for each of G groups of H/G heads.
        mask: True or 1 at real tokens (B, T), or if the query may attend to the key (B, T, T).
        dropout_p: Dropout probability of E, in [0, 1).
        self_prior: The diagonal of C, see `constituent_prior`.
        log: The links are given as logarithms.
        before_softmax: Apply the prior to the scores instead of the weights.
        straight_through: Round the links, see `constituent_prior`.

    Returns:
        The attended values (B, H, T, D/H).

    Raises:
        ValueError: `dropout_p` is outside [0, 1), or G does not divide H.
    """
    if not 0 <= dropout_p < 1:
        raise ValueError(f"dropout_p is {dropout_p}, expected a probability in [0, 1)")
    shape = v.shape
    links, mask, (q, k, v) = _split_groups(links, mask, q, k, v)
    points, rounded = _coordinates(links, log), _rounded_coordinates(links, log) if straight_through else None
    output: Tensor = _BlockwiseAttention.apply(
        q, k, v, points, rounded, mask, dropout_p, self_prior, before_softmax
    )
    return output.view(shape)


def constituent_weights(
    q: Tensor,
    k: Tensor,
    links: Tensor,
    mask: Tensor | None = None,
    *,
    self_prior: float = 1.0,
    log: bool = False,
    before_softmax: bool = False,
    straight_through: bool = False,
) -> Tensor:
    """The attention weights E of Eq. 2 (B, H, T, T), in float32 or wider, as one tensor.

    This is the plain version of `constituent_attention`, whose arguments and errors it shares.
    """
    shape = q.shape
    links, mask, (q, k) = _split_groups(links, mask, q, k)
    prior = constituent_prior(links, self_prior, log=log, straight_through=straight_through)[:, None]
    scores, bias = _scores(q * q.shape[-1] ** -0.5, k), _bias(mask)
    weights = _softmax(scores * prior, bias) if before_softmax else _softmax(scores, bias) * prior
    return weights.view(*shape[:3], shape[2])


class LinkProjection(nn.Linear):
    """Link queries or keys, initialised with Xavier's uniform distribution as in the released code.

    Link scores of normalised inputs then start with a standard deviation of 2 / sqrt(D): 0.09 at D = 512.
    """

    def reset_parameters(self) -> None:
        nn.init.xavier_uniform_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)


class ConstituentAttention(nn.Module):
    """The module that links neighbours (Wang et al. 2019, Section 5): from layer input to accumulated links.

    As in the released code, it has its own layer norm and one D x D projection each for link queries and link
    keys, without heads. A bias of the keys would cancel in Eq. 6, so there is none. With G groups, which are
    not in the paper, queries and keys are split into G slices, each with links of its own.

    Args:
        width: D.
        scale: Divisor of the scores; by default D/2, or D/2G with groups.
        arithmetic: The state passed to the next layer: "log" for the log-odds of the links, "probability" for
            the links.
        eps: epsilon of the layer norm.
        groups: G; divides D.
        mode: "learned" scores neighbours. The other modes are controls for what the prior brings without a
            tree: they ignore the scores and have the same weights. "constant" has the links of equal scores,
            so that the prior only decays with distance. "near_one" has links of 0.999, so that the prior
            hardly changes the attention.
    """

    def __init__(
        self,
        width: int,
        scale: float | None = None,
        arithmetic: Literal["log", "probability"] = "log",
        eps: float = 1e-12,
        groups: int = 1,
        mode: LinkMode = "learned",
    ) -> None:
        super().__init__()
        self.mode = mode
        self.scale = scale
        self.groups = groups
        self.arithmetic = arithmetic
        self.norm = nn.LayerNorm(width, eps=eps)
        self.query = LinkProjection(width, width)
        self.key = LinkProjection(width, width, bias=False)

    def forward(
        self,
        hidden: Tensor,
        previous: Tensor | None = None,
        mask: Tensor | None = None,
        boundaries: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Compute the links of this layer.

        Args:
            hidden: Input of the layer (B, T, D).
            previous: State of the layer below (B, T-1); None at the first layer.
            mask: True or 1 at real tokens (B, T).
            boundaries: True between tokens of different texts (B, T-1).

        Returns:
            log a (B, T-1), and the state for the layer above (B, T-1). With several groups both are
            (B, G, T-1).
        """
        hidden = self.norm(hidden)
        many_tokens = torch.compiler.is_exporting() or hidden.shape[0] * hidden.shape[1] > hidden.shape[2]
        if self.groups == 1 and many_tokens:
            # q . k = (Wq x + b) . Wk y = (Wk'Wq x + Wk'b) . y needs one projection of the tokens, not two.
            key_weight = self.key.weight.mT
            query = F.linear(hidden, key_weight @ self.query.weight, key_weight @ self.query.bias)
            key = hidden
        else:
            query, key = self.query(hidden), self.key(hidden)
        if self.groups > 1:
            query, key = (
                x.unflatten(-1, (self.groups, -1)).transpose(1, 2).flatten(0, 1) for x in (query, key)
            )
            mask, boundaries = (
                x if x is None else x.repeat_interleave(self.groups, 0) for x in (mask, boundaries)
            )
        if self.mode != "learned":
            query = 0 * query  # equal scores; the weights keep a gradient, which is zero
        log_current = neighbor_links(query, key, mask, self.scale, log=True, boundaries=boundaries)
        if self.mode == "near_one":
            log_current = log_current.masked_fill(log_current > _NEVER / 2, _NEAR_ONE)
        if self.groups > 1:
            log_current = log_current.unflatten(0, (-1, self.groups))
        if self.arithmetic == "log":
            state = accumulate_log_odds(log_current, previous)
            return F.logsigmoid(state), state
        state = accumulate_links(log_current.exp(), previous)
        return _log(state), state


def _at_least_float32(tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def _log(links: Tensor) -> Tensor:
    return links.clamp_min(torch.finfo(links.dtype).tiny).log().masked_fill(links <= 0, _NEVER)


def _coordinates(links: Tensor, log: bool) -> Tensor:
    """x_i = -sum_{k<i} log a_k (B, T), in float64, because C depends on small differences of large sums."""
    log_links = links if log else _log(_at_least_float32(links))
    # Apple's devices have no float64.
    dtype = torch.float32 if links.device.type == "mps" else torch.float64
    return F.pad(-log_links.cumsum(-1, dtype=dtype), (1, 0))


def _rounded_coordinates(links: Tensor, log: bool) -> Tensor:
    """The coordinates of the links rounded to 0 or 1, without a gradient."""
    broken = links.detach() <= (-math.log(2) if log else 0.5)
    return _coordinates(broken.to(_at_least_float32(links).dtype) * _NEVER, log=True)


def _signs(points: Tensor, rows: slice) -> Tensor:
    """Sign of j - i for rows i and all columns j."""
    order = torch.arange(points.shape[-1], device=points.device, dtype=points.dtype)
    return torch.sign(order - order[rows, None])


def _prior(points: Tensor, rows: slice, self_prior: float, dtype: torch.dtype) -> Tensor:
    """Rows of C (B, R, T). x never decreases, so |x_i - x_j| has the sign of j - i; no kink at a = 1."""
    signs = _signs(points, rows)
    prior = ((points[:, rows, None] - points[:, None]) * signs).to(dtype).exp()
    return prior if self_prior == 1 else prior.masked_fill(signs == 0, self_prior)


def _split_groups(
    links: Tensor, mask: Tensor | None, *tensors: Tensor
) -> tuple[Tensor, Tensor | None, list[Tensor]]:
    """Treat each group of heads as a sentence of its own if the links are those of G groups (B, G, T-1)."""
    if links.dim() == 2:
        return links, mask, list(tensors)
    groups, heads = links.shape[1], tensors[0].shape[1]
    if heads % groups:
        raise ValueError(f"{heads} heads, expected a multiple of the {groups} groups that the links have")
    split = [tensor.unflatten(1, (groups, -1)).flatten(0, 1) for tensor in tensors]
    return links.flatten(0, 1), mask if mask is None else mask.repeat_interleave(groups, 0), split


def _bias(mask: Tensor | None) -> Tensor | None:
    """Bias of the scores (B, 1, 1 or T, T). It is finite, so a sentence of padding gives finite values."""
    if mask is None:
        return None
    bias = torch.zeros(mask.shape, device=mask.device).masked_fill_(~mask.bool(), -1e30)
    return bias[:, None, None] if mask.dim() == 2 else bias[:, None]


def _rows(bias: Tensor | None, sentences: slice, rows: slice) -> Tensor | None:
    if bias is None:
        return None
    return bias[sentences, :, rows] if bias.shape[2] > 1 else bias[sentences]


def _scores(q: Tensor, k: Tensor) -> Tensor:
    return _at_least_float32(q @ k.mT)


def _softmax(scores: Tensor, bias: Tensor | None) -> Tensor:
    return (scores if bias is None else scores + bias).softmax(-1)


def _drop(weights: Tensor, dropout_p: float, generator: torch.Generator) -> Tensor:
    return weights * torch.empty_like(weights).bernoulli_(1 - dropout_p, generator=generator)


def _blocks(q: Tensor) -> Iterator[tuple[slice, slice]]:
    """Slices of the batch and of the query rows: several whole sentences, or a few rows of a long one."""
    batch, heads, tokens, _ = q.shape
    block = _BLOCK.get(q.device.type, _DEVICE_BLOCK)
    sentences = max(1, block // max(1, heads * tokens * tokens))
    rows = max(1, min(tokens, block // max(1, heads * tokens)))
    for sentence in range(0, batch, sentences):
        for row in range(0, tokens, rows):
            yield slice(sentence, sentence + sentences), slice(row, row + rows)


class _BlockwiseAttention(torch.autograd.Function):
    """E V from the coordinates of the tokens (B, T), and from the rounded ones if links are rounded.

    This kernel exists for memory, not speed: no tensor is larger than a block of scores. It equals one call
    of torch's fused attention with keys [K; K], values [V; 0] and bias [log C; log(1 - C)]. That call would
    double the keys and need a T x T gradient of the bias, which no fused kernel computes on a CPU.
    """

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        points: Tensor,
        rounded: Tensor | None,
        mask: Tensor | None,
        dropout_p: float,
        self_prior: float,
        before_softmax: bool,
    ) -> Tensor:
        ctx.save_for_backward(q, k, v, points, rounded, mask)
        ctx.dropout_p, ctx.self_prior, ctx.before_softmax = dropout_p, self_prior, before_softmax
        ctx.seed = int(torch.randint(2**62, ())) if dropout_p else 0
        generator = torch.Generator(q.device).manual_seed(ctx.seed)
        bias, places = _bias(mask), points if rounded is None else rounded
        q, k, v = (q * q.shape[-1] ** -0.5).contiguous(), k.contiguous(), v.contiguous()
        output = torch.empty_like(v)
        for s, r in _blocks(q):
            weights = _scores(q[s, :, r], k[s])
            prior = _prior(places[s], r, self_prior, weights.dtype)[:, None]
            if before_softmax:
                weights *= prior
            weights = _softmax(weights, _rows(bias, s, r))
            if not before_softmax:
                weights *= prior
            if dropout_p:
                weights = _drop(weights, dropout_p, generator)
            output[s, :, r] = weights.to(v.dtype) @ v[s]
        return output.div_(1 - dropout_p)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, points, rounded, mask = ctx.saved_tensors
        generator = torch.Generator(q.device).manual_seed(ctx.seed)
        scale, bias, places = q.shape[-1] ** -0.5, _bias(mask), points if rounded is None else rounded
        q, k, v = (q * scale).contiguous(), k.contiguous(), v.contiguous()
        grad = (grad / (1 - ctx.dropout_p)).contiguous()
        grad_q, grad_k, grad_v = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
        grad_points = torch.zeros_like(points)
        for s, r in _blocks(q):
            scores = _scores(q[s, :, r], k[s])
            prior = _prior(places[s], r, ctx.self_prior, scores.dtype)[:, None]
            probabilities = _softmax(scores * prior if ctx.before_softmax else scores, _rows(bias, s, r))
            kept = _drop(probabilities, ctx.dropout_p, generator) if ctx.dropout_p else probabilities
            weights = kept if ctx.before_softmax else kept * prior
            grad_v[s] += weights.to(v.dtype).mT @ grad[s, :, r]
            change = _at_least_float32(grad[s, :, r] @ v[s].mT)
            # dL/dE * E, summed over heads, is the gradient of log C; centred, it is that of the scores.
            flow = change * weights
            pull = flow.sum(1)
            # Straight-through: dL/dC of the rounded links times the derivative of the links as given.
            soft = prior[:, 0] if rounded is None else _prior(points[s], r, ctx.self_prior, scores.dtype)
            if rounded is not None:
                pull = (change * kept).sum(1) * soft
            centred = flow.addcmul_(probabilities, flow.sum(-1, keepdim=True), value=-1)
            if ctx.before_softmax:
                pull = (centred * scores).sum(1) * soft
                centred *= prior
            pull = pull.to(points.dtype) * _signs(points, r)
            grad_points[s, r] += pull.sum(-1)
            grad_points[s] -= pull.sum(-2)
            scores = centred.to(q.dtype)
            grad_q[s, :, r] = scores @ k[s]
            grad_k[s] += scores.mT @ q[s, :, r]
        return grad_q.mul_(scale), grad_k, grad_v, grad_points, None, None, None, None, None
