"""An engine of tests: a maker of trees that counts its calls."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from treeformers.induction import trivial_tree
from treeformers.web.engines import Made, TreeMaker


class Counting(TreeMaker):
    """Right-branching trees; notes what it is called with, and waits where it is told to."""

    kind = "shape"

    def __init__(self, name: str = "counting") -> None:
        super().__init__(name)
        self.calls: list[list[Sequence[str]]] = []
        self.go = threading.Event()
        self.go.set()

    def make(self, sentences: Sequence[Sequence[str]]) -> list[Made]:
        self.calls.append(list(sentences))
        assert self.go.wait(30)
        for words in sentences:
            if "bad" in words:
                raise ValueError("the word bad cannot be parsed")
            if "broken" in words:
                raise RuntimeError("a fault of the engine")
        return [Made(trivial_tree(words)) for words in sentences]
