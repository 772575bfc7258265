from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from accumulation_models import TREES, VARIANTS, batch, build, config, targets
from treeformers.models.accumulation import (
    AccumulationForSequenceClassification,
    AccumulationModel,
)
from treeformers.models.translation import AccumulationForTranslation

torch.set_num_threads(1)
variants = pytest.mark.parametrize("changes", VARIANTS, ids=str)


@variants
def test_padding_does_not_matter(changes: dict[str, Any]) -> None:
    model, inputs = build(AccumulationForTranslation, **changes), batch()
    ids = inputs["input_ids"].masked_fill(inputs["attention_mask"] == 0, 39)
    node_ids = inputs["node_ids"].masked_fill(inputs["node_mask"] == 0, 4)
    other = model(**{**inputs, "input_ids": ids, "node_ids": node_ids}, labels=targets())
    torch.testing.assert_close(other.logits, model(**inputs, labels=targets()).logits)


@variants
def test_every_parameter_learns(changes: dict[str, Any]) -> None:
    model = build(AccumulationForTranslation, label_smoothing=0.1, **changes).train()
    model(**batch(), labels=targets()).loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().sum() > 0 or name.endswith("query_key_value.bias"), name


def test_the_plain_model_lacks_only_the_parameters_of_trees() -> None:
    tree = dict(build(AccumulationForTranslation).named_parameters())
    plain = dict(build(AccumulationForTranslation, tree=False).named_parameters())
    extra = {name for name in tree if "accumulation." in name or "node_embeddings" in name}
    assert {name: p.shape for name, p in plain.items()} == {
        name: p.shape for name, p in tree.items() if name not in extra
    }
    assert sum("accumulation." in name for name in extra) == 3 * (2 + 3)


@pytest.mark.parametrize("changes", [{}, {"target_vocab_size": 25}, {"tie_word_embeddings": False}], ids=str)
def test_save_and_load(tmp_path: Path, changes: dict[str, Any]) -> None:
    inputs, model = batch(), build(AccumulationForTranslation, **changes)
    shared, tied = "target_vocab_size" not in changes, changes.get("tie_word_embeddings", True)
    assert (model.lm_head.weight is model.decoder.embeddings.weight) == tied
    assert (model.encoder.embeddings.weight is model.decoder.embeddings.weight) == (shared and tied)
    model.save_pretrained(tmp_path)
    assert (tmp_path / "model.safetensors").exists()
    loaded = AccumulationForTranslation.from_pretrained(tmp_path).eval()
    assert torch.equal(loaded(**inputs, labels=targets()).logits, model(**inputs, labels=targets()).logits)
    encoder = AccumulationModel.from_pretrained(tmp_path).eval()
    assert torch.equal(encoder(**inputs).last_hidden_state, model.encoder(**inputs).last_hidden_state)
    classifier = AccumulationForSequenceClassification.from_pretrained(tmp_path, num_labels=3)
    assert classifier(**inputs, labels=torch.tensor([0, 1, 2, 0])).loss.isfinite()


def literal_greedy(model: Any, inputs: dict[str, Tensor], steps: int) -> Tensor:
    """Greedy search without a cache."""
    ids = torch.full((len(inputs["input_ids"]), 1), model.config.decoder_start_token_id)
    done = torch.zeros(len(ids), dtype=torch.bool)
    for _ in range(steps):
        best = model(**inputs, decoder_input_ids=ids).logits[:, -1].argmax(-1).masked_fill(done, 0)
        ids = torch.cat((ids, best[:, None]), 1)
        done |= best == model.config.eos_token_id
    return ids


@variants
def test_generation_with_a_cache_equals_greedy_search_without(changes: dict[str, Any]) -> None:
    model, inputs = build(AccumulationForTranslation, seed=3, **changes).double(), batch()
    expected = literal_greedy(model, inputs, 8)
    made = model.generate(**inputs, max_new_tokens=8, do_sample=False)
    assert torch.equal(made, expected[:, : made.shape[1]])
    assert (expected[:, made.shape[1] :] == 0).all()


