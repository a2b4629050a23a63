"""Scopes, their facts in log lines, and what a real build shows to OpenTelemetry."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from lorebase.adapters.open_telemetry import OpenTelemetryObserver, opened_observer
from lorebase.knowledge_base import KnowledgeBase
from lorebase.log_lines import JsonLines, TextLines, WorkFilter, log_form
from lorebase.recipes.loading import parse_recipe
from lorebase.tracing import NoObserver, facts_now, is_observed, observed_by, scope
from lorebase.workspace import Workspace
from lorebase.workspace_config import WorkspaceConfig
from tests.fakes.openai_server import OpenAIServer

RECIPE = """
name: birds
sources: [{folder: documents}]
models: {embedding: {provider: fake, model: hashes, dimensions: 384}}
partitions: 2
procedures:
  - name: index
    steps: [parse_documents, split_documents, embed_chunks]
"""


class Watch:
    """What OpenTelemetry recorded, kept in memory."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.reader = InMemoryMetricReader()
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.observer = OpenTelemetryObserver(tracers, MeterProvider(metric_readers=[self.reader]))

    def spans(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]

    def counted(self, name: str) -> list[tuple[dict[str, object], float]]:
        data = self.reader.get_metrics_data()
        return [
            (dict(point.attributes or {}), point.value)
            for resource in data.resource_metrics
            for scope_metrics in resource.scope_metrics
            for metric in scope_metrics.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]


@pytest.fixture
def watch() -> Iterator[Watch]:
    made = Watch()
    with observed_by(made.observer):
        yield made


async def _build(folder: Path, server: OpenAIServer) -> str:
    (folder / "documents").mkdir(exist_ok=True)
    (folder / "documents" / "鹭.md").write_text("The heron stands in the marsh. 鹭站在沼泽里。\n", encoding="utf-8")
    (folder / "documents" / "empty.md").write_text("")
    endpoint = {"base_url": server.base_url, "api_key": "never-shown", "max_attempts": 1}
    config = WorkspaceConfig.model_validate({"endpoints": {"fake": endpoint}})
    base = KnowledgeBase("birds", Workspace(folder / "workspace", config))
    result = await base.rebuild(parse_recipe(RECIPE, folder=folder))
    await base.close()
    return result.record.status


async def test_a_build_has_spans_from_the_run_down_to_the_model(watch: Watch, tmp_path: Path) -> None:
    with OpenAIServer() as server:
        status = await _build(tmp_path, server)

    (build,) = watch.spans("lorebase.build")
    steps = {span.attributes["lorebase.step"]: span for span in watch.spans("lorebase.step")}
    (request,) = watch.spans("lorebase.model_request")
    parents = {span.context.span_id: span for span in watch.exporter.get_finished_spans()}
    above = [request]
    while above[-1].parent is not None:
        above.append(parents[above[-1].parent.span_id])
    assert status == "succeeded"
    assert set(steps) == {"parse_documents", "split_documents", "embed_chunks"}
    assert [span.name for span in above] == [
        "lorebase.model_request",
        "lorebase.partitions",
        "lorebase.step",
        "lorebase.build",
    ]
    assert request.attributes == {"lorebase.endpoint": "fake", "lorebase.model": "hashes"}
    assert build.attributes["lorebase.base"] == "birds"
    assert "never-shown" not in str([span.to_json() for span in watch.exporter.get_finished_spans()])


async def test_a_build_counts_items_issues_and_calls(watch: Watch, tmp_path: Path) -> None:
    with OpenAIServer() as server:
        await _build(tmp_path, server)

    assert watch.counted("lorebase.model.calls") == [({"base": "birds", "step": "embed_chunks"}, 1)]
    assert watch.counted("lorebase.issues") == [
        ({"base": "birds", "step": "parse_documents", "code": "DOCUMENT_EMPTY"}, 1)
    ]
    assert ({"base": "birds", "step": "embed_chunks", "outcome": "computed"}, 1) in watch.counted("lorebase.items")
    assert len(watch.counted("lorebase.steps")) == 3


async def test_a_step_that_fails_has_a_span_with_the_error(watch: Watch, tmp_path: Path) -> None:
    with OpenAIServer() as server:
        server.script("unauthorized", times=None)
        status = await _build(tmp_path, server)

    failed = [span for span in watch.spans("lorebase.step") if span.status.status_code is StatusCode.ERROR]
    assert status == "failed"
    assert [span.attributes["lorebase.step"] for span in failed] == ["embed_chunks"]


def test_facts_add_up_inside_and_are_gone_outside() -> None:
    with scope("outer", run="r1", step="a"), scope("inner", step="b"):
        inside = facts_now()

    assert inside == {"run": "r1", "step": "b"}
    assert facts_now() == {}


async def test_tasks_side_by_side_keep_their_own_facts() -> None:
    async def work(step: str) -> object:
        with scope("step", step=step):
            await asyncio.sleep(0)
            return await asyncio.to_thread(lambda: facts_now()["step"])

    assert await asyncio.gather(work("a"), work("b")) == ["a", "b"]


def test_a_json_line_says_in_which_work_it_was_written(watch: Watch) -> None:
    record = logging.LogRecord("lorebase.x", logging.WARNING, __file__, 1, "%d 份文件", (3,), None)

    with scope("lorebase.step", run="r1", step="解析", partition="1 of 2"):
        WorkFilter().filter(record)
    line = JsonLines().format(record)

    said = json.loads(line)
    assert "份文件" in line
    assert (said["message"], said["run"], said["step"], said["partition"]) == ("3 份文件", "r1", "解析", "1 of 2")
    assert (len(said["trace_id"]), len(said["span_id"])) == (32, 16)
    assert "\n" not in line


def test_a_line_for_people_names_the_work_and_shows_the_exception() -> None:
    error = ValueError("broken")
    record = logging.LogRecord("x", logging.ERROR, __file__, 1, "no", None, (ValueError, error, None))

    with scope("lorebase.step", step="a"):
        WorkFilter().filter(record)

    assert TextLines().format(record) == "ERROR x: no [step=a]\nValueError: broken"
    assert json.loads(JsonLines().format(record))["exception"].endswith("ValueError: broken")


@pytest.mark.parametrize(("name", "form"), [("json", "json"), (" JSON ", "json"), ("", "text"), ("yaml", "text")])
def test_only_json_asks_for_json(name: str, form: str) -> None:
    assert log_form(name) == form


@pytest.mark.parametrize(
    "variables", [{}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true"}]
)
def test_nobody_watches_where_no_collector_is_named(variables: dict[str, str]) -> None:
    with opened_observer(variables) as observer, observed_by(observer):
        assert isinstance(observer, NoObserver)
        assert not is_observed()


def test_what_was_recorded_has_reached_the_collector_when_the_command_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    received: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it so)
            del format, args

    server = HTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")

    with opened_observer(os.environ) as observer, observed_by(observer), scope("lorebase.build", base="birds"):
        assert is_observed()
    server.shutdown()
    thread.join()
    server.server_close()

    paths = {path for path, _ in received}
    assert paths == {"/v1/traces", "/v1/metrics"}
    assert any(b"lorebase.build" in body and b"birds" in body for path, body in received if path == "/v1/traces")
