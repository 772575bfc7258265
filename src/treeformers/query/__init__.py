"""Search in trees: patterns in the language of Tregex over columns of nodes."""

from treeformers.query.columns import Columns
from treeformers.query.pattern import Match, Pattern

__all__ = ["Columns", "Match", "Pattern"]
