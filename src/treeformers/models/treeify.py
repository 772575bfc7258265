"""Constituent attention for the encoders of transformers, without editing them.

Ginn (2024) calls this attention a drop-in for any Transformer. Here it is one for BERT, RoBERTa, DistilBERT,
ELECTRA and ModernBERT: every self-attention gets link queries and keys of its own, and transformers computes
it through an attention implementation named "constituent".
Shapes: B batch, T tokens, H heads, G priors a layer, D width.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import torch
import torch.nn.functional as F
import transformers
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, AutoConfig, PreTrainedModel
from transformers.masking_utils import sdpa_mask

from treeformers.attention.constituent import (
    ConstituentAttention,
    constituent_attention,
    constituent_weights,
)
from treeformers.models.treebert_checkpoint import read_safetensors

__all__ = ["IMPLEMENTATION", "load", "treeify"]

IMPLEMENTATION = "constituent"
"""Name of the attention implementation, for `model.set_attn_implementation`."""

Model = TypeVar("Model", bound=PreTrainedModel)

_ATTENTION = {
    "bert": "encoder.layer.{}.attention.self",
    "distilbert": "transformer.layer.{}.attention",
    "electra": "encoder.layer.{}.attention.self",
    "modernbert": "layers.{}.attn",
    "roberta": "encoder.layer.{}.attention.self",
}
_OPTIONS = "constituent_attention"  # where the configuration of a model keeps them


class _Pass:
    """What the layers of a model hand to each other in one forward pass; never copied nor saved."""

    def __init__(self) -> None:
        self.mask: Tensor | None = None
        self.states: dict[int, Tensor] = {}
        self.log_links: dict[int, Tensor] = {}
        self.wanted = self.with_gradient = False
        self.waits = False  # for a backward pass, which computes the layers again
        self.before_it: tuple[Tensor | None, dict[int, Tensor]] = None, {}  # mask and states of what waits

    def __reduce__(self) -> tuple[type[_Pass], tuple[()]]:
        return type(self), ()

    def start(self, module: nn.Module, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Before the model: `output_links` is ours, it does not know it."""
        self.wanted = bool(kwargs.pop("output_links", False))
        return args, kwargs

    def clear(self, module: nn.Module, args: Any) -> None:
        """Before the encoder."""
        self.with_gradient = torch.is_grad_enabled()
        if self.waits and self.with_gradient:
            raise ValueError(
                "gradient checkpointing holds the links of one forward pass, and one before this has had no "
                "backward pass yet: expected forward and backward by turns, and torch.no_grad() around others"
            )
        self.before_it = self.mask, self.states
        self.mask, self.states, self.log_links = None, {}, {}

    def finish(self, module: nn.Module, args: Any, output: Any) -> None:
        """After the encoder, and after the model around it."""
        links = tuple(self.log_links[number].double().exp() for number in sorted(self.log_links)) or None
        given: Any = module
        given.links = links and tuple(link.detach() for link in links)
        if self.wanted and links and isinstance(output, dict):
            output["links"] = links

    def close(self, module: nn.Module, args: Any, output: Any) -> None:
        """After all: without gradient checkpointing nobody needs the graph of the links any more."""
        self.wanted = False
        self.log_links = {}
        if self.waits:
            self.mask, self.states = self.before_it
        elif self.with_gradient and module.training and getattr(module, "is_gradient_checkpointing", False):
            self.waits = True
        else:
            self.mask, self.states = None, {}
        self.before_it = None, {}


