"""Is a sequence of words a sentence of a grammar? It checks what was sampled, by other means."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from treeformers.data.grammar import PCFG, Symbol

__all__ = ["Recognizer"]


class Recognizer:
    """Says whether words are a sentence of a grammar.

    A chart is filled from the last word to the first: for every word, what can begin there and where that can
    end. Only productions are read, whatever their probability if it is not 0; nothing of the sampler is used.

    Args:
        grammar: any, left-recursive, cyclic and ambiguous ones too.
    """

    def __init__(self, grammar: PCFG) -> None:
        self._start = Symbol(grammar.start)
        self._by_first: dict[Symbol, list[tuple[Symbol, tuple[Symbol, ...]]]] = defaultdict(list)
        for production in grammar.productions:
            if production.probability:
                first, *others = production.right
                self._by_first[first].append((Symbol(production.left), tuple(others)))

    def accepts(self, words: Sequence[str]) -> bool:
        """Whether the grammar derives these words.

        Args:
            words: any; one that the grammar does not know makes it false, and so do none at all.
        """
        ends: list[dict[Symbol, set[int]]] = [{} for _ in range(len(words) + 1)]
        for position in reversed(range(len(words))):
            here = ends[position]
            pending = [(Symbol(words[position], True), position + 1)]
            while pending:
                symbol, end = pending.pop()
                known = here.setdefault(symbol, set())
                if end in known:
                    continue
                known.add(end)
                for left, others in self._by_first.get(symbol, ()):
                    reached = {end}
                    for other in others:
                        reached = {last for middle in reached for last in ends[middle].get(other, ())}
                    pending += [(left, last) for last in reached]
        return len(words) in ends[0].get(self._start, ())
