"""Traces and metrics of OpenTelemetry. Its API alone does nothing; the extra `otel` brings what records and sends."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from time import monotonic
from typing import TYPE_CHECKING

from lorebase.errors import ConfigurationError
from lorebase.tracing import Facts, NoObserver, Observer

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, MeterProvider
    from opentelemetry.trace import TracerProvider

_NAME = "lorebase"
_SWITCHES = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)
_DURATION = "lorebase.duration"


class OpenTelemetryObserver:
    """Spans, counters, and a histogram of how long each kind of work takes.

    Args:
        tracers: Makes the tracer.
        meters: Makes the meter.
    """

    def __init__(self, tracers: TracerProvider, meters: MeterProvider) -> None:
        self._tracer = tracers.get_tracer(_NAME)
        self._meter = meters.get_meter(_NAME)
        self._durations = self._meter.create_histogram(_DURATION, unit="s", description="How long work takes.")
        self._counters: dict[str, Counter] = {}
        self._lock = threading.Lock()

    def span(self, name: str, facts: Facts) -> AbstractContextManager[object]:
        """A span that ends as an error where an exception leaves it."""
        return self._span(name, facts)

    @contextmanager
    def _span(self, name: str, facts: Facts) -> Iterator[None]:
        began = monotonic()
        attributes = {f"{_NAME}.{key}": value for key, value in facts.items()}
        try:
            with self._tracer.start_as_current_span(name, attributes=attributes):
                yield
        finally:
            self._durations.record(monotonic() - began, {"work": name})

    def count(self, name: str, amount: float, facts: Facts) -> None:
        """Add to the counter of that name."""
        with self._lock:
            counter = self._counters.get(name)
            if counter is None:
                counter = self._counters[name] = self._meter.create_counter(name)
        counter.add(amount, dict(facts))

    def trace_ids(self) -> tuple[str, str]:
        """Ids of this context's span."""
        from opentelemetry import trace  # noqa: PLC0415 (only who watches)

        context = trace.get_current_span().get_span_context()
        if not context.is_valid:
            return "", ""
        return trace.format_trace_id(context.trace_id), trace.format_span_id(context.span_id)


@contextmanager
def opened_observer(variables: Mapping[str, str]) -> Iterator[Observer]:
    """Sends to the collector that OpenTelemetry's own variables name; watches nothing where they name none.

    What was recorded is sent when the context is left.

    Args:
        variables: The environment, of which only the switches are read here; the exporters read the rest themselves.

    Raises:
        ConfigurationError: A collector is named, and the extra `otel` is not installed.
    """
    if not any(variables.get(name) for name in _SWITCHES) or variables.get("OTEL_SDK_DISABLED", "").lower() == "true":
        yield NoObserver()
        return
    if find_spec("opentelemetry.sdk") is None or find_spec("opentelemetry.exporter.otlp.proto.http") is None:
        raise ConfigurationError(
            "A collector is named in OTEL_EXPORTER_OTLP_ENDPOINT, but OpenTelemetry is not installed.",
            remedy='Install the extra: pip install "lorebase[otel]".',
        )
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter  # noqa: PLC0415 (an extra)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 (as above)
    from opentelemetry.sdk.metrics import MeterProvider as Meters  # noqa: PLC0415 (as above)
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader  # noqa: PLC0415 (as above)
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource  # noqa: PLC0415 (as above)
    from opentelemetry.sdk.trace import TracerProvider as Tracers  # noqa: PLC0415 (as above)
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 (as above)

    resource = Resource.create({} if variables.get("OTEL_SERVICE_NAME") else {SERVICE_NAME: _NAME})
    tracers = Tracers(resource=resource)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    meters = Meters(resource=resource, metric_readers=[PeriodicExportingMetricReader(OTLPMetricExporter())])
    try:
        yield OpenTelemetryObserver(tracers, meters)
    finally:
        tracers.shutdown()
        meters.shutdown()
