"""`treeformers serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def serve(
    models: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[MODEL]...", help="Folders of trained inducers, parsers and classifiers."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at; 0 is any free one.")] = 8000,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A page or JSON to show beside, as of the probes.")
    ] = None,
    beam: Annotated[
        int | None,
        typer.Option(min=1, help="Parsers: hypotheses kept; 1 is several times as fast as 10."),
    ] = None,
) -> None:
    """Open the playground: a page at this machine that draws trees of one's own sentences.

    Without a model the small one of the demonstration is trained once, in a minute or two, and kept in the
    cache folder. Logs are JSON on standard error.
    """
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise ValueError(f"{error.name} is not installed: pip install treeformers[web]") from None

    from treeformers.web import demo_model, find_engines
    from treeformers.web import serve as run

    engines = find_engines(models or [demo_model(progress=True)], beam)
    run(engines, host, port, report, started=typer.echo)
