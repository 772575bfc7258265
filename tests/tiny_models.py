"""A parser and an inducer that are trained for nothing, in folders as training leaves them."""

from pathlib import Path

import torch

from treeformers.data.text import train_tokenizer
from treeformers.models.treebert import TreeBertConfig, TreeBertForMaskedLM
from treeformers.recipes import Beam, InduceRecipe, ParseRecipe
from treeformers.training import save_model
from treeformers.training.parse import build_parser
from treeformers.trees.tree import Tree

TREES = [
    Tree.from_brackets("(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))) (. .))"),
    Tree.from_brackets("(S (NP (NNP Ann)) (VP (VBD ran) (PRN (-LRB- -LRB-) (RB home) (-RRB- -RRB-))))"),
    Tree.from_brackets("(FRAG (NP (CD 25) (NNS cats)))"),
]


def save_parser(folder: Path, seed: int = 1) -> Path:
    """A parser with weights so large that its decisions differ from state to state."""
    recipe = ParseRecipe(model={"embedding_size": 8, "hidden_size": 8}, beam=Beam(size=2))
    model, reader = build_parser(recipe, TREES, seed)
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator) * 0.6
    save_model(model, reader, folder, {"recipe.json": recipe.to_dict()})
    return folder


def save_inducer(folder: Path, prior: str = "outside") -> Path:
    """An inducer of three layers."""
    tokenizer = train_tokenizer([" ".join(tree.words) for tree in TREES] * 2, kind="wordpiece", vocab_size=90)
    torch.manual_seed(1)
    config = TreeBertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=16,
        initializer_range=0.5,
        prior=prior,
        pad_token_id=tokenizer.pad_token_id,
    )
    save_model(TreeBertForMaskedLM(config), tokenizer, folder, {"recipe.json": InduceRecipe().to_dict()})
    return folder
