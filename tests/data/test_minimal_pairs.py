from __future__ import annotations

import gzip
import json
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from conftest import needs_corpora
from treeformers.data import corpora
from treeformers.data.minimal_pairs import MinimalPair, load_minimal_pairs

BLIMP = {
    "sentence_good": "Who did Ann see?",
    "sentence_bad": "Who did Ann see Bob?",
    "UID": "wh_gap",
    "linguistics_term": "island_effects",
    "pairID": "0",
}


def write_blimp(data_dir: Path, *lines: str) -> Path:
    path = data_dir / "blimp" / "blimp_data.zip"
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("data/wh_gap.jsonl", "\n".join(lines))
        file.writestr("__MACOSX/data/wh_gap.jsonl", "\0")
    return path


def write_templates(data_dir: Path, name: str, *lines: str) -> Path:
    path = data_dir / "marvin_linzen" / f"{name}.jsonl.gz"
    path.parent.mkdir(exist_ok=True)
    with gzip.open(path, "wt") as file:
        file.write("\n".join(lines))
    return path


def test_blimp_from_its_archive_or_as_files(tmp_path: Path) -> None:
    write_blimp(tmp_path, json.dumps(BLIMP))
    expected = [MinimalPair("Who did Ann see?", "Who did Ann see Bob?", "wh_gap", "island effects")]
    assert load_minimal_pairs("blimp", tmp_path) == corpora.load("blimp", tmp_path)["test"] == expected
    (tmp_path / "blimp" / "blimp_data.zip").unlink()
    (tmp_path / "blimp" / "data").mkdir()
    (tmp_path / "blimp" / "data" / "wh_gap.jsonl").write_text(json.dumps(BLIMP) + "\n")
    assert load_minimal_pairs("blimp", tmp_path) == expected


def test_sentences_with_two_twins_give_two_pairs(tmp_path: Path) -> None:
    write_templates(tmp_path, "simple_npi_anim", '{"case": "past", "sentences": ["no a", "the a", "a a"]}')
    write_templates(tmp_path, "reflexives_across", '{"case": "x", "sentences": ["he him", "he her"]}')
    write_templates(tmp_path, "vp_coord", '{"case": "x", "sentences": ["he runs", "he run"]}')
    assert load_minimal_pairs("marvin-linzen", tmp_path) == [
        MinimalPair("he him", "he her", "reflexives_across", "reflexive anaphora"),
        MinimalPair("no a", "the a", "simple_npi_anim", "negative polarity items"),
        MinimalPair("no a", "a a", "simple_npi_anim", "negative polarity items"),
        MinimalPair("he runs", "he run", "vp_coord", "subject-verb agreement"),
    ]


@pytest.mark.parametrize(
    "line, message",
    [
        ("{", "not JSON"),
        ("[]", r"expected an object in braces, got '\[\]'"),
        (json.dumps(BLIMP | {"sentence_bad": " "}), "expected text as \"sentence_bad\", got ' '"),
        (json.dumps(BLIMP | {"UID": 3}), 'expected text as "UID", got 3'),
        (json.dumps({"sentence_good": "a"}), 'expected text as "sentence_bad", got None'),
    ],
)
def test_malformed_lines_of_blimp(tmp_path: Path, line: str, message: str) -> None:
    path = write_blimp(tmp_path, json.dumps(BLIMP), line)
    with pytest.raises(ValueError, match=rf"^{path}/data/wh_gap\.jsonl:2: {message}"):
        load_minimal_pairs("blimp", tmp_path)


@pytest.mark.parametrize(
    "line, message",
    [
        ('{"sentences": ["a"]}', 'expected "sentences", a list of a grammatical and other sentences'),
        ('{"case": "x"}', 'expected "sentences", a list'),
        ('{"sentences": ["a", 3]}', 'expected text as "sentences", got 3'),
    ],
)
def test_malformed_lines_of_templates(tmp_path: Path, line: str, message: str) -> None:
    path = write_templates(tmp_path, "vp_coord", '{"sentences": ["a", "b"]}', line)
    with pytest.raises(ValueError, match=rf"^{path}:2: {message}"):
        load_minimal_pairs("marvin-linzen", tmp_path)


def test_damaged_archives(tmp_path: Path) -> None:
    path = write_blimp(tmp_path, json.dumps(BLIMP))
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(ValueError, match=r"blimp_data\.zip: damaged zip file"):
        load_minimal_pairs("blimp", tmp_path)
    path = write_templates(tmp_path, "vp_coord", "{}")
    path.write_bytes(b"{}")
    with pytest.raises(ValueError, match=r"vp_coord\.jsonl\.gz:1: damaged gzip file"):
        load_minimal_pairs("marvin-linzen", tmp_path)


def test_missing_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="unknown minimal pairs 'wug': expected one of blimp, marvin-linzen"):
        load_minimal_pairs("wug", tmp_path)
    with pytest.raises(ValueError, match="blimp has no dependencies: it has minimal pairs"):
        corpora.load("blimp", tmp_path, trees="dependencies")
    with pytest.raises(FileNotFoundError, match=r"blimp: no files .* take data/\*\.jsonl"):
        load_minimal_pairs("blimp", tmp_path)
    monkeypatch.delenv("TREEFORMERS_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="blimp: no data folder: set TREEFORMERS_DATA"):
        load_minimal_pairs("blimp")


@needs_corpora
def test_the_real_sets() -> None:
    blimp = load_minimal_pairs("blimp")
    assert len({pair.paradigm for pair in blimp}) == 67
    assert set(Counter(pair.paradigm for pair in blimp).values()) == {1000}
    templates = load_minimal_pairs("marvin-linzen")
    assert len({pair.paradigm for pair in templates}) == 22
    assert len(templates) == 163124 + 4800 + 5760 + 120 + 144  # those with two twins count twice
    assert sum(pair.good == pair.bad for pair in blimp) == 7
