"""The Compose file follows its specification and the rules that infra/README.md states."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from lorebase.workspace_config import load_config

INFRA = Path(__file__).parents[2] / "infra"
TEXT = (INFRA / "compose.yaml").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"].startswith("lorebase:")}
NAMES_OF_ENV = set(re.findall(r"^([A-Z_]+)=", (INFRA / "env.example").read_text(encoding="utf-8"), re.MULTILINE))


def test_it_follows_the_compose_specification() -> None:
    schema = json.loads(
        (resources.files("check_jsonschema") / "builtin_schemas/vendor/compose-spec.json").read_text(encoding="utf-8")
    )

    faults = [error.message for error in jsonschema.validators.validator_for(schema)(schema).iter_errors(COMPOSE)]

    assert faults == []


def test_the_whole_stack_is_there() -> None:
    assert set(SERVICES) == {"postgres", "objects", "milvus", "prefect", "set-up", "worker", "api"}
    assert set(OURS) == {"prefect", "set-up", "worker", "api"}


@pytest.mark.parametrize("name", SERVICES)
def test_every_image_has_an_exact_version(name: str) -> None:
    assert re.fullmatch(r"[a-z/]+:v?\d+\.\d+[\w.-]*", SERVICES[name]["image"])


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_says_whether_it_is_healthy(name: str) -> None:
    service = SERVICES[name]

    has_check = "test" in service.get("healthcheck", {})
    asks_url = "LOREBASE_HEALTH_URL" in service.get("environment", {}) or name == "api"

    assert has_check or asks_url or name == "set-up"


def test_every_port_is_published_on_loopback_only() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]

    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


@pytest.mark.parametrize("name", OURS)
def test_our_containers_are_read_only_and_without_rights(name: str) -> None:
    service = OURS[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert not service.get("privileged")
    assert "user" not in service


def test_every_variable_stands_in_the_example_and_no_secret_in_the_file() -> None:
    used = set(re.findall(r"\$\{([A-Z_]+)", TEXT))
    secret = re.compile(r"^\s*[A-Z_]*(PASSWORD|SECRET|KEY|AUTH_STRING)[A-Z_]*: (?!\$\{)\S", re.MULTILINE)

    assert used <= NAMES_OF_ENV
    assert secret.search(TEXT) is None


def test_the_example_holds_no_secret() -> None:
    values = dict(re.findall(r"^([A-Z_]+)=(.*)$", (INFRA / "env.example").read_text(encoding="utf-8"), re.MULTILINE))

    assert {name: value for name, value in values.items() if value} == {
        "MODELS_URL": "http://host.docker.internal:11434/v1"
    }


def test_every_dependency_and_every_mounted_file_exists() -> None:
    mounts = [volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])]
    waited_for = {name for service in SERVICES.values() for name in service.get("depends_on", {})}

    assert waited_for <= set(SERVICES)
    assert all((INFRA / mount).is_file() for mount in mounts if mount.startswith("."))
    assert {mount for mount in mounts if not mount.startswith(".")} <= set(COMPOSE["volumes"])


def test_the_workspace_file_is_one_and_names_only_variables_that_containers_get() -> None:
    variables = dict.fromkeys(OURS["worker"]["environment"], "http://value")

    config = load_config(INFRA / "compose" / "lorebase.yaml", variables)

    assert config.object_store is not None
    assert config.object_store.url == "s3://lorebase/knowledge"
    assert set(config.endpoints) == {"models"}
