"""What one request may ask for."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on requests; what goes beyond them gets 413, 422 or 503, and a line that says why.

    Attributes:
        body_bytes: of a request (413).
        sentences: of a request (422).
        words: of a sentence (422).
        all_words: of all sentences of a request (422).
        word_characters: of a word (422).
        characters: of a sentence (422): attention takes memory with the square of its tokens.
        depth: of brackets, or of a tree (422).
        engines: of a request (422).
        in_flight: requests worked on at once (503).
        seconds: that a request may take, waiting and the arrival of its body included (503).
        retry_seconds: after which a request that got 503 may come again.
        batch_sentences: computed at once.
        batch_characters: computed at once, unless one sentence has more.
        gather_seconds: a batch waits until for so long no more sentences come.
    """

    body_bytes: int = 1 << 18
    sentences: int = 64
    words: int = 256
    all_words: int = 2048
    word_characters: int = 200
    characters: int = 3000
    depth: int = 512
    engines: int = 8
    in_flight: int = 128
    seconds: float = 30.0
    retry_seconds: int = 2
    batch_sentences: int = 64
    batch_characters: int = 16384
    gather_seconds: float = 0.004
