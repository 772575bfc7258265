"""Engines without a model, for runs of many lines: functions of a module, which other processes can find."""

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from treeformers.tasks.load import Engine
from treeformers.trees.tree import Tree


def right_branching(sentence: str | Sequence[str]) -> Tree:
    n_words = len(sentence)
    return Tree.from_spans(list(sentence), [(start, n_words) for start in range(n_words - 1)])


def parse(sentences: Sequence[str | Sequence[str]], batch_size: int) -> list[Tree]:
    for number, sentence in enumerate(sentences, start=1):
        if "bad" in sentence:
            raise ValueError(f"sentence {number} has the word 'bad'")
    return [right_branching(sentence) for sentence in sentences]


def quick() -> Engine:
    """Right-branching trees; the word "bad" is an error, and so is a sentence of it alone."""
    return Engine(parse, str.split, induces=True)


def slow(folder: str = "") -> Engine:
    """The same at two milliseconds a sentence; notes its process in a folder."""
    if folder:
        Path(folder, str(os.getpid())).touch()

    def parse_slowly(sentences: Sequence[str | Sequence[str]], batch_size: int) -> list[Tree]:
        time.sleep(0.002 * len(sentences))
        return parse(sentences, batch_size)

    return Engine(parse_slowly, str.split, induces=True)


def killed() -> Engine:
    """Its process ends at once when it parses."""

    def parse_never(sentences: Sequence[str | Sequence[str]], batch_size: int) -> list[Tree]:
        os.kill(os.getpid(), signal.SIGKILL)
        return []

    return Engine(parse_never, str.split, induces=True)


def broken() -> Engine:
    """A model that cannot be loaded."""
    raise ValueError("no model here")
