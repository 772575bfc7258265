"""Tags, heads and relations of tokens, from the trees over them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from spacy.attrs import DEP, HEAD, TAG
from spacy.tokens import Doc

from treeformers.trees.heads import to_dependencies
from treeformers.trees.tree import Tree

__all__ = ["ROOT", "UNNAMED", "set_heads"]

ROOT = "ROOT"
UNNAMED = "dep"
"""spaCy's relation for a dependency of no known kind: the head rules find heads and no relations."""
_SPACE_TAG = "_SP"


def set_heads(doc: Doc, trees: Iterable[tuple[Sequence[int], Tree]]) -> None:
    """Set `tag_`, `head` and `dep_` of all tokens by the head rules of Collins (1999).

    A token of white space depends on the token before it in its sentence, or after it if there is none, as in
    spaCy's own parsers. A sentence of white space hangs on its first token. The sentences stay the same.

    Args:
        doc: a document with sentence boundaries; changed in place.
        trees: the positions of the words of a sentence, and their tree, for each sentence that has words.

    Raises:
        ValueError: a tree has no labels.
    """
    heads = list(range(len(doc)))
    tags = [_SPACE_TAG] * len(doc)
    is_word = [False] * len(doc)
    for places, tree in trees:
        for place, head, tag in zip(places, to_dependencies(tree).heads, tree.tags, strict=True):
            heads[place] = places[head - 1] if head else place
            tags[place], is_word[place] = tag, True
    for sentence in list(doc.sents):
        first = next((i for i in range(sentence.start, sentence.end) if is_word[i]), sentence.start)
        for i in range(sentence.start, sentence.end):
            if not is_word[i]:
                heads[i] = first if i <= first else i - 1
    strings = doc.vocab.strings
    rows = [
        (np.int64(head - i).astype(np.uint64), strings.add(ROOT if head == i else UNNAMED), strings.add(tag))
        for i, (head, tag) in enumerate(zip(heads, tags, strict=True))
    ]
    if rows:
        table: Any = np.array(rows, dtype=np.uint64)  # the type that spaCy declares is not the one it reads
        doc.from_array([HEAD, DEP, TAG], table)
