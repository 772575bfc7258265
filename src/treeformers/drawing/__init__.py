"""Trees, heat maps and learning curves as SVG, PNG, terminal text, LaTeX and one HTML page.

Everything drawn here is made of trees, strings and arrays; the same input gives the same output. The
pictures need no external resource, follow the reader's light or dark scheme, and carry a title and a
description for screen readers.
"""

from treeformers.drawing.chart import heat_map_png, heat_map_svg, learning_curve_svg
from treeformers.drawing.report import heat_maps_by_layer, report, score_table, trees_beside_gold
from treeformers.drawing.tree import tree_latex, tree_svg, tree_text

__all__ = [
    "heat_map_png",
    "heat_map_svg",
    "heat_maps_by_layer",
    "learning_curve_svg",
    "report",
    "score_table",
    "tree_latex",
    "tree_svg",
    "tree_text",
    "trees_beside_gold",
]
