"""Where a result comes from: versions, devices and the commit of the code, as JSON."""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from treeformers import __version__

_RECIPES = ("recipe", "members", "sources", "training")
"""Keys that hold recipes, whose numbers are not rounded: a small rate would be lost."""


def environment() -> dict[str, Any]:
    """Versions and devices, for results and bug reports."""
    import torch

    devices = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "device": ", ".join(devices) or f"{torch.cpu.get_capabilities().get('cpu_name', 'CPU')} (CPU)",
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "treeformers": __version__,
        "torch": str(torch.__version__),  # names the build, which the package's version may not
        **{name: version(name) for name in ("transformers", "tokenizers", "accelerate")},
    }


def commit() -> str:
    """The commit of the code that runs, "+" after it if files differ; "" outside a checkout."""
    folder = Path(__file__).parents[1]  # of the package

    def git(*arguments: str) -> str:
        try:
            done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""

    return git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "--porcelain", "--", ".") else "")


def write_json(path: Path, content: Any) -> None:
    """Write JSON in one step: a file that stood there stays whole until the new one is.

    Numbers keep four decimal places, those of recipes all.
    """
    from treeformers.trees.formats import atomic_write

    with atomic_write(path) as file:
        json.dump(_rounded(content), file, indent=1, ensure_ascii=False)
        file.write("\n")


def _rounded(content: Any) -> Any:
    if isinstance(content, float):
        if not math.isfinite(content):
            return None
        # By decimals a small p-value would become 0.
        return round(content, 4) if abs(content) >= 1 else float(f"{content:.4g}")
    if isinstance(content, Mapping):
        return {key: value if key in _RECIPES else _rounded(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_rounded(value) for value in content]
    return content
