"""One browser for the tests of each page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from browsers import started_browser


# An open browser keeps an event loop running in this thread, in which other files could not run theirs.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started_browser() as started:
        yield started
