"""Pictures of the playground for the documentation, made in a headless Chromium by playwright.

    python docs/screenshots.py runs/demo/model runs/parser runs/classifier --report probes.html

The folders hold an inducer, a parser and a classifier. Pictures of each view go to docs/pictures, at the
widths of a desk (1280 pixels) and of a phone (390).
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Any

import uvicorn
from playwright.sync_api import Page, expect, sync_playwright

from treeformers.web import create_app, find_models

ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--hide-scrollbars"),
]
TREE = (
    "(S (NP (DT the) (NNS girls)) (VP (VBP love) (NP (NP (DT those) (JJ big) (NNS ducks)) "
    "(SBAR (WHNP (WDT that)) (S (VP (VBP kick) (NP (DT the) (NN boy))))))))"
)
SIZES = {"desk": (1280, 900), "phone": (390, 844)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", type=Path, nargs="+", help="folders of models")
    parser.add_argument("--report", type=Path, help="as of treeformers serve")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "pictures")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    app = create_app(find_models(arguments.models), report=arguments.report)
    browser = os.environ.get("CHROMIUM") or which("chromium") or which("chromium-browser")
    with serving(app) as address, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=ARGUMENTS)
        for size, (width, height) in SIZES.items():
            for scheme in ("light", "dark"):
                page = chromium.new_page(
                    viewport={"width": width, "height": height},
                    color_scheme=scheme,  # type: ignore[arg-type]
                    reduced_motion="reduce",
                )
                page.set_default_timeout(120_000)
                page.goto(address)
                for view in views(page):
                    if scheme == "light" or view == "compare":
                        name = f"{view}-{size}{'' if scheme == 'light' else '-dark'}.png"
                        page.screenshot(path=arguments.out / name, full_page=True)
                        sys.stdout.write(f"{arguments.out / name}\n")
                    if scheme == "dark":
                        break
                page.close()
        chromium.close()


def views(page: Page) -> Iterator[str]:
    """Go through the views of the page."""
    idle(page)
    page.fill("#text", TREE)
    page.locator("#text").evaluate("field => { field.scrollTop = 0; }")
    page.click("text=Draw trees")
    page.wait_for_selector('article[aria-label="gold"]')
    idle(page)
    yield "compare"
    page.click("#tab-layers")
    page.wait_for_selector("#layers .heat svg")
    idle(page)
    page.locator("#layers input[type=range]").fill("3")
    page.locator("#layers [role=treeitem]").nth(1).hover()
    yield "layers"
    page.click("#tab-steps")
    page.wait_for_selector("#steps .marks")
    for _ in range(29):
        page.click('#steps [aria-label="Next step"]')
    yield "steps"
    page.click("#tab-classes")
    page.wait_for_selector("#classes .shade")
    idle(page)
    yield "attention"
    if page.locator("#tab-report").is_visible():
        page.click("#tab-report")
        page.wait_for_selector("#report > *")
        if page.locator("iframe").count():
            expect(page.frame_locator("iframe").locator("h1")).to_be_visible(timeout=120_000)
        yield "report"


def idle(page: Page) -> None:
    page.wait_for_selector("#compare article", state="attached")
    page.wait_for_selector("#results:not([aria-busy])")
    expect(page.locator("#status")).not_to_contain_text("…", timeout=120_000)


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """The address of a server in a thread of this process."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


if __name__ == "__main__":
    main()
