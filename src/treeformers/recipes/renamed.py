"""Former keys of recipes, which an error answers with their present names."""

from collections.abc import Mapping

__all__ = ["RENAMED_KEYS"]

RENAMED_KEYS: Mapping[str, str] = {
    "model.hard_links": "model.straight_through",
    "model.heads": "model.head_rule",
    "model.max_recursions": "model.max_layer_repeats",
    "model.num_priors": "model.num_link_heads",
    "model.prior": "model.prior_position",
    "model.tag_weight": "model.tagging_loss_weight",
}
"""Dotted key to dotted key. An entry counts in sections that have the present key."""
