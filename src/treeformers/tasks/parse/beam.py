"""Beam search over the legal actions of a parser, all hypotheses of a batch in tensors.

Shapes: B sentences, K hypotheses of each, A actions, M positions, T words of the longest sentence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from treeformers.models.parser import Memory, ParserConfig, TreeParser

__all__ = ["Hypotheses", "search"]

MOST_OPENED = 8
"""Brackets opened in a row, top-down; the most in a treebank are six."""
MANY = 4
"""Hypotheses of a sentence from which on it pays to compute what each of its words adds in advance."""
LONGEST_FREE = 12
"""Tokens a word after which an unconstrained top-down search ends."""


@dataclass(frozen=True)
class Hypotheses:
    """What a search found, best first.

    Attributes:
        actions: by sentence and hypothesis, the numbers of the actions.
        scores: by sentence and hypothesis, the log-probability in nats; of several models their mean.
            Added up in float32, or in float64 if a model is.
    """

    actions: list[list[list[int]]]
    scores: list[list[float]]

    def of(self, sentence: int) -> Iterator[tuple[list[int], float]]:
        """Actions and score of every hypothesis of a sentence."""
        return zip(self.actions[sentence], self.scores[sentence], strict=True)


def search(
    models: Sequence[TreeParser],
    memories: Sequence[Memory],
    size: int,
    constrained: bool = True,
    count: int | None = None,
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
        count: hypotheses of a sentence to return, at most K; all by default.

    Raises:
        ValueError: a model whose logits are not numbers, as after a training that diverged.
    """
    config = models[0].config
    lengths = memories[0].mask.sum(1) - 1
    order = lengths.argsort(descending=True, stable=True)  # so that the finished ones drop off the end
    if not torch.equal(order, torch.arange(len(order), device=order.device)):
        memories = [memory.select(order) for memory in memories]
    runs = [_Run(model, memory, size) for model, memory in zip(models, memories, strict=True)]
    state = _first_state(lengths[order], config, constrained)
    scores = torch.zeros(len(order), 1, device=order.device)
    stay = len(config.actions)
    action = torch.full_like(order, stay)[:, None]  # before the first one the models expect the same number
    finished: list[Tensor] = []  # the last sentences first
    count = size if count is None else min(count, size)
    trail: list[tuple[Tensor, Tensor]] = []
    while len(scores):
        first, legal = state.legal()
        total = torch.stack([run.step(state, action, first, legal) for run in runs]).mean(0)
        candidates = (scores[..., None] + total).flatten(1)
        scores, best = candidates.topk(min(size, candidates.shape[1]), dim=1)
        parent, action = best // total.shape[2], best % total.shape[2] + first
        # Where there are fewer hypotheses than places, the others must not make illegal moves. Nor must nan.
        action = torch.where(scores > -torch.inf, action, stay)
        trail.append((parent, action))
        state.advance(parent, action)
        for run in runs:
            run.follow(parent, state)
        alive = state.alive(count)
        if alive < len(scores):
            room = (0, size - scores.shape[1])
            finished.append(F.pad(scores[alive:], room, value=-torch.inf))
            scores, action = scores[:alive], action[:alive]
            state.keep(alive)
            for run in runs:
                run.keep(alive)
    final = torch.cat(finished[::-1])
    if final.isnan().any():
        raise ValueError("the model gives no probabilities but nan: its weights are damaged")
    found = _follow(trail, final, stay, count)
    back = order.argsort().tolist()
    return Hypotheses([found[row][0] for row in back], [found[row][1] for row in back])


def _follow(
    trail: list[tuple[Tensor, Tensor]], final: Tensor, stay: int, count: int
) -> list[tuple[list[list[int]], list[float]]]:
    """Go back from the last steps to the first, and drop "stay", which is no action."""
    place = torch.arange(count, device=final.device).repeat(len(final), 1)
    steps = []
    for parent, action in reversed(trail):
        rows, width = parent.shape
        here = place[:rows].clamp(max=width - 1)  # beyond it there is no hypothesis
        steps.append(F.pad(action.gather(1, here), (0, 0, 0, len(final) - rows), value=stay))
        place[:rows] = parent.gather(1, here)
    taken = torch.stack(steps[::-1], -1).tolist()
    found = []
    for row, scores in enumerate(final[:, :count].tolist()):
        kept = [score for score in scores if score > -torch.inf]  # these come first
        actions = [[number for number in taken[row][k] if number != stay] for k in range(len(kept))]
        found.append((actions, kept))
    return found


