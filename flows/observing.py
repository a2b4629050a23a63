"""Log lines, traces and metrics of flow runs: a worker starts each in a process of its own."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

from lorebase.log_lines import log_form, log_handler
from lorebase.tracing import is_observed, observed_by
from lorebase.workspace import opened_observer

_LOGGER = "lorebase"


@contextmanager
def observed() -> Iterator[None]:
    """As LOREBASE_LOG and OpenTelemetry's variables say; who watches already goes on watching alone."""
    if is_observed():
        yield
        return
    with _json_lines(), opened_observer(os.environ) as observer, observed_by(observer):
        yield


@contextmanager
def _json_lines() -> Iterator[None]:
    """JSON lines beside Prefect's own lines, where they are asked for and nobody writes them yet."""
    logger = logging.getLogger(_LOGGER)
    if log_form(os.environ.get("LOREBASE_LOG", "")) != "json" or logging.getLogger().handlers:
        yield
        return
    handler = log_handler("json")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
