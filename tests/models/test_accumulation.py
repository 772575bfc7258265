"""The accumulation encoder and its classifier: both attention implementations, masks, losses, errors."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from huggingface_hub.errors import StrictDataclassError

from accumulation_models import TREES, VARIANTS, batch, build, config
from treeformers.models.accumulation import (
    AccumulationForSequenceClassification,
    AccumulationModel,
)

torch.set_num_threads(1)
variants = pytest.mark.parametrize("changes", VARIANTS, ids=str)


@variants
def test_eager_and_fused_attention_agree(changes: dict[str, Any]) -> None:
    inputs = batch()
    outputs, gradients = [], []
    for attention in ("sdpa", "eager"):
        model = build(AccumulationModel, attn_implementation=attention, **changes).double()
        states = model(**inputs)
        real = states.nodes[inputs["node_mask"].bool()], states.leaves[inputs["attention_mask"].bool()]
        outputs.append(torch.cat((*real, states.root)))
        outputs[-1].pow(3).sum().backward()
        gradients.append({name: p.grad for name, p in model.named_parameters() if p.grad is not None})
    torch.testing.assert_close(*outputs)
    torch.testing.assert_close(*gradients)


@variants
def test_a_batch_equals_its_trees(changes: dict[str, Any]) -> None:
    model, inputs = build(AccumulationModel, **changes), batch()
    together = model(**inputs)
    for row, tree in enumerate(TREES):
        alone = model(**batch(rows=slice(row, row + 1)))
        for name, count in (("leaves", len(tree)), ("nodes", len(tree.spans()))):
            torch.testing.assert_close(together[name][row, :count], alone[name][0], rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(together.root[row], alone.root[0], rtol=1e-5, atol=1e-5)


def test_the_root_is_the_first_node_or_the_only_leaf() -> None:
    outputs = build(AccumulationModel)(**batch())
    assert torch.equal(outputs.root[[0, 2, 3]], outputs.nodes[[0, 2, 3], 0])
    assert torch.equal(outputs.root[1], outputs.leaves[1, 0])
    lone = build(AccumulationModel)(**batch(rows=slice(1, 2)))
    assert lone.nodes.shape == (1, 0, 16)


def test_nodes_of_the_plain_transformer_are_means() -> None:
    model, inputs = build(AccumulationModel, tree=False), batch()
    outputs = model(**inputs)
    torch.testing.assert_close(outputs.root[2], outputs.leaves[2].mean(0))
    torch.testing.assert_close(outputs.nodes[0, 3], outputs.leaves[0, 1:4].mean(0))
    bare = model(inputs["input_ids"], inputs["attention_mask"])
    assert bare.nodes is None
    torch.testing.assert_close(bare.root, outputs.root)
    with pytest.raises(ValueError, match=r"the batch lacks node_mask, spans"):
        build(AccumulationModel)(inputs["input_ids"], inputs["attention_mask"])


def test_subtree_masking_hides_what_is_outside() -> None:
    inputs = batch()
    outputs = build(AccumulationModel)(**inputs, output_attentions=True, output_hidden_states=True)
    assert [w.shape for w in outputs.attentions] == [(4, 2, 13, 13)] * 2
    assert [h.shape for h in outputs.hidden_states] == [(4, 13, 16)] * 3
    leaf_to_node = outputs.attentions[0][:, :, 6:, :6]
    assert (leaf_to_node[inputs["attention_mask"].bool()[:, None].expand(-1, 2, -1)] == 0).all()
    free = build(AccumulationModel, subtree_masking=False)(**inputs, output_attentions=True)
    assert (free.attentions[0][0, :, 6, 0] > 0).all()
    assert free.hidden_states is None


def test_classification_loss_is_over_all_labelled_nodes_and_leaves() -> None:
    model, inputs = build(AccumulationForSequenceClassification, num_labels=3), batch()
    node_labels = torch.full_like(inputs["node_mask"], -100)
    leaf_labels = torch.full_like(inputs["attention_mask"], -100)
    node_labels[0, 0], node_labels[2, 3], leaf_labels[1, 0] = 2, 1, 0
    outputs = model(**inputs, node_labels=node_labels, leaf_labels=leaf_labels)
    logits = torch.stack((outputs.node_logits[0, 0], outputs.node_logits[2, 3], outputs.leaf_logits[1, 0]))
    expected = F.cross_entropy(logits, torch.tensor([2, 1, 0]))
    torch.testing.assert_close(outputs.loss, expected)
    torch.testing.assert_close(outputs.node_logits[0, 0], outputs.logits[0])
    parts = model(**inputs, node_labels=node_labels, leaf_labels=leaf_labels, num_items_in_batch=6)
    torch.testing.assert_close(parts.loss, expected / 2)
    labels = torch.tensor([0, 1, 2, 0])
    roots = model(**inputs, labels=labels)
    torch.testing.assert_close(roots.loss, F.cross_entropy(roots.logits, labels))
    assert roots.node_logits is None
    unlabelled = model(**inputs, node_labels=torch.full_like(node_labels, -100))
    assert unlabelled.loss == 0
    plain = build(AccumulationForSequenceClassification, num_labels=3, tree=False)
    with pytest.raises(ValueError, match="node_labels are given, but no trees"):
        plain(inputs["input_ids"], inputs["attention_mask"], node_labels=node_labels)


def test_fresh_weights_have_their_own_initialisation() -> None:
    model = build(AccumulationModel, hidden_size=256, intermediate_size=256)
    attention = model.layers[0].attention
    assert attention.accumulation.leaf_weights.weight.std().item() == pytest.approx(1 / 16, rel=0.2)
    assert attention.output.weight.std().item() == pytest.approx(1 / 16, rel=0.05)
    assert model.embeddings.weight[1:].std().item() == pytest.approx(1 / 16, rel=0.05)
    assert (model.embeddings.weight[0] == 0).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_size": 18, "num_attention_heads": 6}, "even multiple of num_attention_heads"),
        ({"vertical_index": "width"}, "vertical_index"),
        ({"horizontal_size": 0}, "expected 1 row or more"),
        ({"num_attention_heads": 0}, "num_attention_heads is 0, expected at least 1"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0, expected at least 1"),
    ],
)
def test_bad_configurations(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(StrictDataclassError, match=message):
        config(**changes)


def test_bad_inputs() -> None:
    inputs = batch()
    with pytest.raises(ValueError, match="7 leaves given, but max_position_embeddings is 5"):
        build(AccumulationModel, max_position_embeddings=5)(**inputs)
    inputs["input_ids"] = inputs["input_ids"][:, 1:]
    with pytest.raises(ValueError, match=r"token ids \(4, 6\), but trees over \(4, 7\) leaves"):
        build(AccumulationModel)(**inputs)
