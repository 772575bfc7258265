"""Trees, heat maps and learning curves as SVG, PNG, terminal text, LaTeX and one HTML page.

Everything drawn here is made of trees, strings and arrays; the same input gives the same output. The
pictures need no external resource, follow the reader's light or dark scheme, carry a title and a
description for screen readers, and show themselves in a notebook.
"""

from treeformers.drawing.chart import heat_map_png, heat_map_svg, learning_curve_svg
from treeformers.drawing.report import (
    heat_maps_by_layer,
    heat_maps_unscripted,
    report,
    score_table,
    shaded_trees,
    trees_beside_gold,
)
from treeformers.drawing.steps import steps_svg
from treeformers.drawing.trees import (
    dependency_latex,
    dependency_svg,
    dependency_text,
    tree_latex,
    tree_png,
    tree_svg,
    tree_text,
)
from treeformers.trees.svg import Svg

__all__ = [
    "Svg",
    "dependency_latex",
    "dependency_svg",
    "dependency_text",
    "heat_map_png",
    "heat_map_svg",
    "heat_maps_by_layer",
    "heat_maps_unscripted",
    "learning_curve_svg",
    "report",
    "score_table",
    "shaded_trees",
    "steps_svg",
    "tree_latex",
    "tree_png",
    "tree_svg",
    "tree_text",
    "trees_beside_gold",
]
