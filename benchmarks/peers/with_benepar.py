"""benepar: BERT base, two layers of self-attention and a chart decoder, with random weights.

The published English models are of this kind over T5 or BERT large. The sizes above the encoder are those of
benepar's own training command for English with BERT.
"""

import json

import benepar
import torch
from benepar import nkutil, parse_chart
from transformers import PreTrainedTokenizerBase

HPARAMS = {
    "use_chars_lstm": False,
    "use_pretrained": True,
    "pretrained_model": "bert-base-uncased",
    "use_encoder": True,
    "d_model": 1024,
    "num_layers": 2,
    "num_heads": 8,
    "d_kv": 64,
    "d_ff": 2048,
    "encoder_max_len": 512,
    "d_label_hidden": 256,
    "d_tag_hidden": 256,
    "tag_loss_scale": 5.0,
    "predict_tags": True,
    "force_root_constituent": True,
    "morpho_emb_dropout": 0.2,
    "attention_dropout": 0.2,
    "relu_dropout": 0.1,
    "residual_dropout": 0.2,
}
LABELS = 112
"""Labels of the Penn Treebank, with chains of unary nodes as labels of their own."""
TAGS = 47


def _with_special_tokens(self, ids, more=None):
    return [self.cls_token_id, *ids, self.sep_token_id]


if not hasattr(PreTrainedTokenizerBase, "build_inputs_with_special_tokens"):  # gone from transformers 5
    PreTrainedTokenizerBase.build_inputs_with_special_tokens = _with_special_tokens


def make(folder, variant, sentences, encoder):
    labels = {"": 0, "S": 1, **{f"L{number}": number for number in range(2, LABELS)}}
    tags = {"UNK": 0, **{f"T{number}": number for number in range(1, TAGS)}}
    torch.manual_seed(1)
    parser = parse_chart.ChartParser(
        tags, labels, None, nkutil.HParams(**HPARAMS), pretrained_model_path=str(encoder)
    )
    folder.mkdir(parents=True)
    for path in encoder.iterdir():
        if path.suffix == ".json":
            (folder / path.name).write_bytes(path.read_bytes())
    config = json.loads((folder / "config.json").read_text())
    config["benepar"] = parser.config
    (folder / "config.json").write_text(json.dumps(config))
    torch.save(parser.state_dict(), folder / "benepar_model.bin")


def load(folder, variant):
    parser = benepar.Parser(str(folder))

    def parse(sentences, batch_size):
        parser.batch_size = batch_size
        trees = parser.parse_sents([benepar.InputSentence(words=words) for words in sentences])
        return [tree.pformat(margin=10**9) for tree in trees]

    return parse
