"""All commands: their help, and bad usage."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import (
    ROOT,
    complaint,
    output,
)

COMMANDS = (
    "demo",
    "train",
    "parse",
    "evaluate",
    "classify",
    "similarity",
    "translate",
    "score",
    "probe",
    "draw",
    "reproduce",
    "serve",
    "env",
    "data list",
    "data download",
    "data generate agreement",
    "data generate grammar",
)


def test_help_is_cheap() -> None:
    code = (
        "import sys, time, treeformers.cli\n"
        "heavy = {'torch', 'transformers', 'nltk', 'matplotlib', 'numpy', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert time.process_time() < 0.5, time.process_time()\n"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=60)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("parse", "Missing argument 'MODEL'; see treeformers parse --help"),
        ("data list > /dev/full", "standard output: No space left on device"),
        ("data list >&-", "standard output: Bad file descriptor"),
        ("score - trees.txt <&-", "<stdin>: Bad file descriptor"),
    ],
)
def test_module_runs_as_a_script(arguments: str, says: str) -> None:
    command = f"{sys.executable} -m treeformers.cli {arguments}"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    result = subprocess.run(command, shell=True, capture_output=True, text=True, env=environment, timeout=60)
    assert (result.returncode, result.stderr) == (2, f"treeformers: error: {says}\n")


@pytest.mark.parametrize(
    ("given", "turns"), [({}, "10000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, None)]
)
def test_threads_that_wait_leave_the_cores_to_others(given: dict[str, str], turns: str | None) -> None:
    code = "import os, treeformers.cli; print(os.environ.get('GOMP_SPINCOUNT'))"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
    environment = kept | {"PYTHONPATH": str(ROOT / "src")} | given
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60, check=True
    )
    assert shown.stdout.strip() == str(turns)


def test_output_is_utf8_whatever_the_terminal_takes(tmp_path: Path) -> None:
    drawn = tmp_path / "\u0394\u03ad\u03bd\u03c4\u03c1\u03bf.txt"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "cp1252"}
    command = [sys.executable, "-m", "treeformers.cli", "draw", "--out", str(drawn)]
    shown = subprocess.run(
        command, input=b"(S (NN a))", capture_output=True, env=environment, timeout=60, check=True
    )
    assert shown.stdout.decode("utf-8") == f"{drawn}\n"


def test_what_was_written_to_an_open_file_before_stays(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    command = (
        f"(echo before; echo '(S (NN a))' | {sys.executable} -m treeformers.cli score - gold.txt "
        f"--json /dev/stdout; echo after) > {log}"
    )
    (tmp_path / "gold.txt").write_text("(S (NN a))\n")
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    subprocess.run(command, shell=True, env=environment, timeout=60, check=True, cwd=tmp_path)
    lines = log.read_text().splitlines()
    assert lines[0] == "before" and lines[-1] == "after" and "{" in lines
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gold.txt", "log.txt"]


def test_a_dash_is_no_file_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert complaint("draw", "--out", "-", stdin="(S (NN a))") == "--out -: expected the name of a file"
    assert not list(tmp_path.iterdir())


def test_a_reader_that_has_enough_is_no_error() -> None:
    command = f"set -o pipefail; {sys.executable} -m treeformers.cli data list | true; echo $PIPESTATUS"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    shell = ["bash", "-c", command]
    result = subprocess.run(shell, capture_output=True, text=True, env=environment, timeout=60)
    assert (result.stdout, result.stderr) == ("1\n", "")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    assert f"Example: treeformers {command}" in " ".join(output(*command.split(), "--help").split())


def test_all_commands_are_tested() -> None:
    listed = output("--help").split("Commands:")[1]
    assert {line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line.strip()} == {
        *(command.split()[0] for command in COMMANDS),
        "Example:",
    }


@pytest.mark.parametrize(
    "arguments",
    [[], ["sing"], ["parse"], ["parse", "--pretty"], ["train", "r.toml", "--out", "x", "--scale", "big"]],
)
def test_bad_usage(arguments: list[str]) -> None:
    assert "--help" in complaint(*arguments)


@pytest.mark.parametrize(
    "command",
    [
        "parse no-model {read} --out",
        "classify no-model {read} --out",
        "similarity no-model {read} --out",
        "translate no-model {read} --out",
        "draw {read} --out",
        "score {read} gold.txt --json",
        "evaluate no-model --data {read} --json",
        "probe right {read} --html",
    ],
)
def test_no_input_is_written_to(command: str, tmp_path: Path) -> None:
    read, link, text = tmp_path / "my.txt", tmp_path / "link.txt", "(S (NN a) (VB b))\n"
    read.write_text(text)
    link.symlink_to(read)
    for out in (read, link, tmp_path / ".." / tmp_path.name / "my.txt"):
        option = command.split()[-1]
        expected = f"{option} {out}: would replace {read}, which is read; expected another file"
        assert complaint(*command.format(read=read).split(), out) == expected
    assert read.read_text() == text


def test_a_choice_that_is_none_names_those_that_are() -> None:
    says = complaint("train", "r.toml", "--out", "x", "--scale", "big")
    assert "Invalid value for '--scale': 'big' is not one of 'smoke', 'small', 'paper'; see" in says


def test_env() -> None:
    lines = dict(line.split(": ", 1) for line in output("env").splitlines())
    assert {"python", "torch", "transformers", "device"} <= set(lines)
