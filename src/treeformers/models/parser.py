"""The sequence-to-sequence parser (Ma et al. 2017): words in, the actions that build a tree out.

With `attention="deterministic"` the decoder reads the words that the parser's stack points at (Eq. 6); with
"probabilistic" it is the attention of Bahdanau et al. (2015) in the conditional GRU of the toolkit that the
paper used (Eqs. 4-5). Shapes: B batch, K hypotheses of a sentence, T words with the end mark, S actions, M
positions read, A different actions, H width of the decoder's state, D of the encoder's, C of the context.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
import torch.nn.functional as F
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel
from transformers import initialization as init
from transformers.utils.generic import ModelOutput

from treeformers.attention.deterministic import DeterministicAttention, gather_context
from treeformers.kernels.recurrence import PrecomputedCell, gru_recurrence, gru_state, gru_step
from treeformers.models.gru import BidirectionalGRU
from treeformers.models.words import LockedDropout, WordEncoder

IGNORED = -100
"""Target of a step or word without loss, as in torch."""


@strict
class ParserConfig(PreTrainedConfig):
    """Configuration of the parser; the defaults are the paper's sizes (Ma et al. 2017, Section 4.1).

    Args:
        actions: The target vocabulary, in the order of the output. Bottom-up it opens with "sh", "comb" and
            "nolabel"; top-down with "XX" and "</s>", then all openers, then their closers in the same order.
        tags: Part-of-speech tags that a small head predicts; none by default.
        vocab_size: Words and classes of unknown words.
        char_vocab_size: Characters.
        tag_vocab_size: Tags that are read.
        linearization: "bottom-up" (Section 3.1) or "top-down" (Vinyals et al. 2015).
        attention: "deterministic" (bottom-up only) or "probabilistic".
        heads: "none" is the scheme datt-bound, "right" datt-bound-head with the head of the right child.
        absent: What an item that is not on the stack reads: the "first" word, or "nothing".
        decoder: "gru", one cell over [y; c], or "conditional", GRU1 over y and GRU2 over c.
        encoder: See `WordEncoder`.
        encoder_layers: Likewise.
        encoder_heads: Likewise.
        embedding_size: Of words and actions, and inner width of the output layer.
        char_size: Width of the character channel; 0 leaves it out, as in the paper.
        tag_size: Width of the channel for tags that are given; 0 leaves it out, as in the paper.
        hidden_size: Of the decoder, and of one direction of the encoder.
        dropout: Of words, encoder states and the output layer; one mask a sentence.
        state_dropout: Of the decoder's state on its way to the next one; one mask a sentence.
        tag_weight: Of the loss of predicted tags beside that of the actions; 0 predicts none, as the paper.
        pretrained: Configuration of a pretrained encoder.
    """

    model_type = "treeparser"

    actions: list[str] | tuple[str, ...] = ()
    tags: list[str] | tuple[str, ...] = ()
    vocab_size: int = 2
    char_vocab_size: int = 0
    tag_vocab_size: int = 0
    linearization: Literal["bottom-up", "top-down"] = "bottom-up"
    attention: Literal["deterministic", "probabilistic"] = "deterministic"
    heads: Literal["none", "right"] = "none"
    absent: Literal["first", "nothing"] = "first"
    decoder: Literal["gru", "conditional"] = "gru"
    encoder: Literal["gru", "transformer", "treebert", "pretrained"] = "gru"
    encoder_layers: int = 1
    encoder_heads: int = 8
    embedding_size: int = 512
    char_size: int = 0
    tag_size: int = 0
    hidden_size: int = 256
    dropout: float | int = 0.3
    state_dropout: float | int = 0.0
    tag_weight: float | int = 0.0
    pretrained: dict[str, Any] | None = None

    def validate_sizes(self) -> None:
        if self.encoder_layers < 1:
            raise ValueError(f"encoder_layers is {self.encoder_layers}, expected at least 1")
        if self.char_size % 2:
            raise ValueError(f"char_size is {self.char_size}, expected an even number: two widths of filters")
        if self.encoder in ("transformer", "treebert") and 2 * self.hidden_size % self.encoder_heads:
            raise ValueError(
                f"encoder_heads is {self.encoder_heads}, expected a divisor of twice the hidden_size "
                f"{self.hidden_size}"
            )

    def validate_attention(self) -> None:
        if self.attention == "deterministic" and self.linearization == "top-down":
            raise ValueError(
                "attention is 'deterministic' over linearization 'top-down', where the right end of a "
                "constituent is not known: expected linearization 'bottom-up' or attention 'probabilistic'"
            )
        if self.attention == "probabilistic" and self.decoder == "gru":
            raise ValueError(
                "attention is 'probabilistic' with decoder 'gru', expected decoder 'conditional': attention "
                "asks with a state that has read the last action"
            )

    @property
    def slots(self) -> int:
        """M, the number of positions that a step reads."""
        return 5 if self.heads == "none" else 7


class Memory(NamedTuple):
    """What the decoder reads of encoded sentences, computed once.

    Attributes:
        states: (B, T, D).
        values: (B, T, M, C), A_m h_j, of deterministic attention.
        keys: (B, T, D'), of probabilistic attention.
        mask: (B, T), true on words and end mark.
        tag_logits: (B, T, number of tags).
        seen: (B, T, M, 3H + E), of `TreeParser.look_ahead`.
    """

    states: Tensor
    values: Tensor | None
    keys: Tensor | None
    mask: Tensor
    tag_logits: Tensor | None
    seen: Tensor | None = None

    def select(self, sentences: Tensor) -> "Memory":
        """The memory of some of the sentences, by index."""
        parts: list[Any] = [None if part is None else part[sentences] for part in self]
        return Memory(*parts)

    def first(self, count: int) -> "Memory":
        """The memory of the first sentences."""
        parts: list[Any] = [None if part is None else part[:count] for part in self]
        return Memory(*parts)


@dataclass
class ParserOutput(ModelOutput):
    """Output of `TreeParser`.

    Attributes:
        loss: Mean negative log-probability of an action, in nats, plus the weighted loss of the tags.
        logits: (B, S, A).
        tag_logits: (B, T, number of tags).
        attentions: With `output_attentions`, the probabilities alpha of Eq. 5 (B, S, T).
    """

    loss: Tensor | None = None
    logits: Tensor | None = None
    tag_logits: Tensor | None = None
    attentions: Tensor | None = None


class TreeParser(PreTrainedModel):
    """Encoder, decoder and output layer.

    `forward` gives the loss of given actions; `read`, `start` and `step` are for a search over them.
    """

    config: ParserConfig
    config_class = ParserConfig
    base_model_prefix = ""
    main_input_name = "lengths"

    def __init__(self, config: ParserConfig) -> None:
        super().__init__(config)
        width = config.hidden_size
        self.encoder = WordEncoder(
            config.vocab_size,
            config.char_vocab_size,
            config.tag_vocab_size,
            config.embedding_size,
            config.char_size,
            config.tag_size,
            width,
            config.encoder,
            config.encoder_layers,
            config.encoder_heads,
            config.dropout,
            config.pretrained,
        )
        self.initial = nn.Linear(self.encoder.width, width)
        self.decoder = _Decoder(config, self.encoder.width)
        self.tagger = nn.Linear(self.encoder.width, len(config.tags)) if config.tags else None
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """Recurrent matrices are orthogonal and biases 0, as in the paper's toolkit.

        Other matrices are uniform after Glorot and Bengio (2010), those of Eq. 6 as `DeterministicAttention`
        has them, and embeddings normal with a deviation of 0.1. The toolkit draws what is not square with
        0.01; from embeddings that small Adam needs epochs to tell the words apart. Convolutions and
        pretrained encoders start as their own classes do.
        """
        if isinstance(module, DeterministicAttention):
            init.normal_(
                module.alignment, std=(module.alignment.shape[0] * module.alignment.shape[2]) ** -0.5
            )
        elif isinstance(module, nn.Embedding):
            init.normal_(module.weight, std=0.1)
            if module.padding_idx is not None:
                init.zeros_(module.weight[module.padding_idx])
        elif isinstance(module, nn.Linear):
            init.xavier_uniform_(module.weight)
            if module.bias is not None:
                init.zeros_(module.bias)
        elif isinstance(module, BidirectionalGRU | _Cell):
            for direction in module.weight_hh.view(-1, *module.weight_hh.shape[-2:]):
                for gate in direction.chunk(3):
                    init.orthogonal_(gate)
            init.zeros_(module.bias)

    @property
    def pretrained(self) -> nn.Module | None:
        """The pretrained encoder, if there is one."""
        return self.encoder.body if self.config.encoder == "pretrained" else None

    def read(self, lengths: Tensor, **inputs: Tensor) -> Memory:
        """Encode sentences.

        Args:
            lengths: (B,), words and end mark.
            inputs: See `WordEncoder.forward`.
        """
        states = self.encoder(lengths, **inputs)
        mask = torch.arange(states.shape[1], device=lengths.device) < lengths[:, None]
        attention = self.decoder.attention
        return Memory(
            states=states,
            values=attention.align(states) if isinstance(attention, DeterministicAttention) else None,
            keys=attention.keys(states) if isinstance(attention, _ProbabilisticAttention) else None,
            mask=mask,
            tag_logits=None if self.tagger is None else self.tagger(states),
        )

    def start(self, memory: Memory) -> Tensor:
        """The decoder's first state (B, 1, H), from the mean of the words."""
        weights = memory.mask.to(memory.states.dtype)
        mean = torch.einsum("btd,bt->bd", memory.states, weights) / weights.sum(1, keepdim=True)
        return torch.tanh(self.initial(mean))[:, None]

    def look(self, memory: Memory, positions: Tensor) -> Tensor:
        """What the words at the positions add to the decoder (Eq. 6), for deterministic attention.

        It stays the same until the stack changes.

        Args:
            memory: B sentences.
            positions: (B, K, M).

        Returns:
            (B, K, 3H + E), the part of the context in the gates and in the output layer.
        """
        if memory.seen is not None:
            return gather_context(memory.seen, positions)
        assert memory.values is not None
        return self.decoder.seen(gather_context(memory.values, positions))

    def look_ahead(self, memory: Memory) -> Memory:
        """The same sentences with the terms of `look` computed for every word: cheaper where many look."""
        return memory if memory.values is None else memory._replace(seen=self.decoder.seen(memory.values))

    def known(self) -> Tensor:
        """What every last action adds to the decoder (A+1, 3H + E), for `step`."""
        return self.decoder.known(self.decoder.actions.weight)

    def step(
        self,
        memory: Memory,
        state: Tensor,
        action: Tensor,
        seen: Tensor | None = None,
        known: Tensor | None = None,
        among: slice = slice(None),
    ) -> tuple[Tensor, Tensor]:
        """One action further, for all hypotheses of all sentences.

        Args:
            memory: B sentences.
            state: (B, K, H).
            action: (B, K), the last action of each hypothesis; A before the first one.
            seen: (B, K, 3H + E), what `look` gave; with probabilistic attention None.
            known: what `known` gave, once for all steps.
            among: the actions in question.

        Returns:
            Logits of these actions (B, K, A') and the next state (B, K, H).
        """
        last = F.embedding(action, self.known() if known is None else known)
        if seen is None:
            state, context, _ = self.decoder.attend(state, last, memory)
            seen = self.decoder.seen(context)
        else:
            state = self.decoder.advance(state, last, seen)
        return self.decoder.predict(state, last, seen, among), state

    def forward(
        self,
        lengths: Tensor,
        actions: Tensor,
        positions: Tensor | None = None,
        tag_targets: Tensor | None = None,
        output_attentions: bool = False,
        **inputs: Tensor,
    ) -> ParserOutput:
        """The loss of given actions.

        Args:
            lengths: (B,), words and end mark.
            actions: (B, S), -100 on padding.
            positions: (B, S/2 + 1, M): the lists of step 0, and of each pair of a label step and the
                structure step after it, which see the same stack.
            tag_targets: (B, T), -100 where there is none.
            output_attentions: Return the probabilities of Eq. 5.
            inputs: See `WordEncoder.forward`.
        """
        memory = self.read(lengths, **inputs)
        previous = F.pad(actions.clamp(min=0), (1, -1), value=len(self.config.actions))
        embedded = self.decoder.actions(previous)
        state = self.start(memory)
        attentions = None
        if memory.values is not None:
            assert positions is not None
            logits = self.decoder.teach(state, embedded, gather_context(memory.values, positions))
        else:
            logits, attentions = self.decoder.teach_attending(state, embedded, memory)
        loss = F.cross_entropy(logits.float().flatten(0, 1), actions.flatten(), ignore_index=IGNORED)
        if memory.tag_logits is not None and tag_targets is not None:
            tagging = F.cross_entropy(
                memory.tag_logits.float().flatten(0, 1), tag_targets.flatten(), ignore_index=IGNORED
            )
            loss = loss + self.config.tag_weight * tagging
        return ParserOutput(loss, logits, memory.tag_logits, attentions if output_attentions else None)


class _Cell(nn.Module):
    """The weights of a recurrence; what comes from the input is computed outside."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight_hh = nn.Parameter(torch.empty(3 * width, width))
        self.bias = nn.Parameter(torch.empty(3 * width))

    def forward(self, gates: Tensor, state: Tensor) -> Tensor:
        """Gates (..., 3H) and state (..., H) to the next state."""
        return gru_step(gates, state, self.weight_hh, self.bias)

    def precomputed(self, gates: Tensor) -> PrecomputedCell:
        """This cell with input gates (B, S, 3H), for `gru_recurrence`."""
        return PrecomputedCell(gates[None], self.weight_hh[None], self.bias[None])


class _ProbabilisticAttention(nn.Module):
    """Eqs. 4-5 with the score v tanh(W s + U h) of Bahdanau et al. (2015)."""

    def __init__(self, width: int, state: int, inner: int) -> None:
        super().__init__()
        self.query = nn.Linear(state, inner)
        self.keys = nn.Linear(width, inner, bias=False)
        self.score = nn.Linear(inner, 1, bias=False)

    def forward(self, state: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """States (B, K, H) to contexts (B, K, D) and probabilities (B, K, T)."""
        alpha = self.weigh(self.query(state), memory)
        return alpha.to(memory.states.dtype) @ memory.states, alpha

    def weigh(self, query: Tensor, memory: Memory) -> Tensor:
        """Queries (B, K, D') to probabilities (B, K, T)."""
        assert memory.keys is not None
        scores = self.score(torch.tanh(query[:, :, None] + memory.keys[:, None]))[..., 0]
        at_least = torch.promote_types(scores.dtype, torch.float32)
        return scores.masked_fill(~memory.mask[:, None], -torch.inf).softmax(-1, dtype=at_least)


class _Decoder(nn.Module):
    """Actions, attention, recurrence and output layer."""

    def __init__(self, config: ParserConfig, width: int) -> None:
        super().__init__()
        hidden, inner, count = config.hidden_size, config.embedding_size, len(config.actions)
        deterministic = config.attention == "deterministic"
        context = inner if deterministic else width
        self.actions = nn.Embedding(count + 1, inner, padding_idx=count)  # before the first action: zeros
        self.attention: DeterministicAttention | _ProbabilisticAttention = (
            DeterministicAttention(width, context, config.slots)
            if deterministic
            else _ProbabilisticAttention(width, hidden, width)
        )
        self.from_action = nn.Linear(inner, 3 * hidden, bias=False)
        self.from_context = nn.Linear(context, 3 * hidden, bias=False)
        self.cell = _Cell(hidden)
        self.second = _Cell(hidden) if config.decoder == "conditional" else None
        self.state_out = nn.Linear(hidden, inner)
        self.action_out = nn.Linear(inner, inner, bias=False)
        self.context_out = nn.Linear(context, inner, bias=False)
        self.dropout = LockedDropout(config.dropout)
        self.output = nn.Linear(inner, count)
        self.state_dropout = config.state_dropout

    def seen(self, context: Tensor) -> Tensor:
        """The part of a context in the gates and in the output layer: (..., C) to (..., 3H + E)."""
        return torch.cat((self.from_context(context), self.context_out(context)), -1)

    def known(self, embedded: Tensor) -> Tensor:
        """The part of an action in the gates and in the output layer: (..., E) to (..., 3H + E)."""
        return torch.cat((self.from_action(embedded), self.action_out(embedded)), -1)

    def advance(self, state: Tensor, known: Tensor, seen: Tensor) -> Tensor:
        """The next state, given the last action and what was seen."""
        width = self.from_context.out_features
        gates, last = seen[..., :width], known[..., :width]
        if self.second is not None:
            return self.second(gates, self.cell(last, state))
        return self.cell(last + gates, state)

    def attend(self, state: Tensor, known: Tensor, memory: Memory) -> tuple[Tensor, Tensor, Tensor]:
        """The next state, the context that attention found on the way, and its probabilities."""
        assert self.second is not None
        asking = self.cell(known[..., : self.from_action.out_features], state)
        context, alpha = self.attention(asking, memory)
        return self.second(self.from_context(context), asking), context, alpha

    def predict(self, state: Tensor, known: Tensor, seen: Tensor, among: slice) -> Tensor:
        """Logits of the next action, of the actions in question."""
        width = self.from_context.out_features
        total = self.state_out(state) + known[..., width:] + seen[..., width:]
        return F.linear(torch.tanh(total), self.output.weight[among], self.output.bias[among])

    def _output(self, state: Tensor, embedded: Tensor, context: Tensor) -> Tensor:
        total = self.state_out(state) + self.action_out(embedded) + context
        return self.output(self.dropout(torch.tanh(total)))

    def teach(self, state: Tensor, embedded: Tensor, context: Tensor) -> Tensor:
        """Logits (B, S, A) of all steps, the actions (B, S, E) and the contexts (B, S/2 + 1, C) given.

        Only the recurrence itself goes step by step.
        """
        steps = embedded.shape[1]

        def spread(part: Tensor) -> Tensor:
            return part.repeat_interleave(2, dim=1)[:, 1 : steps + 1]

        gates, contexts = self.from_action(embedded), spread(self.from_context(context))
        if self.second is None:
            cells = [self.cell.precomputed(gates + contexts)]
        else:
            cells = [self.cell.precomputed(gates), self.second.precomputed(contexts)]
        (states,) = gru_recurrence(state.transpose(0, 1), cells, self._kept(state[:, 0]))
        return self._output(states, embedded, spread(self.context_out(context)))

    def teach_attending(self, state: Tensor, embedded: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """The same with probabilistic attention: logits (B, S, A) and probabilities (B, S, T)."""
        assert self.second is not None and isinstance(self.attention, _ProbabilisticAttention)
        state = state[:, 0]
        kept = self._kept(state)
        values = self.from_context(memory.states)  # of a mean, the mean of the values
        states, alphas = [], []
        for gate in self.from_action(embedded).unbind(1):
            recurrent = F.linear(state if kept is None else state * kept, self.cell.weight_hh, self.cell.bias)
            asking = gru_state(gate, recurrent, state)
            alpha = self.attention.weigh(self.attention.query(asking)[:, None], memory)
            seen = (alpha.to(values.dtype) @ values)[:, 0]
            state = self.second(seen, asking)
            states.append(state)
            alphas.append(alpha)
        found = torch.cat(alphas, 1)
        context = found.to(memory.states.dtype) @ memory.states
        return self._output(torch.stack(states, 1), embedded, self.context_out(context)), found

    def _kept(self, state: Tensor) -> Tensor | None:
        if not self.training or not self.state_dropout:
            return None
        return F.dropout(torch.ones_like(state), self.state_dropout)