class _Run:
    """One of the models in the middle of a search."""

    def __init__(self, model: TreeParser, memory: Memory, size: int) -> None:
        self.model, self.known = model, model.known()
        self.memory = model.look_ahead(memory) if size >= MANY else memory
        self.hidden = model.start(memory)
        self.seen: Tensor | None = None

    def step(self, state: _State, action: Tensor, first: int, legal: Tensor) -> Tensor:
        """Log-probabilities (B, K, A') of the actions from `first` on, after the last actions (B, K)."""
        if state.moved and self.model.config.attention == "deterministic":
            self.seen = self.model.look(self.memory, state.positions(self.model.config))
        among = slice(first, first + legal.shape[-1])
        logits, self.hidden = self.model.step(self.memory, self.hidden, action, self.seen, self.known, among)
        if legal.shape[-1] > logits.shape[-1]:
            logits = F.pad(logits, (0, 1))  # to stay, all that a finished hypothesis can do
        at_least = torch.promote_types(logits.dtype, torch.float32)
        return logits.masked_fill(~legal, -torch.inf).log_softmax(-1, dtype=at_least)

    def follow(self, parent: Tensor, state: _State) -> None:
        """Go on with the chosen hypotheses (B, K)."""
        self.hidden = _gather(self.hidden, parent)
        if self.seen is not None and not state.moved:
            self.seen = _gather(self.seen, parent)

    def keep(self, count: int) -> None:
        """Forget all but the first sentences."""
        self.memory = self.memory.first(count)
        self.hidden = self.hidden[:count]
        if self.seen is not None:
            self.seen = self.seen[:count]


def _gather(part: Tensor, parent: Tensor) -> Tensor:
    """(B, K, D) to what belongs to the parents (B, K'): (B, K', D)."""
    if part.shape[1] == parent.shape[1] == 1:
        return part
    row = torch.arange(len(part), device=part.device)[:, None] * part.shape[1] + parent
    return F.embedding(row, part.flatten(0, 1))  # several times as fast as `gather`


def _first_state(lengths: Tensor, config: ParserConfig, constrained: bool) -> _State:
    if config.linearization == "bottom-up":
        return _BottomUp(lengths, config)
    return _TopDown(lengths, config) if constrained else _Unconstrained(lengths, config)


class _Stacks:
    """The stacks of all hypotheses as linked lists: nothing is copied where hypotheses branch.

    An item is a number; it has a value and the item below it. Item 0 lies below all, with the value -1.
    """

    def __init__(self, sentences: Tensor) -> None:
        self.values = torch.full_like(sentences, -1)
        self.beneath = torch.zeros_like(sentences)
        self.used = 1

    def push(self, values: Tensor, beneath: Tensor) -> Tensor:
        """New items (B, K)."""
        start, self.used = self.used, self.used + values.shape[1]
        if self.used > self.values.shape[1]:
            room = (0, 2 * self.used)
            self.values, self.beneath = F.pad(self.values, room), F.pad(self.beneath, room)
        self.values[:, start : self.used] = values
        self.beneath[:, start : self.used] = beneath
        return torch.arange(start, self.used, device=values.device).expand_as(values)

    def value(self, items: Tensor) -> Tensor:
        return self.values.gather(1, items)

    def below(self, items: Tensor) -> Tensor:
        return self.beneath.gather(1, items)

    def keep(self, count: int) -> None:
        self.values, self.beneath = self.values[:count], self.beneath[:count]


class _State(ABC):
    """The states of all hypotheses (B, K), K from 1 up.

    Attributes:
        moved: whether the positions changed since the step before.
    """

    moved = True

    def __init__(self, lengths: Tensor, config: ParserConfig) -> None:
        self.lengths = lengths[:, None]
        self.count = len(config.actions)

    @abstractmethod
    def legal(self) -> tuple[int, Tensor]:
        """The first of the actions in question, and which of them may come next (B, K, A').

        Every hypothesis has one. The last of them may be A, with which a finished one stays.
        """

    @abstractmethod
    def advance(self, parent: Tensor, action: Tensor) -> None:
        """Follow the chosen hypotheses (B, K) with their next actions (B, K); A for one that stays."""

    @abstractmethod
    def alive(self, count: int) -> int:
        """The sentences up to the last one of which not all the best `count` hypotheses are finished."""

    def positions(self, config: ParserConfig) -> Tensor:
        """The lists D_i (B, K, M)."""
        raise AssertionError("top-down, no position is known")

    def keep(self, count: int) -> None:
        """Forget all but the first sentences."""
        for name, part in vars(self).items():
            if isinstance(part, Tensor) and part.ndim > 1:
                setattr(self, name, part[:count])
            elif isinstance(part, _Stacks):
                part.keep(count)


