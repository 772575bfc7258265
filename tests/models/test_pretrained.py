from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import BertConfig, BertModel, MPNetConfig, MPNetModel, PreTrainedModel

from treeformers.kernels.dropout import Dropout, keep_mask
from treeformers.models import pretrained
from treeformers.models.pretrained import attend, quicken

SIZES: dict[str, Any] = {
    "vocab_size": 20,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 24,
}


def bert(**given: Any) -> BertModel:
    torch.manual_seed(1)
    return BertModel(BertConfig(**SIZES | given))


def inputs(lengths: list[int]) -> dict[str, Tensor]:
    ids = torch.randint(1, 20, (len(lengths), max(lengths)), generator=torch.Generator().manual_seed(2))
    return {"input_ids": ids, "attention_mask": torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]}


def run(model: PreTrainedModel, lengths: list[int]) -> tuple[Tensor, dict[str, Tensor]]:
    """States of the pieces, and gradients of a sum of these."""
    given = inputs(lengths)
    states = model(**given).last_hidden_state[given["attention_mask"]]
    (states * torch.linspace(-1, 1, states.numel()).view_as(states)).sum().backward()
    return states, {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}


@pytest.mark.parametrize(
    "model", [bert(), MPNetModel(MPNetConfig(**SIZES))], ids=["attention of torch", "of its own"]
)
def test_all_dropout_becomes_quick(model: PreTrainedModel) -> None:
    drops = [part.p for part in model.modules() if type(part) is nn.Dropout]
    quicken(model)
    assert drops == [part.p for part in model.modules() if type(part) is Dropout] != []
    assert not any(type(part) is nn.Dropout for part in model.modules())
    expected = pretrained.QUICK if isinstance(model, BertModel) else "eager"
    assert model.config._attn_implementation == expected
    model.train()(**inputs([3, 2]))


def test_a_model_that_does_not_train_drops_nothing_afterwards() -> None:
    model = bert(hidden_dropout_prob=0.5, attention_probs_dropout_prob=0.5).eval()
    given = inputs([3, 2])
    expected = model(**given).last_hidden_state
    quicken(model)
    torch.testing.assert_close(model(**given).last_hidden_state, expected)


@pytest.mark.parametrize("lengths", [[5, 3, 1], [4, 4]], ids=["padded", "of one length"])
@pytest.mark.parametrize("training", [True, False])
def test_states_and_gradients_are_those_of_torch(
    lengths: list[int], training: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In training with masks that keep all, for the others are drawn at random."""
    plain = bert(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0).train(training)
    quick = copy.deepcopy(plain)
    for module in quick.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.5
    quicken(quick)
    monkeypatch.setattr(Dropout, "forward", lambda self, states: states)
    dropped = []
    monkeypatch.setattr(pretrained, "drop", lambda weights, rate: dropped.append(rate) or weights)
    states, gradients = run(quick, lengths)
    expected, of_plain = run(plain, lengths)
    assert dropped == (2 * [0.5] if training else [])
    torch.testing.assert_close(states, expected)
    assert gradients.keys() == of_plain.keys()
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient, of_plain[name], msg=name)


def test_weights_are_dropped_and_the_others_scaled() -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 4, 5, 6, dtype=torch.float64).unbind()
    mask = torch.rand(2, 1, 5, 5).argsort(-1) < 4
    torch.manual_seed(3)
    found, none = attend(nn.Module(), query, key, value, mask, dropout=0.3, scaling=0.7)
    assert none is None and found.shape == (2, 5, 4, 6)
    torch.manual_seed(3)
    kept = keep_mask((2, 4, 5, 5), 0.3)
    for b in range(2):
        for h in range(4):
            for t in range(5):
                seen = [i for i in range(5) if mask[b, 0, t, i]]
                scores = torch.stack([0.7 * query[b, h, t] @ key[b, h, i] for i in seen]).exp()
                expected = torch.zeros(6, dtype=torch.float64)
                for score, i in zip(scores, seen, strict=True):
                    if kept[b, h, t, i]:
                        expected += score / scores.sum() * value[b, h, i] / 0.7
                torch.testing.assert_close(found[b, t, h], expected)


@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_what_more_is_asked_for_is_left_to_torch(rate: float) -> None:
    query = torch.randn(1, 2, 3, 4)
    bias = torch.randn(1, 2, 3, 3)
    layer = nn.Module()
    for others, same in (
        ({}, {"is_causal": True}),
        ({"is_causal": True}, {"is_causal": True}),
        ({"position_bias": bias, "is_causal": False}, {"attn_mask": bias}),
    ):
        torch.manual_seed(0)
        found = attend(layer, query, query, query, None, dropout=rate, **others)[0]
        torch.manual_seed(0)
        expected = nn.functional.scaled_dot_product_attention(query, query, query, dropout_p=rate, **same)
        torch.testing.assert_close(found, expected.transpose(1, 2))
