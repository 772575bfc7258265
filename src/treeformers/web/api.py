"""The JSON API, its documentation, and the page."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from treeformers import __version__
from treeformers.web.engines import Engine, NotLoaded
from treeformers.web.guards import Guard
from treeformers.web.limits import Limits
from treeformers.web.messages import (
    Classes,
    ClassifyRequest,
    EngineInfo,
    Health,
    Info,
    Latex,
    Layers,
    Parsed,
    ParseRequest,
    Problem,
    SentenceRequest,
    Steps,
    TreeRequest,
)
from treeformers.web.service import Service

__all__ = ["EXAMPLES", "create_app"]

STATIC = Path(__file__).parent / "static"
EXAMPLES = (  # in the words that the demonstration model knows
    "the girls love those big ducks that kick the boy",
    "he hugs the mad cats and kisses a bird\nthe physicists that think ponder",
    "(S (NP (DT the) (NNS girls)) (VP (VBP love) (NP (NP (DT those) (JJ big) (NNS ducks)) "
    "(SBAR (WHNP (WDT that)) (S (VP (VBP kick) (NP (DT the) (NN boy))))))))",
)
REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "The request is no JSON in UTF-8."},
    413: {"model": Problem, "description": "The request is too large."},
    422: {"model": Problem, "description": "The request cannot be read, or asks for more than the limits."},
    500: {
        "model": Problem,
        "description": "A model cannot be loaded, or the service failed.",
    },
    503: {
        "model": Problem,
        "description": "Too many requests at once, or no answer in time.",
        "headers": {
            "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}},
        },
    },
}


def create_app(
    engines: Sequence[Engine],
    limits: Limits | None = None,
    report: str | Path | None = None,
    hosts: Sequence[str] = ("*",),
    examples: Sequence[str] = EXAMPLES,
) -> Guard:
    """The application of the playground, for any ASGI server.

    Args:
        engines: what can be asked, see `treeformers.web.find_engines`; models are loaded when first used.
        limits: what a request may ask for.
        report: a page (.html) or figures (.json) to show beside, such as those of `treeformers probe`.
        hosts: names under which it may be asked; a page of elsewhere that calls this machine by a name of its
            own is turned away.
        examples: texts that the page offers.

    Raises:
        FileNotFoundError: no such report.
        ValueError: a report that is neither HTML nor JSON, or two engines of one name.
    """
    limits = limits or Limits()
    kind, content = _read_report(report)
    if len({engine.name for engine in engines}) < len(engines):
        raise ValueError("two engines have one name")
    service = Service(engines, limits)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title="treeformers",
        version=__version__,
        description="Trees of sentences, and what models see on the way. Errors are one line of JSON.",
        docs_url=None,  # the pages of FastAPI load scripts of other hosts; /docs below does not
        redoc_url=None,
        lifespan=lifespan,
    )
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(ValueError, _bad_input)
    app.add_exception_handler(NotLoaded, _not_loaded)
    app.add_exception_handler(HTTPException, _other)
    app.add_exception_handler(Exception, _failed)

    @app.head("/health", include_in_schema=False)
    @app.get("/health")
    async def health(request: Request) -> Health:
        """How the service is."""
        states: dict[str, str] = {name: engine.state for name, engine in service.engines.items()}
        guard = request.scope.get("guard")
        return Health(
            status="ok", version=__version__, in_flight=guard.in_flight if guard else 0, engines=states
        )

    @app.get("/api/info")
    async def info() -> Info:
        """The engines, the limits, and some examples."""
        return Info(
            version=__version__,
            engines=[
                EngineInfo(name=engine.name, kind=engine.kind, state=engine.state)
                for engine in service.engines.values()
            ],
            examples=list(examples),
            words=limits.words,
            sentences=limits.sentences,
            report=kind,
        )

    @app.post("/api/parse", responses=REFUSALS)
    async def parse(request: ParseRequest) -> Parsed:
        """Trees of sentences by several engines, and the unlabelled F1 between any two of them."""
        return await service.parse(request.text, request.engines)

    @app.post("/api/layers", responses=REFUSALS)
    async def layers(request: SentenceRequest) -> Layers:
        """Tree, links, prior and attention of each layer of an inducer."""
        return await service.layers(request.engine, request.words)

    @app.post("/api/steps", responses=REFUSALS)
    async def steps(request: SentenceRequest) -> Steps:
        """The steps of a parser: what it did, might have done, held and read."""
        return await service.steps(request.engine, request.words)

    @app.post("/api/classify", responses=REFUSALS)
    async def classify(request: ClassifyRequest) -> Classes:
        """Classes of trees, with the attention of the root's class on the nodes."""
        return await service.classify(request.engine, request.trees)

    @app.post("/api/latex", responses=REFUSALS)
    async def latex(request: TreeRequest) -> Latex:
        """A tree for the LaTeX package forest."""
        return await service.latex(request.tree)

    @app.get("/report", include_in_schema=False)
    async def show_report() -> HTMLResponse:
        if kind == "html":
            return HTMLResponse(content)
        raise HTTPException(404, "no page was given with --report")

    @app.get("/api/report", include_in_schema=False)
    async def report_figures() -> JSONResponse:
        if kind == "json":
            return JSONResponse(json.loads(content))
        raise HTTPException(404, "no figures were given with --report")

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    @app.api_route("/docs", methods=["GET", "HEAD"], include_in_schema=False)
    async def docs() -> FileResponse:
        return FileResponse(STATIC / "docs.html")

    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return Guard(app, limits)


def _read_report(path: str | Path | None) -> tuple[Any, str]:
    if path is None:
        return "none", ""
    path = Path(path)
    content = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        return "html", content
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError(f"{path}: neither a page in .html nor JSON") from None
    return "json", content


async def _unreadable(request: Request, error: Exception) -> JSONResponse:
    """Say where; the request is not repeated, as it may hold what no answer can."""
    assert isinstance(error, RequestValidationError)
    kind = request.headers.get("content-type", "none")
    if not kind.startswith("application/json"):
        return _problem(422, f"the content type is {kind[:40]}, expected application/json")
    problems = [
        f"{'.'.join(str(part)[:40] for part in found['loc'])}: {found['msg']}" for found in error.errors()[:3]
    ]
    return _problem(422, "; ".join(problems))


async def _bad_input(request: Request, error: Exception) -> JSONResponse:
    return _problem(422, " ".join(str(error).split()))


async def _not_loaded(request: Request, error: Exception) -> JSONResponse:
    return _problem(500, str(error))


async def _other(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    line = str(error.detail)
    if error.status_code == 405:
        line = f"{request.method} is not answered here, expected {(error.headers or {}).get('Allow')}"
    elif error.status_code == 400:  # bytes that are no UTF-8, or brackets within brackets without end
        line = "the request cannot be read, expected a JSON object in UTF-8"
    return _problem(error.status_code, line, error.headers)


async def _failed(request: Request, error: Exception) -> JSONResponse:
    return _problem(500, "the service failed; its log says how")


def _problem(status: int, line: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": line.encode(errors="replace").decode()[:500]}, status, headers)