class _Links(ConstituentAttention):
    """The links of one layer, made before its self-attention and used by it."""

    def __init__(self, width: int, options: Mapping[str, Any], number: int, shared: _Pass) -> None:
        super().__init__(
            width, options["link_scale"], options["link_arithmetic"], groups=options["num_priors"]
        )
        self.settings = {
            "self_prior": float(options["self_prior"]),
            "before_softmax": options["prior"] == "inside",
            "straight_through": bool(options["hard_links"]),
        }
        self.number, self.shared = number, shared

    def before(self, attention: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Make the links from what the self-attention is about to see."""
        if attention.config._attn_implementation != IMPLEMENTATION:
            return
        shared, number = self.shared, self.number
        if shared.with_gradient and not torch.is_grad_enabled():
            raise ValueError(
                "gradient checkpointing with use_reentrant=True would cut the links of a layer from those of "
                'the layer below: expected gradient_checkpointing_kwargs={"use_reentrant": False}'
            )
        if number == 0 and number in shared.states:  # the last layer that is computed again
            shared.waits = False
        hidden = args[0] if args else kwargs["hidden_states"]
        if number == 0 and (seen := _seen(kwargs.get("attention_mask"))) is not None:
            shared.mask = seen.any(1)
        log_links, state = self(hidden, shared.states.get(number - 1), shared.mask)
        # Each layer has its entry, so that one that is computed again on the way back finds that below.
        shared.states[number], shared.log_links[number] = state, log_links


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **kwargs: Any,
) -> tuple[Tensor, Tensor | None]:
    """The attention implementation: (B, H, T, D/H) to (B, T, H, D/H), and the weights if they are wanted."""
    links: Any = getattr(module, "constituents", None)
    if links is None:
        raise ValueError(
            f"{type(module).__name__} has no links, as attn_implementation={IMPLEMENTATION!r} needs: "
            "call treeformers.treeify(model)"
        )
    if scaling is not None:
        query = query * (scaling * query.shape[-1] ** 0.5)
    log_links = links.shared.log_links[links.number]
    seen = _seen(attention_mask)
    if seen is not None:
        seen = seen.expand(query.shape[0], -1, -1)
    weights = None
    if kwargs.get("output_attentions"):
        weights = constituent_weights(query, key, log_links, seen, log=True, **links.settings)
        context = F.dropout(weights, dropout).to(value.dtype) @ value
    else:
        context = constituent_attention(
            query, key, value, log_links, seen, dropout, log=True, **links.settings
        )
    return context.transpose(1, 2).contiguous(), weights


def _seen(attention_mask: Tensor | None) -> Tensor | None:
    """Where a token may attend to another (B, T, T), from a boolean or additive mask (B, 1, T, T)."""
    if attention_mask is None:
        return None
    mask = attention_mask[:, 0]
    return mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2


AttentionInterface.register(IMPLEMENTATION, _attend)
AttentionMaskInterface.register(IMPLEMENTATION, sdpa_mask)


def treeify(
    model: Model,
    *,
    prior: Literal["outside", "inside"] = "outside",
    self_prior: float = 1.0,
    link_scale: float | None = None,
    link_arithmetic: Literal["log", "probability"] = "log",
    num_priors: int = 1,
    hard_links: bool = False,
) -> Model:
    """Give an encoder constituent attention (Wang et al. 2019, Eqs. 2-8), in place.

    Every self-attention gets a `ConstituentAttention` with fresh weights as its submodule `constituents`,
    which links neighbours from the input of the self-attention. All else stays as it is, so heads, training,
    `save_pretrained` and gradient checkpointing (not the reentrant kind) work as before. After a forward pass
    `model.links` holds the accumulated links of every layer (B, T-1), without gradient; with
    `output_links=True` the output has them as `links`, with gradient. With several priors they are
    (B, G, T-1).

    Whatever attention implementation the model was loaded with is replaced by "constituent", which runs
    wherever torch does, honours padding and sliding windows, and gives weights with
    `output_attentions=True`. `model.set_attn_implementation("sdpa")`, or "eager", "flex_attention" and flash
    attention where the model has them, switches the prior off: the model is then the untouched one.
    `model.set_attn_implementation("constituent")` switches it on again.

    Args:
        model: An encoder of transformers, or a head over one: BERT, RoBERTa, DistilBERT, ELECTRA, ModernBERT.
        prior: "outside" the softmax (Eq. 2) or "inside" it, see `constituent_attention`.
        self_prior: Prior of a token with itself, 1 (Eq. 3) or 0 (the code released with the paper).
        link_scale: Divisor of the link scores; D/2 by default, or D/2G with several priors.
        link_arithmetic: "log" hands log-odds of the links from layer to layer, "probability" the links.
        num_priors: G, priors of a layer, each of H/G heads.
        hard_links: Attention sees links rounded to 0 or 1, see `constituent_prior`.

    Returns:
        The model.

    Raises:
        ValueError: Another architecture, a decoder, a model that has links already or was saved with some
            (see `load`), or an option out of range.
    """
    config: Any = getattr(model, "config", None)
    kind = getattr(config, "model_type", type(model).__name__)
    if kind not in _ATTENTION:
        raise ValueError(f"treeify of a model of kind {kind!r}, expected one of {', '.join(_ATTENTION)}")
    if getattr(config, "is_decoder", False) or getattr(config, "add_cross_attention", False):
        raise ValueError("treeify of a decoder, expected an encoder: links need both neighbours")
    if getattr(config, _OPTIONS, None) is not None:
        raise ValueError(
            "this model has links already, or was saved with some: treeformers.models.treeify.load(folder) "
            "restores those of a folder"
        )
    options = {
        "prior": prior,
        "self_prior": self_prior,
        "link_scale": link_scale,
        "link_arithmetic": link_arithmetic,
        "num_priors": num_priors,
        "hard_links": hard_links,
    }
    _check(options, config.num_attention_heads)
    whole: Any = model
    encoder: Any = model.base_model
    shared = _Pass()
    for number in range(config.num_hidden_layers):
        attention = encoder.get_submodule(_ATTENTION[kind].format(number))
        links = _Links(config.hidden_size, options, number, shared)
        weight = next(attention.parameters())
        attention.constituents = links.to(weight.device, weight.dtype).train(model.training)
        attention.register_forward_pre_hook(links.before, with_kwargs=True)
    model.register_forward_pre_hook(shared.start, with_kwargs=True)
    encoder.register_forward_pre_hook(shared.clear)
    encoder.register_forward_hook(shared.finish)
    if encoder is not model:
        model.register_forward_hook(shared.finish)
    model.register_forward_hook(shared.close)
    whole.links = None
    setattr(config, _OPTIONS, options)
    model.set_attn_implementation(IMPLEMENTATION)
    return model


def load(folder: str | Path, model_class: Any = None, **kwargs: Any) -> PreTrainedModel:
    """Load a model with constituent attention that `save_pretrained` wrote.

    First transformers loads all but the links, and reports them as unexpected; then they are restored.

    Args:
        folder: Where it was written.
        model_class: A class of transformers to load it as, such as `AutoModelForSequenceClassification`; the
            class that was saved by default.
        **kwargs: Of its `from_pretrained`, such as `num_labels`.

    Raises:
        FileNotFoundError: No such folder.
        ValueError: A model without constituent attention, or one whose link weights are missing or damaged.
    """
    folder = Path(folder)
    if not (folder / "config.json").is_file():
        raise FileNotFoundError(f"{folder / 'config.json'}: no such file")
    config = AutoConfig.from_pretrained(folder)
    options = getattr(config, _OPTIONS, None)
    if options is None:
        raise ValueError(f"{folder}: no constituent attention was saved there: load it with transformers")
    if model_class is None:
        model_class = getattr(transformers, config.architectures[0])
    model: PreTrainedModel = model_class.from_pretrained(folder, **kwargs)
    setattr(model.config, _OPTIONS, None)
    treeify(model, **options)
    prefix = f"{model.base_model_prefix}."  # of an encoder inside a head
    saved = {name.removeprefix(prefix): weight for name, weight in read_safetensors(folder).items()}
    expected = [name for name in model.state_dict() if ".constituents." in name]
    for name in expected:
        if name.removeprefix(prefix) not in saved:
            raise ValueError(f"{folder}: the weights of the links are missing, {name} first")
    model.load_state_dict({name: saved[name.removeprefix(prefix)] for name in expected}, strict=False)
    return model


def _check(options: Mapping[str, Any], heads: int) -> None:
    for name, choices in (("prior", ("outside", "inside")), ("link_arithmetic", ("log", "probability"))):
        if options[name] not in choices:
            raise ValueError(f"{name} is {options[name]!r}, expected one of {', '.join(choices)}")
    scale, priors = options["link_scale"], options["num_priors"]
    if scale is not None and not scale > 0:
        raise ValueError(f"link_scale is {scale}, expected a divisor above 0")
    if priors < 1 or heads % priors:
        raise ValueError(f"num_priors is {priors}, expected a divisor of the {heads} heads")
