"""TreeReg: the loss equals its literal loops, and `regularize` adds it in training only."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor
from transformers import DataCollatorWithPadding, Trainer, TrainingArguments

from between_processes import send
from tiny_encoders import letter_tokenizer
from treeformers.induction import trivial_tree
from treeformers.models.tree_regularizer import (
    SplitCollator,
    binary_splits,
    regularize,
    split_log_probabilities,
    tree_loss,
)
from treeformers.models.treeify import treeify
from treeformers.trees.tree import Tree

torch.set_num_threads(1)

Split = tuple[int, int, int]


def literal_loss(states: Tensor, words: Sequence[Sequence[int]], splits: Sequence[Split]) -> Tensor:
    """The equations of the module's text, for one sentence. `words` are the tokens of each word."""

    def orth(b: Tensor, a: Tensor) -> Tensor:
        return (b - (a @ b) / (a @ a) * a).norm()

    def scin(i: int, j: int) -> Tensor:
        total = torch.zeros((), dtype=states.dtype)
        if i > 0:
            total = total + orth(states[words[j][-1]], states[words[i - 1][-1]])
        if j + 1 < len(words):
            total = total + orth(states[words[j + 1][0]], states[words[j][-1]])
        return total

    losses = []
    for start, split, end in splits:
        scores = [scin(start, p) + scin(p + 1, end - 1) for p in range(start, end - 1)]
        losses.append(-torch.stack(scores).log_softmax(0)[split - 1 - start])
    return torch.stack(losses).mean() if losses else torch.zeros((), dtype=states.dtype)


LENGTHS = ([2, 1, 3, 1, 1, 2], [1, 1], [1], [1, 1, 1, 4, 1], [], [1] * 12)
"""Numbers of tokens of the words of each sentence."""


def sentences(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor, list[Any]]:
    """States, word ids and splits of a batch, and the arguments of `literal_loss` of each sentence."""
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(len(LENGTHS), 14, 5, generator=generator, dtype=dtype)
    word_ids = torch.full((len(LENGTHS), 14), -1)
    splits = torch.full((len(LENGTHS), 11, 3), -1)
    single = []
    for row, lengths in enumerate(LENGTHS):
        ends = [1 + sum(lengths[:word]) for word in range(len(lengths) + 1)]  # after [CLS]
        for word, (start, end) in enumerate(pairwise(ends)):
            word_ids[row, start:end] = word
        tree = trivial_tree(["w"] * len(lengths), "random", seed=row) if lengths else None
        found = binary_splits(tree) if tree else []
        splits[row, : len(found)] = torch.tensor(found).reshape(-1, 3)
        single.append(([range(start, end) for start, end in pairwise(ends)], found))
    return states, word_ids, splits, single


def test_the_loss_is_the_literal_one() -> None:
    states, word_ids, splits, single = sentences()
    assert sum(len(found) for _, found in single) > 8
    ours, theirs = states.clone().requires_grad_(), states.clone().requires_grad_()
    loss = tree_loss(ours, word_ids, splits)
    expected = torch.stack([literal_loss(theirs[row], *of) for row, of in enumerate(single)]).mean()
    torch.testing.assert_close(loss, expected)
    loss.backward()
    expected.backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_a_batch_equals_its_sentences() -> None:
    states, word_ids, splits, _ = sentences()
    alone = []
    for row, lengths in enumerate(LENGTHS):
        tokens, found = sum(lengths) + 2, splits[row][splits[row, :, 0] >= 0]
        alone.append(tree_loss(states[row : row + 1, :tokens], word_ids[row : row + 1, :tokens], found[None]))
    torch.testing.assert_close(tree_loss(states, word_ids, splits), torch.stack(alone).mean())
    assert alone[1] == alone[2] == alone[4] == 0  # two words, one word, none


def test_splits_are_probabilities_of_the_words_inside() -> None:
    states, word_ids, splits, _ = sentences()
    found = split_log_probabilities(states, word_ids, splits).exp()
    for (start, _, end), row in zip(splits[0].tolist(), found[0], strict=True):
        if start >= 0:
            assert row[start : end - 1].sum() == pytest.approx(1) and (row[start : end - 1] > 0).all()


