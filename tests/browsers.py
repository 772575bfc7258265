"""A real browser for the tests of the pages, and servers for it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Any

import pytest
import uvicorn
from playwright import sync_api

from conftest import ROOT

CHROMIUM = which("chromium") or which("chromium-browser")
NEEDS_CHROMIUM = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: apt-get install chromium")
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
AXE = [
    Path(path)
    for path in (os.environ.get("AXE_CORE"), ROOT / "node_modules" / "axe-core" / "axe.min.js")
    if path and Path(path).is_file()
]
PATIENCE = 20_000  # milliseconds, on a machine that does other things too
expect = sync_api.expect
expect.set_options(timeout=PATIENCE)


@contextmanager
def started_browser() -> Iterator[Any]:
    """A browser without a window."""
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=2 * PATIENCE)
        try:
            yield started
        finally:
            started.close()


@contextmanager
def served(app: Any) -> Iterator[str]:
    """The address of an application that a thread serves."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def faults(page: Any) -> list[Any]:
    """The faults that axe-core finds, which the page has loaded."""
    return [
        (
            fault["id"],
            fault["impact"],
            fault["nodes"][0]["html"][:160],
            fault["nodes"][0].get("failureSummary"),
        )
        for fault in page.evaluate("axe.run({iframes: false})")["violations"]
    ]
