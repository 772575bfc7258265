"""The first entries of every results file: the recipe, the date, the commit and the machine."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from treeformers.recipes import Recipe
from treeformers.training.provenance import commit, environment


def origin(recipe: Recipe) -> dict[str, Any]:
    """Where a result comes from: the first entries of every results file."""
    return {
        "recipe": recipe.to_dict(),
        "scale": recipe.scale,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": commit(),
        "environment": environment(),
    }
