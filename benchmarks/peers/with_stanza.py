"""Stanza's shift-reduce parser, variant "charlm", with random weights and artificial transitions.

The sizes are the defaults of Stanza's training command, with two character models of their default sizes, as
Stanza's default parser of English has. Tags are given, so the time does not include Stanza's tagger. With
random weights a shift-reduce parser would hardly stop opening nodes. So the network scores the transitions,
and the transitions of a tree with as many nodes as trees of the Penn Treebank have are taken.
"""

import random

import torch
from stanza.models.common.char_model import CharacterLanguageModel
from stanza.models.common.foundation_cache import FoundationCache
from stanza.models.common.pretrain import PretrainedWordVocab
from stanza.models.common.vocab import CharVocab
from stanza.models.constituency import transition_sequence
from stanza.models.constituency.lstm_model import LSTMModel
from stanza.models.constituency.parse_tree import Tree
from stanza.models.constituency.trainer import Trainer
from stanza.models.constituency.utils import get_open_nodes
from stanza.models.constituency_parser import parse_args

LABELS = 26
VECTORS, WIDTH = 150_000, 100
"""Word vectors and their width, as those of CoNLL 2017, which Stanza reads for English by default."""
DELTA_WORDS = 10_000
CHARLM = {
    "char_emb_dim": 100,
    "char_hidden_dim": 1024,
    "char_num_layers": 1,
    "char_dropout": 0.05,
    "char_unit_dropout": 0.0,
    "char_rec_dropout": 0.0,
}
NODES_PER_WORD = 0.77
"""Nodes above the tags, per word of newswire."""


def make(folder, variant, sentences, encoder):
    folder.mkdir(parents=True)
    torch.manual_seed(1)
    words = sorted({word for row in sentences for word in row})
    words += [f"word{number}" for number in range(VECTORS - len(words))]
    vocab = PretrainedWordVocab(words[:VECTORS], lang="en")
    vectors = {"vocab": vocab.state_dict(), "emb": torch.randn(len(vocab), WIDTH)}
    torch.save(vectors, folder / "vectors.pt", _use_new_zipfile_serialization=False)
    characters = CharVocab(" ".join(words[:20_000]), lang="en")
    for name, forward in (("forward", True), ("backward", False)):
        charlm = CharacterLanguageModel(CHARLM, {"char": characters}, is_forward_lm=forward)
        charlm.save(str(folder / f"{name}.pt"))
    arguments = [
        *("--shorthand", "en_ptb", "--wordvec_pretrain_file", str(folder / "vectors.pt")),
        *("--charlm_forward_file", str(folder / "forward.pt")),
        *("--charlm_backward_file", str(folder / "backward.pt"), "--device", "cpu", "--no_multistage"),
    ]
    options = parse_args(arguments)
    options = options if isinstance(options, dict) else vars(options)
    trees = [_tree(row) for row in sentences]
    transitions = transition_sequence.all_transitions(
        transition_sequence.build_treebank(trees, options["transition_scheme"])
    )
    cache = FoundationCache()
    model = LSTMModel(
        cache.load_pretrain(str(folder / "vectors.pt")),
        cache.load_charlm(str(folder / "forward.pt")),
        cache.load_charlm(str(folder / "backward.pt")),
        None,
        None,
        False,
        None,
        transitions,
        Tree.get_unique_constituent_labels(trees),
        Tree.get_unique_tags(trees),
        words[:DELTA_WORDS],
        set(),
        Tree.get_root_labels(trees),
        get_open_nodes(trees, options["transition_scheme"]),
        4,
        options,
    )
    Trainer(model).save(str(folder / "parser.pt"), save_optimizer=False)


def _tree(words):
    """A tree with `NODES_PER_WORD` nodes per word and labels that depend on its spans alone."""
    leaves = [Tree("XX", [Tree(word)]) for word in words]
    chance = random.Random(len(words))
    left = round(NODES_PER_WORD * len(words)) - 1
    while left > 0 and len(leaves) > 1:
        start = chance.randrange(len(leaves) - 1)
        leaves[start : start + 2] = [Tree(f"L{start % LABELS}", leaves[start : start + 2])]
        left -= 1
    return Tree("ROOT", [Tree("S", leaves)])


def load(folder, variant):
    files = {"wordvec_pretrain_file": str(folder / "vectors.pt")}
    files |= {f"charlm_{name}_file": str(folder / f"{name}.pt") for name in ("forward", "backward")}
    model = Trainer.load(str(folder / "parser.pt"), files, foundation_cache=FoundationCache()).model
    model.eval()

    def choose(states, is_legal=True):
        scores, _, _ = model.predict(states, is_legal)
        _, transitions, _ = model.predict_gold(states)
        return scores, transitions, None

    def parse(sentences, batch_size):
        found = model.parse_sentences_no_grad(
            iter([_tree(words) for words in sentences]),
            model.build_batch_from_trees_with_gold_sequence,
            batch_size,
            choose,
        )
        return [str(result.predictions[0].tree) for result in found]

    return parse
