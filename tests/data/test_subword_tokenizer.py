"""The tokenizer without transformers against the tokenizer of transformers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tiny_encoders import PIECES, letter_tokenizer, tiny_bert
from treeformers.data.sentences import SubwordReader
from treeformers.data.subword_tokenizer import SubwordTokenizer

SENTENCES = [["an", "owl"], ["a" * 40, "-LRB-", "Zu\u0308rich"], ["\u2603"]]


def test_it_cuts_words_as_transformers_does(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path, positions=20)
    expected = SubwordReader.load(folder)
    found = SubwordReader.load_for_inference(folder, len(PIECES), 20)
    assert found.limit == expected.limit == 20
    assert found.cut(SENTENCES) == expected.cut(SENTENCES)
    for name, part in expected.batch(SENTENCES).items():
        assert part.equal(found.batch(SENTENCES)[name])


def test_special_tokens(tmp_path: Path) -> None:
    letter_tokenizer().save_pretrained(tmp_path)
    path = tmp_path / "tokenizer_config.json"
    settings = json.loads(path.read_text())
    path.write_text(json.dumps(settings | {"cls_token": {"content": "[CLS]"}}))
    assert SubwordTokenizer(tmp_path).cls_token_id == letter_tokenizer().cls_token_id
    path.write_text(json.dumps(settings | {"sep_token": "[END]"}))
    with pytest.raises(ValueError, match=r"sep_token is '\[END\]', expected a token of the vocabulary"):
        SubwordTokenizer(tmp_path)


def test_a_tokenizer_with_more_subwords_than_its_encoder(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path)
    with pytest.raises(ValueError, match=f"the tokenizer has {len(PIECES)} subwords, the encoder 9"):
        SubwordReader.load_for_inference(folder, 9, 20)
