"""Which encoder for a table? All encoders and simple baselines under the same conditions.

`compare` runs a comparison, or the part of it that has no result yet. `Comparison` is its result.
"""

from treeformers.comparison.command import compare
from treeformers.comparison.results import Comparison
from treeformers.comparison.rows import Row

__all__ = ["Comparison", "Row", "compare"]
