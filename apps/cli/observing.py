"""Log lines, traces and metrics of a command, as the environment says."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from lorebase.log_lines import log_form, log_handler
from lorebase.tracing import observed_by


@contextmanager
def observed_command(variables: Mapping[str, str]) -> Iterator[None]:
    """Log to stderr, as JSON lines where LOREBASE_LOG is "json"; send traces where OTEL_EXPORTER_* names a collector.

    Raises:
        ConfigurationError: A collector is named, and OpenTelemetry is not installed.
    """
    logging.basicConfig(level=logging.WARNING, handlers=[log_handler(log_form(variables.get("LOREBASE_LOG", "")))])
    if not any(name.startswith("OTEL_EXPORTER_") for name in variables):
        yield
        return
    from lorebase.workspace import opened_observer  # noqa: PLC0415 (--help answers without it)

    with opened_observer(variables) as observer, observed_by(observer):
        yield