def test_beam_search_finds_better_ones_and_encodes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model, inputs = build(AccumulationForTranslation, seed=3).double(), batch()
    rows: list[int] = []
    accumulate = type(model.encoder.memories[0]).forward
    monkeypatch.setattr(
        type(model.encoder.memories[0]),
        "forward",
        lambda self, states, *rest: (rows.append(len(states)), accumulate(self, states, *rest))[1],
    )
    settings = {"max_new_tokens": 6, "output_scores": True, "return_dict_in_generate": True}
    beams = model.generate(**inputs, num_beams=5, length_penalty=0.7, **settings)
    assert rows == [len(TREES)] * 3, "N' is computed once per sentence and decoder layer"

    def score(ids: Tensor) -> Tensor:
        logits = model(**inputs, decoder_input_ids=ids[:, :-1]).logits.log_softmax(-1)
        taken = logits.gather(-1, ids[:, 1:, None])[..., 0].masked_fill(ids[:, 1:] == 0, 0.0)
        return taken.sum(1) / (ids[:, 1:] != 0).sum(1) ** 0.7

    torch.testing.assert_close(score(beams.sequences), beams.sequences_scores.double(), rtol=1e-4, atol=1e-4)
    greedy = model.generate(**inputs, max_new_tokens=6)
    assert (score(beams.sequences) >= score(greedy) - 1e-6).all()
    for row in range(len(TREES)):
        alone = model.generate(
            **batch(rows=slice(row, row + 1)), num_beams=5, length_penalty=0.7, max_new_tokens=6
        )
        assert alone[0].tolist() == beams.sequences[row, : alone.shape[1]].tolist()


def test_cross_attention_is_recorded() -> None:
    inputs, model = batch(), build(AccumulationForTranslation)
    outputs = model(**inputs, labels=targets(), output_attentions=True)
    assert [w.shape for w in outputs.cross_attentions] == [(4, 2, 4, 13)] * 3
    assert [w.shape for w in outputs.decoder_attentions] == [(4, 2, 4, 4)] * 3
    assert (outputs.decoder_attentions[0][:, :, 0, 1:] == 0).all()
    assert (outputs.cross_attentions[0][1, :, :, :6] == 0).all(), "one leaf, no nodes"
    with pytest.raises(ValueError, match="expected decoder_input_ids or labels"):
        model(**inputs)


def test_translation_memorizes_its_data() -> None:
    torch.manual_seed(0)
    model = AccumulationForTranslation(config(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(80):
        loss = model(**batch(), labels=targets()).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    made = model.eval().generate(**batch(), num_beams=2, max_new_tokens=5)
    for row, gold in zip(made[:, 1:].tolist(), targets().tolist(), strict=True):
        assert row[: row.index(2) + 1] == [token for token in gold if token != -100]


def test_gradient_checkpointing() -> None:
    model = build(AccumulationForTranslation).train()

    def gradients() -> list[Tensor]:
        torch.manual_seed(5)
        model.zero_grad()
        model(**batch(), labels=targets()).loss.backward()
        return [p.grad.clone() for p in model.parameters()]

    plain = gradients()
    model.gradient_checkpointing_enable()
    for a, b in zip(plain, gradients(), strict=True):
        torch.testing.assert_close(a, b)


def test_bfloat16_autocast_trains() -> None:
    model = build(AccumulationForTranslation).train()
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(**batch(), labels=targets()).loss
    loss.backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_labels_are_smoothed_in_training_only() -> None:
    sizes = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "label_smoothing": 0.2}
    model = build(AccumulationForTranslation, **sizes)
    outputs = model(**batch(), labels=targets())
    real = targets() != -100
    logits, gold = outputs.logits[real], targets()[real]
    torch.testing.assert_close(outputs.loss, F.cross_entropy(logits, gold))
    trained = model.train()(**batch(), labels=targets())
    expected = F.cross_entropy(logits, gold, label_smoothing=0.2)
    assert trained.logits is None
    torch.testing.assert_close(trained.loss, expected)
    weights = list(model.parameters())
    wanted = torch.autograd.grad(expected, weights)
    for found, gradient in zip(torch.autograd.grad(trained.loss, weights), wanted, strict=True):
        torch.testing.assert_close(found, gradient, rtol=1e-4, atol=1e-6)
