"""Configuration of the TreeBert family."""

from typing import Literal

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig
from transformers.activations import ACT2FN

__all__ = ["TreeBertConfig"]


@strict
class TreeBertConfig(PreTrainedConfig):
    """Configuration of the TreeBert family; the defaults are the paper's sizes (Wang et al. 2019, Section
    7.1).

    BERT is `norm="post"`, `position_embedding_type="learned"`, `type_vocab_size=2`, and `pooler` or
    `prediction_transform` where its head has them; `from_bert` of every model sets them. TreeBERT (Ginn 2024)
    is BERT with a prior: as in the paper's Eq. 1 with `prior="outside"`, and as in its released code with
    `prior="inside"`, `link_scale` D, `self_prior=0.0` and `link_arithmetic="probability"`.

    Args:
        vocab_size: V.
        hidden_size: D, also the width of link queries and keys.
        num_hidden_layers: L.
        num_attention_heads: H; divides D.
        intermediate_size: Width of the feed-forward layers.
        hidden_act: Their activation; "gelu" as in the released code.
        hidden_dropout_prob: Dropout of the embeddings and of both residual branches.
        attention_probs_dropout_prob: Dropout of the attention weights, after the prior.
        max_position_embeddings: Longest input with learned positions. Sinusoids have no limit.
        position_embedding_type: "sinusoidal" (computed; the word embeddings are then scaled by sqrt(D), as in
            the original Transformer and the released code) or "learned".
        type_vocab_size: Number of token types (BERT's segments); 0 for no embedding of types.
        initializer_range: Standard deviation of the initial weights. The link projections alone start as in
            the released code, see `LinkProjection`; from 0.02 their scores would start five times flatter at
            D = 512.
        layer_norm_eps: Added to the variance.
        norm: "pre" (the released code: before each branch, and once at the end) or "post" (BERT: after each
            branch, and once after the embeddings).
        pooler: Whether there is BERT's pooler, a layer and tanh on the state of the first token.
        prediction_transform: Whether the language model has BERT's layer, activation and norm before its
            output matrix.
        prior: "outside" the softmax (Eq. 2), "inside" it (see `constituent_attention`), or "none": the plain
            Transformer.
        link_scale: Divisor of the link scores; D/2 by default, or D/2G with several priors.
        self_prior: Prior of a token with itself: 1 (Eq. 3) or 0 (the released code).
        link_arithmetic: "log" hands log-odds of the links from layer to layer, "probability" the links (Eq.
            8).
        link_level: "token", or "word": states are averaged over the tokens of each word, words are linked,
            and the tokens of a word belong together with probability 1. Needs `word_ids`.
        num_priors: G, priors of a layer; divides H. Each is that of H/G heads and has 1/G of the width of the
            link queries and keys, so that the number of weights is the same. 1 in the papers.
        hard_links: Attention sees links rounded to 0 or 1, and their gradient is that of the links as they
            are (straight-through estimation). The layers still add up the links as they are.
        max_recursions: Most times a layer is applied, one after the other, before the next one; 1 in the
            papers. Each sentence stops by itself.
        recursion_tolerance: A layer is not applied again once no link of the sentence has changed by more.
        tie_word_embeddings: The output matrix of the language model is the embedding matrix.
        sparse_prediction: Given labels, the language model scores the labelled positions only.
        classifier_dropout: Dropout before the classifier; `hidden_dropout_prob` by default.
        pad_token_id: Its embedding stays zero.
    """

    model_type = "treebert"

    vocab_size: int = 16000
    hidden_size: int = 512
    num_hidden_layers: int = 10
    num_attention_heads: int = 8
    intermediate_size: int = 2048
    hidden_act: str = "gelu"
    hidden_dropout_prob: float | int = 0.1
    attention_probs_dropout_prob: float | int = 0.1
    max_position_embeddings: int = 512
    position_embedding_type: Literal["sinusoidal", "learned"] = "sinusoidal"
    type_vocab_size: int = 0
    initializer_range: float | int = 0.02
    layer_norm_eps: float | int = 1e-12
    norm: Literal["pre", "post"] = "pre"
    pooler: bool = False
    prediction_transform: bool = False
    prior: Literal["outside", "inside", "none"] = "outside"
    link_scale: float | int | None = None
    self_prior: float | int = 1.0
    link_arithmetic: Literal["log", "probability"] = "log"
    link_level: Literal["token", "word"] = "token"
    num_priors: int = 1
    hard_links: bool = False
    max_recursions: int = 1
    recursion_tolerance: float | int = 0.01
    tie_word_embeddings: bool = True
    sparse_prediction: bool = True
    classifier_dropout: float | int | None = None
    pad_token_id: int | None = 0

    def validate_heads(self) -> None:
        for name in ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected at least 1")
        if self.hidden_size % self.num_attention_heads:
            raise ValueError(
                f"hidden_size is {self.hidden_size}, expected a multiple of num_attention_heads, "
                f"{self.num_attention_heads}"
            )
        if self.num_priors < 1 or self.num_attention_heads % self.num_priors:
            raise ValueError(
                f"num_priors is {self.num_priors}, expected a divisor of num_attention_heads, "
                f"{self.num_attention_heads}"
            )

    def validate_hidden_act(self) -> None:
        if self.hidden_act not in ACT2FN:
            raise ValueError(
                f"hidden_act is {self.hidden_act!r}, expected one of {', '.join(sorted(ACT2FN))}"
            )

    def validate_link_scale(self) -> None:
        if self.link_scale is not None and not self.link_scale > 0:
            raise ValueError(f"link_scale is {self.link_scale}, expected a divisor above 0")

    def validate_recursion(self) -> None:
        if self.max_recursions < 1:
            raise ValueError(f"max_recursions is {self.max_recursions}, expected 1 or more")
        if self.recursion_tolerance < 0:
            raise ValueError(f"recursion_tolerance is {self.recursion_tolerance}, expected 0 or more")
