"""Beam search over the legal actions of a parser, all hypotheses of a batch in tensors.

Shapes: B sentences, K hypotheses of each, A actions, M positions, T words of the longest sentence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from treeformers.models.parser import Memory, ParserConfig, TreeParser

__all__ = ["Hypotheses", "search"]

MOST_OPENED = 8
"""Brackets opened in a row, top-down; the most in a treebank are six."""
LONGEST_FREE = 12
"""Tokens a word after which an unconstrained top-down search ends."""


@dataclass(frozen=True)
class Hypotheses:
    """What a search found, best first.

    Attributes:
        actions: by sentence and hypothesis, the numbers of the actions.
        scores: by sentence and hypothesis, the log-probability in nats; of several models their mean.
    """

    actions: list[list[list[int]]]
    scores: list[list[float]]

    def of(self, sentence: int) -> Iterator[tuple[list[int], float]]:
        """Actions and score of every hypothesis of a sentence."""
        return zip(self.actions[sentence], self.scores[sentence], strict=True)


def search(
    models: Sequence[TreeParser], memories: Sequence[Memory], size: int, constrained: bool = True
) -> Hypotheses:
    """Find the action sequences of highest probability.

    The probabilities are those among the legal actions. Several models share their log-probabilities at every
    step; they may differ in attention and encoder, not in their actions.

    Args:
        models: one, or an ensemble.
        memories: what each has read of the B sentences.
        size: K; 1 is greedy.
        constrained: top-down, follow legal moves only. Otherwise a hypothesis ends with "</s>", and its
            brackets may be malformed.
    """
    config = models[0].config
    device = memories[0].states.device
    lengths = memories[0].mask.sum(1) - 1
    order = lengths.argsort(descending=True)  # so that the finished ones drop off the end
    memories = [memory.select(order) for memory in memories]
    state: _State
    if config.linearization == "bottom-up":
        state = _BottomUp(lengths[order], config)
    elif constrained:
        state = _TopDown(lengths[order], config)
    else:
        state = _Unconstrained(lengths[order], config)
    scores = torch.zeros(len(order), 1, device=device)
    action = torch.full((len(order), 1), len(config.actions), device=device)
    hidden = [model.start(memory) for model, memory in zip(models, memories, strict=True)]
    seen: list[Tensor | None] = [None] * len(models)
    trail: list[tuple[Tensor, Tensor]] = []
    final = torch.full((len(order), size), -torch.inf, device=device)
    ended = [0] * len(order)
    while len(scores):
        if state.moved:
            seen = [_look(model, memory, state) for model, memory in zip(models, memories, strict=True)]
        total = torch.zeros(())
        legal = state.legal()
        for number, (model, memory) in enumerate(zip(models, memories, strict=True)):
            logits, hidden[number] = model.step(memory, hidden[number], action, seen[number])
            total = total + logits.float().masked_fill(~legal, -torch.inf).log_softmax(-1)
        # A finished hypothesis has no legal action, and the log-softmax of nothing is nan.
        total = (total / len(models)).nan_to_num(nan=-torch.inf, neginf=-torch.inf)
        stay = torch.where(state.done, 0.0, -torch.inf)[..., None]
        candidates = (scores[..., None] + torch.cat((total, stay), -1)).flatten(1)
        scores, best = candidates.topk(min(size, candidates.shape[1]), dim=1)
        width = len(config.actions) + 1
        parent, action = best // width, best % width
        trail.append((parent, action))
        hidden = [_gather(part, parent) for part in hidden]
        state.advance(parent, action)
        if not state.moved:
            seen = [None if part is None else _gather(part, parent) for part in seen]
        over = (state.done | scores.isneginf()).all(1)
        alive = len(over) - int(over.flip(0).long().cumprod(0).sum())
        if alive < len(over):
            final[alive : len(over), : scores.shape[1]] = scores[alive:]
            ended[alive : len(over)] = [len(trail)] * (len(over) - alive)
            memories = [memory.first(alive) for memory in memories]
            scores, action = scores[:alive], action[:alive]
            hidden = [part[:alive] for part in hidden]
            seen = [None if part is None else part[:alive] for part in seen]
            state.keep(alive)
    found = _follow(trail, final, ended, len(config.actions))
    back = order.argsort().tolist()
    return Hypotheses([found[row][0] for row in back], [found[row][1] for row in back])


def _look(model: TreeParser, memory: Memory, state: _State) -> Tensor | None:
    if memory.values is None:
        return None
    return model.look(memory, state.positions(model.config))


def _gather(part: Tensor, parent: Tensor) -> Tensor:
    """(B, K, ...) to what belongs to the parents (B, K')."""
    index = parent.reshape(*parent.shape, *[1] * (part.ndim - 2)).expand(-1, -1, *part.shape[2:])
    return part.gather(1, index)


def _follow(
    trail: list[tuple[Tensor, Tensor]], final: Tensor, ended: list[int], stay: int
) -> list[tuple[list[list[int]], list[float]]]:
    """Go back from the last steps to the first; "stay" is no action."""
    count, size = final.shape
    place = torch.arange(size, device=final.device).expand(count, size)
    steps = []
    last = torch.tensor(ended, device=final.device)
    for step in range(len(trail) - 1, -1, -1):
        parent, action = (torch.nn.functional.pad(part, (0, size - part.shape[1])) for part in trail[step])
        rows = len(parent)
        here = (last[:rows] > step)[:, None]
        steps.append(torch.full((count, size), stay, device=final.device))
        steps[-1][:rows] = torch.where(here, action.gather(1, place[:rows]), stay)
        moved = torch.where(here, parent.gather(1, place[:rows]), place[:rows])
        place = torch.cat((moved, place[rows:]))
    taken = torch.stack(steps[::-1], -1).tolist()
    scores = final.tolist()
    found = []
    for row in range(count):
        kept = [k for k in range(size) if scores[row][k] > -torch.inf]
        actions = [[number for number in taken[row][k] if number != stay] for k in kept]
        found.append((actions, [scores[row][k] for k in kept]))
    return found


class _State(ABC):
    """The states of all hypotheses (B, K), K from 1 up.

    Attributes:
        done: (B, K), whether a hypothesis is finished.
        moved: whether the positions changed since the step before.
    """

    done: Tensor
    moved = True

    def __init__(self, lengths: Tensor, config: ParserConfig) -> None:
        self.lengths = lengths[:, None]
        self.done = torch.zeros_like(self.lengths, dtype=torch.bool)

    @abstractmethod
    def legal(self) -> Tensor:
        """(B, K, A), true where an action may come next; none for a finished hypothesis."""

    @abstractmethod
    def advance(self, parent: Tensor, action: Tensor) -> None:
        """Follow the chosen hypotheses (B, K) with their next actions (B, K); A for one that stays."""

    @abstractmethod
    def positions(self, config: ParserConfig) -> Tensor:
        """The lists D_i (B, K, M)."""

    def keep(self, count: int) -> None:
        """Forget all but the first sentences."""
        for name, part in vars(self).items():
            if isinstance(part, Tensor) and part.ndim > 1:
                setattr(self, name, part[:count])


class _BottomUp(_State):
    """Ma et al. (2017), Table 3: the stack as the starts of its spans; the last one ends at the next word."""

    def __init__(self, lengths: Tensor, config: ParserConfig) -> None:
        super().__init__(lengths, config)
        self.step = 0
        self.starts = lengths.new_zeros(len(lengths), 1, int(lengths.max()) + 1)
        self.depth = torch.zeros_like(self.lengths)
        self.next = torch.zeros_like(self.lengths)
        self.kinds = len(config.actions)

    def legal(self) -> Tensor:
        legal = self.done.new_zeros(*self.done.shape, self.kinds)
        if self.step % 2:
            legal[..., 2:] = ~self.done[..., None]
            legal[..., 2] &= self.step < 4 * self.lengths - 3
        else:
            legal[..., 0] = self.next < self.lengths
            legal[..., 1] = self.depth > 1
            legal &= ~self.done[..., None]
        return legal

    def advance(self, parent: Tensor, action: Tensor) -> None:
        if self.step % 2 == 0:
            self.depth, self.next = self.depth.gather(1, parent), self.next.gather(1, parent)
            shift, combine = action == 0, action == 1
            # Beyond the top of the stack nothing is read, so the next word may stand there in any case.
            self.starts = _gather(self.starts, parent).scatter(2, self.depth[..., None], self.next[..., None])
            self.depth = self.depth + shift.long() - combine.long()
            self.next = self.next + shift.long()
        else:
            self.starts = _gather(self.starts, parent)
            self.depth, self.next = self.depth.gather(1, parent), self.next.gather(1, parent)
        self.moved = self.step % 2 == 0
        self.step += 1
        self.done = (self.step >= 4 * self.lengths - 2).expand_as(self.depth)

    def positions(self, config: ParserConfig) -> Tensor:
        nothing = -1 if config.absent == "nothing" else 0
        two, one = self.depth > 1, self.depth > 0
        top = self.starts.gather(2, (self.depth - 1).clamp(min=0)[..., None])[..., 0]
        second = self.starts.gather(2, (self.depth - 2).clamp(min=0)[..., None])[..., 0]
        first = torch.zeros_like(top)
        left = torch.where(two, second, nothing)
        start = torch.where(one, top, nothing)
        last = self.lengths.expand_as(top)
        if config.heads == "none":
            return torch.stack((first, left, start, self.next, last), -1)
        heads = torch.where(two, top - 1, nothing), torch.where(one, self.next - 1, nothing)
        return torch.stack((first, left, start, self.next, *heads, last), -1)


class _TopDown(_State):
    """Brackets of Vinyals et al. (2015) under the rules that make a tree over exactly these words."""

    def __init__(self, lengths: Tensor, config: ParserConfig) -> None:
        super().__init__(lengths, config)
        self.labels = (len(config.actions) - 2) // 2
        self.open = lengths.new_zeros(len(lengths), 1, MOST_OPENED + 1)
        self.depth = torch.zeros_like(self.lengths)
        self.used = torch.zeros_like(self.lengths)
        self.fresh = torch.zeros_like(self.lengths)  # brackets opened since the last word or closed bracket

    def legal(self) -> Tensor:
        left, inside = self.used < self.lengths, self.depth > 0
        word = (left & inside)[..., None]
        opening = (left & (self.fresh < MOST_OPENED))[..., None].expand(-1, -1, self.labels)
        closes = inside & (self.fresh == 0) & ((self.depth > 1) | ~left)
        top = self.open.gather(2, (self.depth - 1).clamp(min=0)[..., None])
        closing = (torch.arange(self.labels, device=top.device) == top) & closes[..., None]
        legal = torch.cat((word, torch.zeros_like(word), opening, closing), -1)
        return legal & ~self.done[..., None]

    def advance(self, parent: Tensor, action: Tensor) -> None:
        depth, used, fresh, done = (
            part.gather(1, parent) for part in (self.depth, self.used, self.fresh, self.done)
        )
        going = ~done & (action < 2 + 2 * self.labels)
        word = going & (action == 0)
        opening = going & (action >= 2) & (action < 2 + self.labels)
        closing = going & (action >= 2 + self.labels)
        self.open = _gather(self.open, parent)
        if int(depth.max()) + 1 >= self.open.shape[2]:
            self.open = torch.nn.functional.pad(self.open, (0, self.open.shape[2]))
        label = torch.where(opening, action - 2, self.open.gather(2, depth[..., None])[..., 0])
        self.open = self.open.scatter(2, depth[..., None], label[..., None])
        self.depth = depth + opening.long() - closing.long()
        self.used = used + word.long()
        self.fresh = torch.where(opening, fresh + 1, torch.where(word | closing, 0, fresh))
        self.done = done | (closing & (self.depth == 0))

    def positions(self, config: ParserConfig) -> Tensor:
        raise AssertionError("top-down, no position is known")


class _Unconstrained(_State):
    """Any token after any other, as a sequence-to-sequence model without a grammar does it."""

    def __init__(self, lengths: Tensor, config: ParserConfig) -> None:
        super().__init__(lengths, config)
        self.step = 0
        self.kinds = len(config.actions)

    def legal(self) -> Tensor:
        return (~self.done)[..., None].expand(-1, -1, self.kinds)

    def advance(self, parent: Tensor, action: Tensor) -> None:
        self.step += 1
        over = self.step >= LONGEST_FREE * self.lengths + LONGEST_FREE
        self.done = self.done.gather(1, parent) | (action == 1) | over

    def positions(self, config: ParserConfig) -> Tensor:
        raise AssertionError("top-down, no position is known")
