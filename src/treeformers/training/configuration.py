"""What the builders of fresh models share: which keys a recipe has, and what a configuration refuses."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from huggingface_hub.errors import StrictDataclassError
from transformers import PreTrainedConfig

from treeformers.recipes.renamed import RENAMED

__all__ = ["building", "check_keys", "configure"]

C = TypeVar("C", bound=PreTrainedConfig)


def check_keys(given: Iterable[str], names: Iterable[str]) -> None:
    """Check the keys of `[model]` in a recipe.

    Args:
        given: The keys in the recipe.
        names: The allowed keys.

    Raises:
        ValueError: A key is not allowed. The message gives its new name if it has one, else the nearest key.
    """
    names = list(names)
    for key in given:
        if key not in names:
            now = RENAMED.get(f"model.{key}", "")
            if now.removeprefix("model.") in names:
                raise ValueError(f"model.{key} is now {now}")
            near = difflib.get_close_matches(key, names, n=1, cutoff=0.0)[0]
            raise ValueError(f"unknown key 'model.{key}', the nearest is 'model.{near}'")


def configure(kind: type[C], given: Mapping[str, Any], derived: Collection[str] = (), **sizes: Any) -> C:
    """A configuration from `[model]` of a recipe.

    Args:
        kind: its class.
        given: what the recipe says.
        derived: keys that a recipe has no say in.
        **sizes: what is known of them; the defaults do to check a recipe before its data are read.

    Raises:
        ValueError: a key that is not there, or a value that is not taken.
    """
    check_keys(given, [field.name for field in dataclasses.fields(kind) if field.name not in derived])
    with building():
        return kind(**sizes, **given)


@contextmanager
def building() -> Iterator[None]:
    """Whatever is refused inside is one line, and names the key if that is known.

    Raises:
        ValueError: something was; huggingface_hub and safetensors raise kinds of their own.
    """
    try:
        yield
    except StrictDataclassError as error:
        problem = re.sub(r"^Field '(\w+)'", r"\1", " ".join(str(error.__cause__ or error).split()))
        raise ValueError(f"model.{problem[:300]}") from None
    except Exception as error:
        raise ValueError(f"model: {' '.join(str(error).split())[:300]}") from None
