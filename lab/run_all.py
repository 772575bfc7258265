"""All rows of all papers: those first whose models others read, several at a time, past what fails."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from pathlib import Path
from typing import TypeAlias

from lab.row_status import Row, in_order, list_rows
from lab.run import RowsFailed, reproduce
from treeformers.recipes import Scale
from treeformers.training.workers import start_workers

logger = logging.getLogger(__name__)

Result: TypeAlias = Path | FileNotFoundError | str
"""The results file, what was not there, or what went wrong."""
Job: TypeAlias = Callable[..., Result]


def reproduce_all(
    experiments: Path,
    scale: Scale = "small",
    runs: Path = Path("runs"),
    overrides: Sequence[str] = (),
    progress: bool = True,
    processes: int = 1,
) -> list[Path]:
    """Run the rows of all papers that have no results yet.

    A row is run as by `reproduce`: what is up to date is left as it is, and a trained seed is not trained
    again, so that a run that was stopped goes on where it was. Rows whose corpora, packages or models are not
    there are left out with a warning; one that fails does not end the others.

    Args:
        experiments: folder that holds the experiment folders.
        scale: sizes of the recipes.
        runs: folder for the models.
        overrides: changes to every recipe.
        progress: show progress bars; several processes show none.
        processes: rows that run at the same time.

    Returns:
        The results files, with those that were up to date.

    Raises:
        FileNotFoundError: no experiments.
        ValueError: fewer than one process, or rows that wait for each other.
        ChildProcessError: one of several processes was killed.
        RowsFailed: some rows failed.
    """
    if processes < 1:
        raise ValueError(f"processes is {processes}, expected at least 1")
    rows = in_order(list_rows(experiments, scale))
    job = partial(_run, scale=scale, runs=runs, overrides=tuple(overrides), progress=progress)
    written: list[Path] = []
    failed: list[str] = []
    for row, result in _results(rows, job) if processes == 1 else _several(rows, job, processes):
        match result:
            case Path():
                written.append(result)
            case FileNotFoundError():
                logger.warning("%s is left out: %s", row.path, result)
            case _:
                failed.append(row.key)
                logger.error("%s failed: %s", row.path, result)
    if failed:
        raise RowsFailed(
            f"{experiments}: {len(failed)} of {len(rows)} rows failed: {', '.join(failed)}", failed, written
        )
    return written


def _results(rows: Sequence[Row], job: Job) -> Iterator[tuple[Row, Result]]:
    for row in rows:
        yield row, job(row.path)


def _several(rows: Sequence[Row], job: Job, processes: int) -> Iterator[tuple[Row, Result]]:
    """The results as they come; a row starts once no row whose model it reads is left."""
    pending = list(rows)
    running: dict[Future[Result], Row] = {}
    with start_workers(processes) as pool:
        while pending or running:
            unfinished = {row.key for row in (*pending, *running.values())}
            ready = [row for row in pending if not row.reads() & unfinished]
            for row in ready[: processes - len(running)]:
                pending.remove(row)
                running[pool.submit(partial(job, progress=False), row.path)] = row
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(done), done.result()


def _run(path: Path, scale: Scale, runs: Path, overrides: Sequence[str], progress: bool) -> Result:
    try:
        (written,) = reproduce(path.parent, path.stem, scale, runs, overrides, progress)
    except FileNotFoundError as error:
        return FileNotFoundError(str(error))
    except Exception as error:
        logger.debug("where %s failed", path, exc_info=True)
        return f"{type(error).__name__}: {' '.join(str(error).split())}"
    return written
