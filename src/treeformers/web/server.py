"""Runs the playground, and trains its demonstration model."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from treeformers.recipes import InduceRecipe
from treeformers.tasks.demo import RECIPE
from treeformers.tasks.induce.train import train_inducer
from treeformers.web.api import create_app
from treeformers.web.limits import Limits
from treeformers.web.logs import logging_as_json
from treeformers.web.models import ServedModel

if TYPE_CHECKING:
    from treeformers.web.guards import Guard

__all__ = ["LOOPBACK", "demo_model", "run", "serve"]

logger = logging.getLogger(__name__)

LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")
STOP_SECONDS = 10
"""Time for running requests to finish when the server stops."""


def demo_model(recipe: InduceRecipe = RECIPE, progress: bool = False) -> Path:
    """The folder of the model of `treeformers demo`. The first call trains it.

    The model stays in the user's cache folder ($XDG_CACHE_HOME, or ~/.cache), under the checksum of its
    recipe.

    Args:
        recipe: the recipe to train.
        progress: show the progress on standard error.

    Raises:
        OSError: the cache folder cannot be written.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "treeformers" / "models"
    checksum = hashlib.sha256(json.dumps(recipe.to_dict(), sort_keys=True).encode()).hexdigest()[:16]
    folder = cache / checksum / "demo"
    if (folder / "history.json").is_file():
        logger.info("using the demonstration model in %s", folder)
        return folder
    logger.info("no model was given: training a small one for one or two minutes; it is kept in %s", folder)
    train_inducer(recipe, folder, progress=progress)
    return folder


def serve(
    models: Sequence[ServedModel],
    host: str = "127.0.0.1",
    port: int = 8000,
    report: str | Path | None = None,
    limits: Limits | None = None,
    started: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve the playground until it is interrupted or terminated; running requests are then finished.

    Args:
        models: the models to serve.
        host: address to listen on. On a loopback address, the server answers only to names of this machine.
        port: port to listen on; 0 is any free one.
        report: as in `create_app`.
        limits: as in `create_app`.
        started: called with the address when the server listens.

    Raises:
        FileNotFoundError: the report does not exist.
        ValueError: the port is taken, the host is not an address of this machine, or as in `create_app`.
    """
    hosts = LOOPBACK if host in LOOPBACK else ("*",)
    run(create_app(models, limits, report, hosts), host, port, started)


def run(app: Guard, host: str, port: int, started: Callable[[str], None]) -> None:
    """Run an application until it is interrupted or terminated; running requests are then finished.

    Args:
        app: the application.
        host: address to listen on.
        port: port to listen on; 0 is any free one.
        started: called with the address when the server listens.

    Raises:
        ValueError: the port is taken, or the host is not an address of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=256)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"cannot listen on port {port} of {host}: {reason}") from None
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
