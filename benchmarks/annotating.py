"""How fast the page of `treeformers annotate` answers, in a real browser.

    python benchmarks/annotating.py --out benchmarks/results/annotating.json

One project holds a sentence of 60 words and 100,000 short ones. *Opening* is the time to open it in the
library, from the start of the command to its address, imports included, and from there to the first tree in a
browser. An *edit* is the time from a key to the frame that shows the new tree, which is on the disk by
then. Needs chromium and `pip install 'treeformers[dev]'`.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Any

from playwright.sync_api import Page, sync_playwright
from provenance import report

from treeformers.annotation import Project, import_text, import_trees
from treeformers.data.open_english import load_open_english
from treeformers.trees.tree import Tree

WORDS, SENTENCES, EDITS, STARTS = 60, 100_000, 100, 3
WATCH = """() => {
  window.edits = [];
  let pressed = 0, shown = 0;
  const labels = () => document.querySelectorAll(".tree .label").length;
  addEventListener("keydown", () => { pressed = performance.now(); shown = labels(); }, true);
  new MutationObserver(() => {
    if (!pressed || labels() === shown) return;
    const start = pressed;
    pressed = 0;
    requestAnimationFrame(() => setTimeout(() => window.edits.push(performance.now() - start)));
  }).observe(document.body, {childList: true, subtree: true});
}"""
"""Each edit changes the number of labels in the tree. The time ends after the frame that shows the change."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.treebank"
        started = time.perf_counter()
        make(path)
        figures: dict[str, Any] = {
            "words": WORDS,
            "sentences": SENTENCES,
            "seconds_to_import_the_text": time.perf_counter() - started,
            "opening": [opening(path) for _ in range(STARTS)],
            "edits": editing(path),
        }
    report(figures, out)


def make(path: Path) -> None:
    """A project whose first sentence has 60 words."""
    phrases, words = "", 0
    for tree in load_open_english()["masc"]:
        if words + len(tree) <= WORDS:
            phrases, words = f"{phrases} {tree}", words + len(tree)
    tree = Tree.from_brackets(f"(S {phrases}{' (X x)' * (WORDS - words)})")
    with Project.create(path, validation_size=0) as project:
        import_trees(project, [tree], "long")
        import_text(project, (f"The dog number {number} barks ." for number in range(SENTENCES)), "short")


def opening(path: Path) -> dict[str, float]:
    """Seconds to open a project in the library, to start the command, and to see the first tree."""
    started = time.perf_counter()
    with Project.open(path) as project:
        assert project.counts().sentences > SENTENCES
    in_library = time.perf_counter() - started
    started = time.perf_counter()
    with served(path) as address:
        at_address = time.perf_counter() - started
        with browser() as page:
            started = time.perf_counter()
            show(page, address)
            in_browser = time.perf_counter() - started
    return {"library": in_library, "command_to_address": at_address, "address_to_first_tree": in_browser}


def editing(path: Path) -> dict[str, Any]:
    """Milliseconds of edits: a phrase is unwrapped, which is then undone and redone in turn."""
    with served(path) as address, browser() as page:
        show(page, address)
        page.keyboard.press("ArrowDown")
        page.evaluate(WATCH)
        for number in range(EDITS):
            page.keyboard.press("yz"[number % 2] if number else "u")
            while page.evaluate("window.edits.length") <= number:
                page.wait_for_timeout(20)  # the page allows no scripts from elsewhere, so ask from outside
        times = page.evaluate("window.edits")[4:]  # the first ones compile the scripts
    times.sort()
    return {
        "edits": len(times),
        "median_ms": statistics.median(times),
        "p95_ms": times[int(0.95 * len(times))],
        "longest_ms": times[-1],
    }


@contextmanager
def served(path: Path) -> Iterator[str]:
    """The address of a project that another process serves."""
    command = [sys.executable, "-m", "treeformers.cli", "annotate", str(path), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.search(r"http://\S+", line):
                yield found[0]
                break
    finally:
        process.terminate()
        process.wait()


@contextmanager
def browser() -> Iterator[Page]:
    """A page of a browser without a window."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=which("chromium") or which("chromium-browser"), args=["--no-sandbox"]
        )
        try:
            yield started.new_page(reduced_motion="reduce")
        finally:
            started.close()


def show(page: Page, address: str) -> None:
    """Open the long sentence, and wait for its tree."""
    page.goto(f"{address.rstrip('/')}/#1")
    page.locator(".tree .word").first.wait_for(timeout=60_000)


if __name__ == "__main__":
    main()