def test_low_precision_and_equal_states_give_finite_gradients() -> None:
    for change in (lambda states: states, torch.ones_like, torch.zeros_like):
        states, word_ids, splits, _ = sentences(torch.float32)
        states = change(states).bfloat16().requires_grad_()
        with torch.autocast("cpu", torch.bfloat16):
            loss = tree_loss(states, word_ids, splits)
        loss.backward()
        assert loss.dtype == torch.float32 and states.grad is not None and states.grad.isfinite().all()
    states, word_ids, splits, _ = sentences(torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(
            tree_loss(states, word_ids, splits), tree_loss(states.double(), word_ids, splits).float()
        )


def test_descent_finds_the_tree() -> None:
    torch.manual_seed(0)
    splits = torch.tensor([binary_splits(trivial_tree(["w"] * 9, "random", seed=3))])
    states, word_ids = torch.randn(1, 9, 16).requires_grad_(), torch.arange(9)[None]
    optimizer = torch.optim.Adam([states], lr=0.2)
    for _ in range(60):
        optimizer.zero_grad()
        tree_loss(states, word_ids, splits).backward()
        optimizer.step()
    found = split_log_probabilities(states, word_ids, splits).argmax(-1) + 1
    assert torch.equal(found, splits[..., 1])


def test_binary_splits() -> None:
    tree = Tree.from_brackets("(S (NP (D a) (N b)) (VP (VP (V c) (NP (N d)) (P e))) (. f))")
    assert binary_splits(tree) == [(0, 2, 6), (2, 3, 5), (2, 5, 6)]
    assert binary_splits(trivial_tree(["a", "b"], "right")) == []
    deep = trivial_tree(["w"] * 3000, "left")
    assert len(binary_splits(deep)) == 2998


def features() -> list[dict[str, Any]]:
    return [
        {
            "input_ids": [1, 5, 6, 7, 8, 2],
            "word_ids": [None, 0, 1, 1, 2, None],
            "splits": [(0, 1, 3)],
            "labels": 1,
        },
        {"input_ids": [1, 5, 2], "word_ids": [None, 0, None], "labels": 0},
    ]


def test_the_collator_pads_and_leaves_out_what_truncation_cut() -> None:
    collator = SplitCollator(DataCollatorWithPadding(letter_tokenizer(), pad_to_multiple_of=4))
    batch = collator(features())
    assert batch["word_ids"].tolist() == [[-1, 0, 1, 1, 2, -1, -1, -1], [-1, 0] + [-1] * 6]
    assert batch["splits"].tolist() == [[[0, 1, 3]], [[-1, -1, -1]]]
    cut = [{**features()[0], "splits": [(0, 1, 4), (1, 2, 4)]}]
    assert collator(cut)["splits"].shape == (1, 0, 3)
    assert tree_loss(torch.randn(1, 8, 4), collator(cut)["word_ids"], collator(cut)["splits"]) == 0
    with pytest.raises(ValueError, match="skip a word: expected a token for every word"):
        collator([{"input_ids": [1, 5], "word_ids": [0, 2]}])
    left = letter_tokenizer()
    left.padding_side = "left"
    with pytest.raises(ValueError, match="padded on the left: set tokenizer"):
        SplitCollator(DataCollatorWithPadding(left))(features())
    with pytest.raises(ValueError, match="a batch has 2 tokens fewer than word_ids"):
        collator = SplitCollator(DataCollatorWithPadding(letter_tokenizer()))
        collator([{"input_ids": [1], "word_ids": [0, 1, 2]}])


def classifier(kind: str = "Bert") -> Any:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"vocab_size": 40, "pad_token_id": 0, "attn_implementation": "eager"}
    if kind == "GPT2":
        config: Any = transformers.GPT2Config(
            n_embd=16, n_layer=2, n_head=2, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, **sizes
        )
        return transformers.GPT2LMHeadModel(config)
    config = transformers.BertConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=8, **sizes
    )
    return transformers.BertForSequenceClassification(config)


