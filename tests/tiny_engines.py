"""Engines of tests: untrained models of the smallest sizes, and a maker of trees that counts its calls."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import torch

from treeformers.classification import Classifier
from treeformers.data.text import train_tokenizer
from treeformers.inducer import Inducer
from treeformers.induction import trivial_tree
from treeformers.models.treebert import TreeBertConfig, TreeBertForMaskedLM
from treeformers.parsing import Parser
from treeformers.recipes import ClassifyRecipe, Examples, ParseRecipe, Readout
from treeformers.training.examples import build_encoder
from treeformers.training.parse import build_parser
from treeformers.trees.tree import Tree
from treeformers.web.engines import Made, TreeMaker

TREES = [
    Tree.from_brackets(text)
    for text in (
        "(S (NP (DT the) (JJ old) (NN ferry)) (VP (VBD left) (NP (NNP Oslo))) (. .))",
        "(S (NP (NNP Oslo)) (VP (VBZ sleeps)) (. .))",
        "(S (NP (NP (DT the) (NN ferry)) (PP (IN of) (NP (NNP Oslo)))) (VP (VBZ sleeps) (ADVP (RB well))))",
    )
]
SENTENCE = "the old ferry left Oslo ."


def tiny_inducer(**model: Any) -> Inducer:
    tokenizer = train_tokenizer([" ".join(tree.words) for tree in TREES] * 2, kind="wordpiece", vocab_size=60)
    torch.manual_seed(1)
    config = TreeBertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=16,
        initializer_range=0.5,
        pad_token_id=tokenizer.pad_token_id,
        link_level="word",
        **model,
    )
    return Inducer(TreeBertForMaskedLM(config), tokenizer, Readout())


def tiny_parser(beam: int = 2, **model: Any) -> Parser:
    sizes = {"embedding_size": 8, "hidden_size": 6, **model}
    recipe = ParseRecipe.from_dict({"task": "parse", "model": sizes})
    built, reader = build_parser(recipe, TREES, seed=3)
    return Parser([built], [reader], beam)


def tiny_classifier(**model: Any) -> Classifier:
    sizes = {"hidden_size": 12, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    recipe = ClassifyRecipe(
        model={"encoder": "accumulation", **sizes, **model}, data=Examples(corpus="grammar")
    )
    return Classifier(*build_encoder(recipe, TREES, ["calm", "stormy"], 1))


class Counting(TreeMaker):
    """Right-branching trees; notes what it is called with, and waits where it is told to."""

    kind = "shape"

    def __init__(self, name: str = "counting") -> None:
        super().__init__(name)
        self.calls: list[list[Sequence[str]]] = []
        self.go = threading.Event()
        self.go.set()

    def make(self, sentences: Sequence[Sequence[str]]) -> list[Made]:
        self.calls.append(list(sentences))
        assert self.go.wait(30)
        for words in sentences:
            if "bad" in words:
                raise ValueError("the word bad cannot be parsed")
            if "broken" in words:
                raise RuntimeError("a fault of the engine")
        return [Made(trivial_tree(words)) for words in sentences]
