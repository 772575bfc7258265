"""One browser for the tests of both pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from browsers import started_browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    with started_browser() as started:
        yield started
