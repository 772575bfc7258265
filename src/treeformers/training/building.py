"""What the builders of fresh models share: which keys a recipe has, and what a configuration refuses."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

__all__ = ["building", "check_keys"]


def check_keys(given: Iterable[str], names: Iterable[str]) -> None:
    """Check the keys of `[model]` in a recipe.

    Args:
        given: the keys.
        names: of those that there are.

    Raises:
        ValueError: one that is not there, with the nearest that is.
    """
    names = list(names)
    for key in given:
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1, cutoff=0.0)[0]
            raise ValueError(f"unknown key 'model.{key}', the nearest is 'model.{near}'")


@contextmanager
def building() -> Iterator[None]:
    """Whatever is refused inside is one line.

    Raises:
        ValueError: something was; huggingface_hub and safetensors raise kinds of their own.
    """
    try:
        yield
    except Exception as error:
        raise ValueError(f"model: {' '.join(str(error).split())[:300]}") from None
