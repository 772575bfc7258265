from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from treeformers.checksums import CHECKSUMS, verify_weights, write_checksums


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "config.json").write_text("{}")
    write_checksums(tmp_path, ["model.safetensors", "config.json"])
    return tmp_path


def test_sha256sum_reads_them(folder: Path) -> None:
    done = subprocess.run(["sha256sum", "--check", "--strict", CHECKSUMS], cwd=folder, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_other_weights_are_refused_and_other_settings_are_not(folder: Path) -> None:
    (folder / "config.json").write_text('{"a": 1}')
    verify_weights(folder)
    (folder / "model.safetensors").write_bytes(b"weighty")
    with pytest.raises(ValueError, match=r"^model\.safetensors is damaged or was changed"):
        verify_weights(folder)
    (folder / CHECKSUMS).unlink()
    verify_weights(folder)


@pytest.mark.parametrize("line", ["abc  model.safetensors", "0" * 64, f"{'0' * 64}  ../model.safetensors"])
def test_a_malformed_line_is_named(folder: Path, line: str) -> None:
    with (folder / CHECKSUMS).open("a") as file:
        file.write(line + "\n")
    with pytest.raises(ValueError, match=r"SHA256SUMS:3: .* expected SHA-256, two spaces and file name"):
        verify_weights(folder)


def test_a_missing_file(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError):
        verify_weights(folder)
