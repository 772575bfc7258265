"""Trees, heat maps and learning curves as SVG, PNG, terminal text, LaTeX and HTML.

All drawings take trees, strings and arrays; equal input gives equal output. The pictures load nothing from
outside, follow the reader's light or dark scheme, have a title and a description for screen readers, and
appear as pictures in notebooks.
"""

from treeformers.drawing.chart import heat_map_png, heat_map_svg, learning_curve_svg, reliability_png
from treeformers.drawing.report import (
    heat_maps_by_layer,
    heat_maps_unscripted,
    report,
    score_table,
    shaded_trees,
    trees_against_gold,
    trees_beside_gold,
)
from treeformers.drawing.steps import steps_svg
from treeformers.drawing.trees import (
    dependency_latex,
    dependency_svg,
    dependency_text,
    discontinuous_svg,
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
    "discontinuous_svg",
    "heat_map_png",
    "heat_map_svg",
    "heat_maps_by_layer",
    "heat_maps_unscripted",
    "learning_curve_svg",
    "reliability_png",
    "report",
    "score_table",
    "shaded_trees",
    "steps_svg",
    "tree_latex",
    "tree_png",
    "tree_svg",
    "tree_text",
    "trees_against_gold",
    "trees_beside_gold",
]
