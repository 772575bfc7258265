"""Running the playground, and the model that it has where none is given."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn

from treeformers.recipes import InduceRecipe
from treeformers.tasks.demo import RECIPE
from treeformers.tasks.induce.train import train_inducer
from treeformers.web.api import create_app
from treeformers.web.engines import Engine
from treeformers.web.limits import Limits
from treeformers.web.logs import logging_as_json

__all__ = ["demo_model", "serve"]

logger = logging.getLogger(__name__)

LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")
STOP_SECONDS = 10
"""Given to the requests being worked on when the server is stopped."""


def demo_model(recipe: InduceRecipe = RECIPE, progress: bool = False) -> Path:
    """The folder of the model of `treeformers demo`, trained at the first call.

    It is kept in the user's cache folder ($XDG_CACHE_HOME, or ~/.cache) by the checksum of its recipe.

    Args:
        recipe: what to train on and how.
        progress: show on standard error how far it is.

    Raises:
        OSError: the cache folder cannot be written.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "treeformers" / "models"
    checksum = hashlib.sha256(json.dumps(recipe.to_dict(), sort_keys=True).encode()).hexdigest()[:16]
    folder = cache / checksum / "demo"
    if (folder / "history.json").is_file():
        logger.info("the demonstration model is the one in %s", folder)
        return folder
    logger.info("no model was given: a small one is trained once, in a minute or two, and kept in %s", folder)
    train_inducer(recipe, folder, progress=progress)
    return folder


def serve(
    engines: Sequence[Engine],
    host: str = "127.0.0.1",
    port: int = 8000,
    report: str | Path | None = None,
    limits: Limits | None = None,
    started: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve the playground until it is interrupted or terminated; then requests being worked on are finished.

    Args:
        engines: what can be asked.
        host: address to listen at. On a loopback address only names of this machine are answered.
        port: 0 for any free one.
        report: as in `create_app`.
        limits: as in `create_app`.
        started: called with the address once the server listens.

    Raises:
        FileNotFoundError: no such report.
        ValueError: the port is taken, the host is not one of this machine, or as in `create_app`.
    """
    hosts = LOOPBACK if host in LOOPBACK else ("*",)
    app = create_app(engines, limits, report, hosts)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=256)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"cannot listen at port {port} of {host}: {reason}") from None
    shown = f"[{host}]" if ":" in host else host
    with listening, logging_as_json():
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=STOP_SECONDS,
        )
        started(f"http://{shown}:{listening.getsockname()[1]}")
        uvicorn.Server(config).run(sockets=[listening])
