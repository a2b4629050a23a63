"""The interface keeps what its description promises, whatever is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import data
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from apps.api.app import create_app
from lorebase.workspace import Workspace
from tests.apps.api.callers import OWN
from tests.apps.api.conftest import SETTINGS

DESCRIPTION: dict[str, Any] = create_app(Workspace(Path("nowhere")), SETTINGS).openapi()
CHECKS = [schemathesis.checks.not_a_server_error, status_code_conformance, content_type_conformance]
OPERATIONS = [
    result.ok() for result in schemathesis.openapi.from_dict(DESCRIPTION).get_all_operations() if isinstance(result, Ok)
]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: f"{operation.method} {operation.path}")
def test_every_answer_is_one_that_the_description_names(client: TestClient, operation: Any) -> None:
    @seed(7)
    @settings(
        max_examples=5,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(data())
    def answered_as_described(drawn: Any) -> None:
        case = drawn.draw(operation.as_strategy())
        sent = case.as_transport_kwargs(base_url="http://testserver")
        if isinstance(sent.get("data"), bytes):
            sent["content"] = sent.pop("data")
        sent["headers"] = {**sent["headers"], **OWN}
        sent["headers"].pop("Authorization", None)
        sent.pop("cookies", None)

        answer = client.request(**sent)

        case.validate_response(answer, checks=[*CHECKS, response_schema_conformance])

    answered_as_described()


def test_every_operation_is_described_and_says_who_may_call() -> None:
    operations = [(path, operation) for path, methods in DESCRIPTION["paths"].items() for operation in methods.values()]

    assert len(operations) == len(OPERATIONS)
    assert all(operation["description"] for _, operation in operations)
    assert all(("security" in operation) == path.startswith("/v1/") for path, operation in operations)
    assert not any("422" in operation["responses"] for _, operation in operations)