class _BottomUp(_State):
    """Ma et al. (2017), Table 3: the stack holds the first words of its spans; the top one ends at `next`."""

    def __init__(self, lengths: Tensor, config: ParserConfig) -> None:
        super().__init__(lengths, config)
        self.steps = [4 * length - 2 for length in lengths.tolist()]
        self.step = 0
        self.stacks = _Stacks(self.lengths)
        self.top = self.second = self.next = torch.zeros_like(self.lengths)

    def legal(self) -> tuple[int, Tensor]:
        if self.step % 2 == 0:
            return 0, torch.stack((self.next < self.lengths, self.second > 0), -1)
        legal = torch.ones_like(self.lengths, dtype=torch.bool)[..., None].repeat(1, 1, self.count - 2)
        legal[..., 0] = self.step < 4 * self.lengths - 3
        return 2, legal

    def advance(self, parent: Tensor, action: Tensor) -> None:
        top, second, following = (part.gather(1, parent) for part in (self.top, self.second, self.next))
        self.moved = self.step % 2 == 0
        if self.moved:
            shift = action == 0
            start = torch.where(shift, following, self.stacks.value(second))
            beneath = torch.where(shift, top, self.stacks.below(second))
            top = torch.where(action > 1, top, self.stacks.push(start, beneath))
            second, following = self.stacks.below(top), following + shift.long()
        self.top, self.second, self.next = top, second, following
        self.step += 1

    def alive(self, count: int) -> int:
        return sum(self.step < steps for steps in self.steps)

    def positions(self, config: ParserConfig) -> Tensor:
        top = self.stacks.value(self.top)
        places = [torch.zeros_like(top), self.stacks.value(self.second), top, self.next]
        if config.heads == "right":
            places += [top - 1, self.next - 1]
        positions = torch.stack((*places, self.lengths.expand_as(top)), -1)
        return positions.clamp(min=-1 if config.absent == "nothing" else 0)


class _TopDown(_State):
    """Brackets of Vinyals et al. (2015) under the rules that make a tree over exactly these words."""

    def __init__(self, lengths: Tensor, config: ParserConfig) -> None:
        super().__init__(lengths, config)
        self.labels = torch.arange((self.count - 2) // 2, device=lengths.device)
        self.stacks = _Stacks(self.lengths)  # of the labels of open nodes
        self.top = self.used = torch.zeros_like(self.lengths)
        self.fresh = torch.zeros_like(self.lengths)  # brackets opened since the last word or closed bracket
        self.done = torch.zeros_like(self.lengths, dtype=torch.bool)

    def legal(self) -> tuple[int, Tensor]:
        left, inside = self.used < self.lengths, self.top > 0
        word = (left & inside)[..., None]
        opening = (left & (self.fresh < MOST_OPENED))[..., None].expand(-1, -1, len(self.labels))
        closes = inside & (self.fresh == 0) & ((self.stacks.below(self.top) > 0) | ~left)
        closing = (self.labels == self.stacks.value(self.top)[..., None]) & closes[..., None]
        return 0, torch.cat((word, torch.zeros_like(word), opening, closing, self.done[..., None]), -1)

    def advance(self, parent: Tensor, action: Tensor) -> None:
        top, used, fresh, done = (
            part.gather(1, parent) for part in (self.top, self.used, self.fresh, self.done)
        )
        word, stays = action == 0, action == self.count
        opening = (action >= 2) & (action < 2 + len(self.labels))
        closing = (action >= 2 + len(self.labels)) & ~stays
        opened = self.stacks.push(action - 2, top)
        self.top = torch.where(opening, opened, torch.where(closing, self.stacks.below(top), top))
        self.used = used + word.long()
        self.fresh = torch.where(opening, fresh + 1, torch.where(word | closing, 0, fresh))
        self.done = done | stays | (closing & (self.top == 0))

    def alive(self, count: int) -> int:
        return _unfinished(self.done[:, :count])


class _Unconstrained(_State):
    """Any token after any other, as a sequence-to-sequence model without a grammar does it."""

    def __init__(self, lengths: Tensor, config: ParserConfig) -> None:
        super().__init__(lengths, config)
        self.step = 0
        self.done = torch.zeros_like(self.lengths, dtype=torch.bool)

    def legal(self) -> tuple[int, Tensor]:
        done = self.done[..., None]
        return 0, torch.cat(((~done).expand(-1, -1, self.count), done), -1)

    def advance(self, parent: Tensor, action: Tensor) -> None:
        self.step += 1
        over = self.step >= LONGEST_FREE * self.lengths + LONGEST_FREE
        self.done = self.done.gather(1, parent) | (action == 1) | (action == self.count) | over

    def alive(self, count: int) -> int:
        return _unfinished(self.done[:, :count])


def _unfinished(done: Tensor) -> int:
    """The number of rows (B, K) up to the last one that is not all true."""
    return len(done) - int(done.all(1).flip(0).long().cumprod(0).sum())
