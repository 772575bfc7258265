"""A BERT checkpoint in the names of TreeBert."""

import dataclasses
import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor
from transformers import BertConfig

from treeformers.models.treebert_config import TreeBertConfig
from treeformers.trees.files import read_object

__all__ = ["read_bert", "read_safetensors"]

_SAME = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "hidden_act",
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "max_position_embeddings",
    "type_vocab_size",
    "initializer_range",
    "layer_norm_eps",
    "classifier_dropout",
    "pad_token_id",
    "tie_word_embeddings",
)


def read_bert(
    folder: Path, head: str, overrides: Mapping[str, Any]
) -> tuple[TreeBertConfig, dict[str, Tensor]]:
    """Configuration and weights of a TreeBert that computes what the checkpoint does, but for its prior.

    Args:
        folder: holds `config.json` and safetensors.
        head: "Model", "ForMaskedLM", "ForSequenceClassification" or "ForTokenClassification".
        overrides: fields of the configuration.

    Returns:
        The configuration, and the weights by their names in that model. There are none for links, nor for a
        classifier or pooler that the checkpoint does not have.

    Raises:
        ValueError: see `TreeBertPreTrainedModel.from_bert`.
    """
    bert, architectures = _read_config(folder / "config.json")
    found = {_modern(name): weight for name, weight in read_safetensors(folder).items()}
    settings = {name: getattr(bert, name) for name in _SAME}
    settings |= {"norm": "post", "position_embedding_type": "learned"}
    settings["pooler"] = head == "ForSequenceClassification" or (
        head == "Model" and "pooler.dense.weight" in found
    )
    settings["prediction_transform"] = head == "ForMaskedLM"
    trained = f"Bert{head}" in architectures and "classifier.weight" in found
    if trained:
        settings |= {"id2label": bert.id2label, "label2id": bert.label2id}
    known = {field.name for field in dataclasses.fields(TreeBertConfig)} | {
        "num_labels",
        "attn_implementation",
    }
    for key in overrides:
        if key not in known:
            near = difflib.get_close_matches(key, sorted(known), n=1, cutoff=0.0)[0]
            raise ValueError(f"unknown field {key!r} of TreeBertConfig, the nearest is {near!r}")
    config = TreeBertConfig(**{**settings, **overrides})
    if "num_labels" in overrides:
        trained = trained and overrides["num_labels"] == bert.num_labels

    base = "" if head == "Model" else "treebert."
    sources = {base + ours: theirs for ours, theirs in _encoder(config.num_hidden_layers)}
    if config.pooler and "pooler.dense.weight" in found:
        sources |= {f"{base}pooler.{part}": (f"pooler.dense.{part}",) for part in ("weight", "bias")}
    if head == "ForMaskedLM" and config.prediction_transform:
        sources |= dict(_prediction_transform())
    if head == "ForMaskedLM":
        biases = ("cls.predictions.decoder.bias", "cls.predictions.bias")  # of which most have the second
        sources["decoder.bias"] = (next((name for name in biases if name in found), biases[1]),)
        if not config.tie_word_embeddings:
            sources["decoder.weight"] = ("cls.predictions.decoder.weight",)
    if trained:
        sources |= {f"classifier.{part}": (f"classifier.{part}",) for part in ("weight", "bias")}
    missing = [name for names in sources.values() for name in names if name not in found]
    if missing:
        raise ValueError(f"{folder}: {len(missing)} weights of BERT are missing, {missing[0]} first")
    weights = {
        ours: torch.cat([found[name] for name in theirs]) if len(theirs) > 1 else found[theirs[0]]
        for ours, theirs in sources.items()
    }
    return config, weights


def read_safetensors(folder: Path) -> dict[str, Tensor]:
    """All weights of a folder: those of `model.safetensors`, or of its shards.

    Raises:
        ValueError: a file that is damaged.
    """
    whole = folder / "model.safetensors"
    weights: dict[str, Tensor] = {}
    for path in [whole] if whole.is_file() else sorted(folder.glob("*.safetensors")):
        try:
            weights |= load_file(path)
        except (SafetensorError, OSError) as error:
            raise ValueError(f"{path}: cannot be read: {error}") from None
    return weights


def _read_config(path: Path) -> tuple[BertConfig, list[str]]:
    table = read_object(path)
    if (kind := table.get("model_type")) != "bert":
        raise ValueError(f"{path}: a model of kind {kind!r}, expected 'bert'")
    positions = table.get("position_embedding_type", "absolute")
    if table.get("is_decoder"):
        raise ValueError(f"{path}: a decoder, expected an encoder")
    if positions != "absolute":
        raise ValueError(f"{path}: position_embedding_type is {positions!r}, expected 'absolute'")
    return BertConfig.from_dict(table), table.get("architectures") or []


def _modern(name: str) -> str:
    """The name without the prefix that heads put before it, and as it is written since TensorFlow's times."""
    name = name.removeprefix("bert.")
    for old, new in (("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias")):
        name = name.replace(old, new)
    return name


def _encoder(layers: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Our names, and the names of the weights of BERT that stand there, one below the other."""
    yield "embeddings.weight", ("embeddings.word_embeddings.weight",)
    yield "positions.weight", ("embeddings.position_embeddings.weight",)
    yield "token_types.weight", ("embeddings.token_type_embeddings.weight",)
    for part in ("weight", "bias"):
        yield f"norm.{part}", (f"embeddings.LayerNorm.{part}",)
        for number in range(layers):
            ours, theirs = f"layers.{number}", f"encoder.layer.{number}"
            kinds = ("query", "key", "value")
            stacked = tuple(f"{theirs}.attention.self.{kind}.{part}" for kind in kinds)
            yield f"{ours}.attention.query_key_value.{part}", stacked
            for here, there in (
                ("attention.output", "attention.output.dense"),
                ("attention_norm", "attention.output.LayerNorm"),
                ("feed_forward.0", "intermediate.dense"),
                ("feed_forward.2", "output.dense"),
                ("feed_forward_norm", "output.LayerNorm"),
            ):
                yield f"{ours}.{here}.{part}", (f"{theirs}.{there}.{part}",)


def _prediction_transform() -> Iterator[tuple[str, tuple[str, ...]]]:
    for part in ("weight", "bias"):
        yield f"transform.0.{part}", (f"cls.predictions.transform.dense.{part}",)
        yield f"transform.2.{part}", (f"cls.predictions.transform.LayerNorm.{part}",)
