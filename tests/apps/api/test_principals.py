"""Who is believed to call."""

from __future__ import annotations

import json
import logging
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from fastapi.testclient import TestClient
from pydantic import SecretStr
from starlette.datastructures import Headers

from apps.api.principals import Authenticator
from apps.api.settings import ApiSettings, JwtSettings
from lorebase.errors import UnauthenticatedError
from lorebase.governance.context import Capability, PrincipalContext
from tests.apps.api.callers import OWN, SECRET, gateway

KEY = "a key of at least thirty-two bytes"
GATEWAY = ApiSettings(secrets=(SecretStr(SECRET), SecretStr("the-one-before-this")))
TOKENS = ApiSettings(jwt=JwtSettings(key=SecretStr(KEY), audience="lorebase", issuer="gateway"))


def principal(settings: ApiSettings, headers: Any) -> PrincipalContext:
    return Authenticator(settings).principal_of(Headers(headers), request_id="r1", trace_id="t1")


def token(key: Any = KEY, algorithm: str = "HS256", **claims: Any) -> dict[str, str]:
    whole = {
        "sub": "ben",
        "organ_id": 7,
        "capabilities": ["knowledge.read", "other.thing"],
        "aud": "lorebase",
        "iss": "gateway",
        "exp": time.time() + 60,
    }
    given = {name: value for name, value in {**whole, **claims}.items() if value is not None}
    return {"Authorization": f"Bearer {jwt.encode(given, key, algorithm=algorithm)}"}


def test_a_gateway_says_who_calls() -> None:
    """KX-22, K-062."""
    found = principal(GATEWAY, gateway(7, "ben", "knowledge.read, knowledge.edit unknown.thing"))

    assert found == PrincipalContext(
        organ_id=7,
        user_id="ben",
        capabilities=frozenset({Capability.READ, Capability.EDIT}),
        trace_id="t1",
        request_id="r1",
    )


def test_a_secret_that_is_being_replaced_still_counts() -> None:
    found = principal(GATEWAY, {**OWN, "X-API-SECRET": "the-one-before-this"})

    assert found.user_id == "author"


def test_without_capabilities_a_caller_may_do_nothing() -> None:
    found = principal(GATEWAY, {name: value for name, value in OWN.items() if name != "X-CAPABILITIES"})

    assert found.capabilities == frozenset()


def test_a_name_in_chinese_arrives_as_it_was_sent() -> None:
    raw = [(name.lower().encode(), value.encode()) for name, value in {**OWN, "X-USER-ID": "王伟"}.items()]

    found = Authenticator(GATEWAY).principal_of(Headers(raw=raw), request_id="r", trace_id="t")

    assert found.user_id == "王伟"


@pytest.mark.parametrize(
    "change",
    [
        {"X-API-SECRET": ""},
        {"X-API-SECRET": "wrong"},
        {"X-API-SECRET": SECRET + "x"},
        {"X-ORGAN-ID": ""},
        {"X-ORGAN-ID": "0"},
        {"X-ORGAN-ID": "7 OR 1=1"},
        {"X-ORGAN-ID": "9223372036854775808"},
        {"X-USER-ID": ""},
        {"X-USER-ID": "x" * 65},
    ],
)
def test_a_gateway_without_its_secret_or_with_half_a_caller_is_nobody(change: dict[str, str]) -> None:
    with pytest.raises(UnauthenticatedError) as raised:
        principal(GATEWAY, {**OWN, **change})

    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("name", ["X-API-SECRET", "X-ORGAN-ID", "X-USER-ID", "X-CAPABILITIES"])
def test_a_header_that_stands_there_twice_is_not_the_gateways(name: str) -> None:
    raw = [(key.lower().encode(), value.encode()) for key, value in OWN.items()]
    raw.append((name.lower().encode(), b"9"))

    with pytest.raises(UnauthenticatedError):
        Authenticator(GATEWAY).principal_of(Headers(raw=raw), request_id="r", trace_id="t")


def test_a_signed_token_says_who_calls() -> None:
    found = principal(TOKENS, token())

    assert (found.organ_id, found.user_id, found.capabilities) == (7, "ben", frozenset({Capability.READ}))


@pytest.mark.parametrize(
    "headers",
    [
        token(key="another key of at least thirty-two"),
        token(aud="another"),
        token(aud=None),
        token(iss="another"),
        token(exp=time.time() - 60),
        token(exp=None),
        token(sub=None),
        token(organ_id=None),
        token(organ_id="x"),
        token(capabilities=7),
        token(key=None, algorithm="none"),
        {"Authorization": "Bearer not.a.token"},
        {"Authorization": "Basic YTpi"},
        {},
        dict(OWN),
    ],
)
def test_a_token_that_is_not_whole_and_of_today_is_nobodys(headers: dict[str, str]) -> None:
    with pytest.raises(UnauthenticatedError):
        principal(TOKENS, headers)


def test_a_token_signed_with_a_private_key_is_believed_and_its_public_key_as_a_secret_is_not() -> None:
    pair = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = pair.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    settings = ApiSettings(
        jwt=JwtSettings(key=SecretStr(public.decode()), algorithm="RS256", audience="lorebase", issuer="gateway")
    )

    found = principal(settings, token(key=pair, algorithm="RS256"))

    assert found.organ_id == 7
    with pytest.raises(UnauthenticatedError):
        principal(settings, token(key="x" * 32))


def test_nobody_is_told_so_before_a_body_is_read(client: TestClient) -> None:
    """KQ-23."""
    refused = client.post("/v1/items", content=b"{", headers={"Content-Type": "application/json"})

    assert refused.status_code == 401
    assert refused.json()["code"] == "UNAUTHENTICATED"
    assert refused.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("place", ["json", "params"])
def test_an_organisation_in_a_body_or_a_query_changes_nothing(client: TestClient, place: str) -> None:
    """K-062."""
    own = client.post("/v1/tags", json={"name": f"own-{place}"}, headers=OWN)

    asked = client.request("GET", "/v1/tags", headers=gateway(organ_id=8), **{place: {"organ_id": 1}})

    assert own.json()["organ_id"] == "1"
    assert asked.status_code == 200
    assert asked.json()["records"] == []


def test_the_access_log_tells_who_asked_for_what_and_nothing_of_bodies_queries_and_secrets(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    body = {"base_id": "handbook", "knowledge_key": "PRIVATE-KEY", "title": "PRIVATE"}
    with caplog.at_level(logging.INFO, logger="lorebase.access"):
        client.post("/v1/items?note=PRIVATE", json=body, headers={**OWN, "X-Request-ID": "logged-1"})

    (record,) = (record for record in caplog.records if record.name == "lorebase.access")
    line = json.loads(record.getMessage())
    assert line["request_id"] == "logged-1"
    assert (line["method"], line["path"], line["status"]) == ("POST", "/v1/items", 201)
    assert (line["organ_id"], line["user_id"]) == ("1", "author")
    assert "PRIVATE" not in record.getMessage()
    assert SECRET not in record.getMessage()


def test_development_believes_headers_and_has_a_caller_without_any() -> None:
    settings = ApiSettings(insecure_development=True)

    nobody = principal(settings, {})
    somebody = principal(settings, {"X-ORGAN-ID": "7", "X-USER-ID": "ben", "X-CAPABILITIES": "knowledge.read"})

    assert (nobody.organ_id, nobody.user_id, nobody.capabilities) == (1, "developer", frozenset(Capability))
    assert (somebody.organ_id, somebody.capabilities) == (7, frozenset({Capability.READ}))
