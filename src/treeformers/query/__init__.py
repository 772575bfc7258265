"""Search in trees: patterns in the languages of Tregex and Semgrex over columns of nodes."""

from treeformers.query.columns import Columns
from treeformers.query.dependency_columns import DependencyColumns
from treeformers.query.dependency_pattern import DependencyMatch, DependencyPattern
from treeformers.query.pattern import Match, Pattern

__all__ = ["Columns", "DependencyColumns", "DependencyMatch", "DependencyPattern", "Match", "Pattern"]
