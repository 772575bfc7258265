"""Logs as JSON, one object a line on standard error. Sentences are not in them."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

__all__ = ["JsonFormatter", "logging_as_json"]


class JsonFormatter(logging.Formatter):
    """A record as one JSON object: time, level, logger, message, and the `fields` given as extra."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


@contextmanager
def logging_as_json() -> Iterator[None]:
    """Write what the library and the server log as JSON instead of as text."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    loggers = [logging.getLogger(name) for name in ("treeformers", "uvicorn")]
    before = [(logger, logger.handlers, logger.level) for logger in loggers]
    for logger in loggers:
        logger.handlers = [handler]
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        for logger, handlers, level in before:
            logger.handlers = handlers
            logger.setLevel(level)
