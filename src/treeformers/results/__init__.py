"""Results files to the tables and plots of an experiment's README; a module for each paper."""

from treeformers.results.render import figures, render, render_book, rendered
from treeformers.results.wang2019 import draw_heat_maps

__all__ = ["draw_heat_maps", "figures", "render", "render_book", "rendered"]
