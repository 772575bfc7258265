"""`treeformers serve`: its errors, and how the server stops."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from typer.testing import CliRunner

from served_models import Counting
from treeformers.cli import app
from treeformers.web import serve


def complaint(*arguments: object) -> str:
    """The error line of a command that fails."""
    result = CliRunner().invoke(app, ["serve", *map(str, arguments)])
    lines = [line for line in result.stderr.splitlines() if line.startswith("treeformers: error: ")]
    assert (result.exit_code, len(lines)) == (2, 1), (result.stderr, result.exception)
    return lines[0]


def test_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "config.json: no such file" in complaint(tmp_path / "nowhere")
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "recipe.json").write_text('{"task": "induce"}')
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"cannot listen on port {port} of 127.0.0.1" in complaint(tmp_path, "--port", port)
    assert "cannot listen" in complaint(tmp_path, "--host", "256.0.0.1", "--port", 0)
    assert "no-report.html" in complaint(tmp_path, "--report", tmp_path / "no-report.html", "--port", 0)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    assert "pip install treeformers[web]" in complaint(tmp_path)


def test_server_finishes_running_requests_before_it_stops(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    running: list[uvicorn.Server] = []

    class Recorded(uvicorn.Server):
        def __init__(self, config: uvicorn.Config) -> None:
            super().__init__(config)
            running.append(self)

    monkeypatch.setattr(uvicorn, "Server", Recorded)
    model = Counting()
    model.go.clear()
    addresses: list[str] = []
    serving = threading.Thread(target=serve, args=([model],), kwargs={"port": 0, "started": addresses.append})
    serving.start()
    while not running or not running[0].started:
        time.sleep(0.01)
    answers: list[Any] = []

    def ask() -> None:
        body = json.dumps({"text": "quiet words", "models": ["counting"]}).encode()
        request = urllib.request.Request(
            f"{addresses[0]}/api/parse", body, {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            answers.append(json.load(answer))

    asking = threading.Thread(target=ask)
    asking.start()
    while not model.calls:
        time.sleep(0.01)
    running[0].should_exit = True
    time.sleep(0.2)
    assert not answers
    model.go.set()
    asking.join(30)
    serving.join(30)
    assert answers[0]["sentences"][0]["words"] == ["quiet", "words"]
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert {"time", "level", "logger", "message"} <= set(lines[0])
    assert [line["status"] for line in lines if line["message"] == "request"] == [200]
    assert "quiet" not in json.dumps(lines)


def test_the_end_of_an_answer_does_not_wait_for_the_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    options: list[int] = []

    def look(self: uvicorn.Server, sockets: list[socket.socket]) -> None:
        with socket.create_connection(sockets[0].getsockname()), sockets[0].accept()[0] as accepted:
            options.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    monkeypatch.setattr(uvicorn.Server, "run", look)
    serve([Counting()], port=0, started=lambda _: None)
    assert options == [1]


def test_the_model_of_a_service_that_names_none(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[list[str]] = []
    monkeypatch.setattr("treeformers.web.serve", lambda models, *_, **__: served.append(list(models)))
    monkeypatch.setattr("treeformers.web.find_models", lambda models, beam: map(str, models))
    monkeypatch.setattr("treeformers.web.demo_model", lambda progress: "demo")
    for installed in (True, False):
        monkeypatch.setattr("treeformers.cli.serving.is_installed", lambda name, it=installed: it)
        assert CliRunner().invoke(app, ["serve"]).exit_code == 0
    CliRunner().invoke(app, ["serve", "other"])
    assert served == [["en"], ["demo"], ["other"]]
