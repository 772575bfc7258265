"""The checksums of a model folder: what is passed on is what was saved."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from treeformers.trees.formats import atomic_write

__all__ = ["CHECKSUMS", "verify_weights", "write_checksums"]

CHECKSUMS = "SHA256SUMS"
"""The file of the checksums, as `sha256sum --check` reads it."""


def write_checksums(folder: Path, names: Iterable[str]) -> None:
    """Write the SHA-256 of files of a folder.

    Raises:
        OSError: a file that cannot be read, or a folder that cannot be written.
    """
    lines = [f"{_digest(folder / name)}  {name}\n" for name in sorted(names)]
    with atomic_write(folder / CHECKSUMS) as file:
        file.writelines(lines)


def verify_weights(folder: Path) -> None:
    """Check the weights of a model folder against its checksums, if it has any.

    Settings may be changed by hand, so only the safetensors files are checked; `sha256sum --check SHA256SUMS`
    checks all.

    Raises:
        ValueError: weights that are not those which were saved, or a malformed line, with file:line.
        OSError: a file that cannot be read.
    """
    path = folder / CHECKSUMS
    if not path.is_file():
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        digest, _, name = line.partition("  ")
        if len(digest) != 64 or not name or "/" in name:
            raise ValueError(f"{path}:{number}: {line[:80]!r}, expected SHA-256, two spaces and file name")
        if name.endswith(".safetensors") and _digest(folder / name) != digest:
            raise ValueError(f"{name} is damaged or was changed: its SHA-256 is not that of {CHECKSUMS}")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
