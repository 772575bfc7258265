"""Former keys of recipes, which an error answers with their present names."""

from collections.abc import Mapping

__all__ = ["RENAMED_KEYS"]

RENAMED_KEYS: Mapping[str, str] = {
    "data.vectors": "data.embeddings",
    "data.vector_layers": "data.embedding_layers",
    "data.phrases": "data.node_labels",
    "data.coarse": "data.label_groups",
    "data.documents": "data.multi_sentence",
}
"""Dotted key to dotted key. An entry counts in sections that have the present key."""
