"""How log lines look: text for people, or one JSON object a line; both say of which run and step they are."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Literal

from lorebase.tracing import facts_now

LogForm = Literal["text", "json"]
_FACTS = "lorebase_facts"


class WorkFilter(logging.Filter):
    """Gives every record the facts of the work it was written in."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Always lets the record through."""
        if not hasattr(record, _FACTS):
            setattr(record, _FACTS, dict(facts_now()))
        return True


class TextLines(logging.Formatter):
    """`LEVEL logger: message [run=... step=...]`."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        said = ", ".join(f"{name}={value}" for name, value in getattr(record, _FACTS, {}).items())
        line = f"{record.levelname} {record.name}: {record.getMessage()}{f' [{said}]' if said else ''}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonLines(logging.Formatter):
    """One JSON object a line, Chinese as it is: time, level, logger, message, facts of the work, exception."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, _FACTS, {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def log_handler(form: LogForm) -> logging.Handler:
    """A handler that writes lines of that form to stderr."""
    handler = logging.StreamHandler()
    handler.addFilter(WorkFilter())
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    return handler


def log_form(name: str) -> LogForm:
    """The form by its name; anything but "json" is text."""
    return "json" if name.strip().lower() == "json" else "text"