def batch() -> dict[str, Tensor]:
    return SplitCollator(DataCollatorWithPadding(letter_tokenizer()))(features())


@pytest.mark.parametrize("kind", ["Bert", "GPT2"])
def test_the_loss_is_added_in_training_only(kind: str) -> None:
    model, given = classifier(kind), batch()
    if kind == "GPT2":
        given["labels"] = given["input_ids"]
    plain = {key: value for key, value in given.items() if key not in ("word_ids", "splits")}
    torch.manual_seed(1)
    expected = model.train()(**plain, output_hidden_states=True)
    added = tree_loss(expected.hidden_states[1][..., :4], given["word_ids"], given["splits"])
    assert regularize(model, layer=1, weight=2.0) is model
    torch.manual_seed(1)
    torch.testing.assert_close(model(**given).loss, expected.loss + 2 * added)
    assert added > 0
    model.eval()
    assert torch.equal(model(**given).logits, model(**plain).logits)
    for other in (copy.deepcopy(model), send(regularize(classifier(kind), layer=1))()):
        with pytest.raises(
            ValueError, match="a regularized model got no splits in training: expected batches"
        ):
            other.train()(**plain)


def test_treeified_models_are_regularized_too() -> None:
    model = regularize(treeify(classifier()), layer=2).train()
    loss = model(**batch(), output_links=True).loss
    loss.backward()
    assert loss.isfinite() and model.links is not None


def test_the_trainer_trains_with_it(tmp_path: Path) -> None:
    model = regularize(classifier(), layer=2, weight=3.0)
    arguments = TrainingArguments(
        output_dir=str(tmp_path),
        max_steps=2,
        per_device_train_batch_size=1,
        gradient_accumulation_steps=2,
        remove_unused_columns=False,
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
        save_strategy="no",
    )
    collator = SplitCollator(DataCollatorWithPadding(letter_tokenizer()))
    rows: Any = features() * 2
    trainer = Trainer(model, arguments, train_dataset=rows, eval_dataset=rows, data_collator=collator)
    trainer.train()
    assert math.isfinite(trainer.evaluate()["eval_loss"])
    trainer.save_model(str(tmp_path / "model"))
    again = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "model").eval()
    inputs = {key: batch()[key] for key in ("input_ids", "attention_mask")}
    torch.testing.assert_close(again(**inputs).logits, model.eval()(**inputs).logits)


def test_accumulated_batches_count_by_their_labels() -> None:
    model, given = classifier("GPT2").train(), batch()
    given["labels"] = given["input_ids"]
    plain = {key: value for key, value in given.items() if key not in ("word_ids", "splits")}
    total = 3 * given["labels"].numel()
    expected = model(**plain, num_items_in_batch=total, output_hidden_states=True)
    added = tree_loss(expected.hidden_states[1][..., :4], given["word_ids"], given["splits"])
    found = regularize(model, layer=1)(**given, num_items_in_batch=total).loss
    torch.testing.assert_close(found, expected.loss + added / 3)


def test_other_models_and_options_are_refused() -> None:
    for options, message in (
        ({"layer": 3}, "layer is 3, expected 0 to 2: the model has 2 layers"),
        ({"layer": 1, "fraction": 0.0}, "fraction is 0.0, expected more than 0 and at most 1"),
        ({"layer": 1, "weight": math.nan}, "weight is nan, expected at least 0"),
    ):
        with pytest.raises(ValueError, match=message):
            regularize(classifier(), **options)
    with pytest.raises(ValueError, match="cannot regularize a Linear, expected a model of transformers"):
        regularize(torch.nn.Linear(2, 2), layer=1)
    encoder = regularize(classifier().bert, layer=1).train()
    given = {key: value for key, value in batch().items() if key != "labels"}
    with pytest.raises(ValueError, match="BertModel returned no loss: expected an encoder or causal"):
        encoder(**given)
