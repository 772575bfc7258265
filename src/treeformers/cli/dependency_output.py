"""Trees of a parser as CoNLL-U, for `treeformers parse --format conllu`."""

from __future__ import annotations

import logging
from typing import TextIO

from treeformers.trees.escapes import unescape_word
from treeformers.trees.head_rules import HeadRules, find_head_rules
from treeformers.trees.heads import RuleCoverage, governors
from treeformers.trees.tree import Tree
from treeformers.trees.universal_dependencies import to_universal_dependencies

__all__ = ["ENGLISH", "DependencyWriter"]

logger = logging.getLogger(__name__)

ENGLISH = "ud-english"
"""The head rules that come with relations and universal tags."""
_NOTHING = "_"


class DependencyWriter:
    """Writes trees as CoNLL-U.

    With the rules `ud-english`, the columns UPOS, HEAD and DEPREL are those of Universal Dependencies. With
    other rules, UPOS and DEPREL are empty. XPOS is always the tag of the tree.

    Args:
        target: the file.
        rules: the head rules, see `find_head_rules`.

    Attributes:
        coverage: the nodes written so far, and those without a rule.
    """

    def __init__(self, target: TextIO, rules: str | HeadRules = ENGLISH) -> None:
        self.rules = find_head_rules(rules)
        self.coverage = RuleCoverage(self.rules)
        self._target = target

    def __call__(self, tree: Tree) -> None:
        """Write a tree."""
        self.coverage.add(tree)
        if self.rules.name == ENGLISH:
            found = to_universal_dependencies(tree)
            upos, heads, relations = found.tags, found.heads, found.relations
        else:
            upos = relations = (_NOTHING,) * len(tree)
            heads = tuple(governors(tree, self.rules))
        rows = zip(map(unescape_word, tree.words), upos, tree.tags, heads, relations, strict=True)
        for number, (word, tag, xpos, head, relation) in enumerate(rows, start=1):
            self._target.write(f"{number}\t{word}\t_\t{tag}\t{xpos}\t_\t{head}\t{relation}\t_\t_\n")
        self._target.write("\n")

    def warn(self) -> None:
        """Log one line with the share of nodes without a rule, if there are any; after the last tree."""
        if self.coverage.without_rule:
            logger.warning("warning: %s; --heads chooses other rules", self.coverage)
