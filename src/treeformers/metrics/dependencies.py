"""Attachment scores: predicted dependency trees against gold ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from treeformers.metrics.comparison import paired, percent, signature
from treeformers.trees.dependency import DependencyTree

__all__ = ["AttachmentScore", "attachment"]


@dataclass(frozen=True, slots=True)
class AttachmentScore:
    """Heads and relations of words, in percent of all words, those of the whole corpus together.

    Attributes:
        unlabeled_attachment: words with the right head (UAS).
        labeled_attachment: words with the right head and relation (LAS); None where no predicted tree has
            a relation.
        exact_match: sentences whose words all have the right head.
        words: number of words scored.
        sentences: number of sentences scored.
        signature: how all this was computed.
    """

    unlabeled_attachment: float
    labeled_attachment: float | None
    exact_match: float
    words: int
    sentences: int
    signature: str

    def __str__(self) -> str:
        labeled = "" if self.labeled_attachment is None else f", LAS {self.labeled_attachment:.2f}"
        return f"UAS {self.unlabeled_attachment:.2f}{labeled} ({self.signature})"


def attachment(
    gold: Iterable[DependencyTree], predicted: Iterable[DependencyTree], max_length: int | None = None
) -> AttachmentScore:
    """Score every word, punctuation too, as the CoNLL shared tasks have done since 2017.

    Args:
        gold: gold trees.
        predicted: trees over the same words, in the same order.
        max_length: score only sentences of at most so many words.

    Raises:
        ValueError: different numbers of trees, something that is no such tree, or trees over other words.
    """
    words = sentences = heads = relations = exact = 0
    has_relations = False
    for number, (right, found) in enumerate(paired(gold, predicted, DependencyTree), start=1):
        if right.words != found.words:
            raise ValueError(f"sentence {number}: the predicted tree has other words than the gold tree")
        if max_length is not None and len(right) > max_length:
            continue
        attached = [one == other for one, other in zip(found.heads, right.heads, strict=True)]
        named = [one == other for one, other in zip(found.relations, right.relations, strict=True)]
        words += len(right)
        sentences += 1
        heads += sum(attached)
        relations += sum(head and relation for head, relation in zip(attached, named, strict=True))
        exact += all(attached)
        has_relations |= any(relation != "_" for relation in found.relations)
    return AttachmentScore(
        unlabeled_attachment=percent(heads, words),
        labeled_attachment=percent(relations, words) if has_relations else None,
        exact_match=percent(exact, sentences),
        words=words,
        sentences=sentences,
        signature=signature("attachment", punctuation="scored", average="corpus", max_length=max_length),
    )
