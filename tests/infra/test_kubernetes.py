"""The manifests and the job of the work pool follow the schemas of Kubernetes and the rules of infra/README.md."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from lorebase.workspace_config import WorkspaceConfig, load_config

INFRA = Path(__file__).parents[2] / "infra"
BASE = INFRA / "kubernetes" / "base"
KUSTOMIZATION: dict[str, Any] = yaml.safe_load((BASE / "kustomization.yaml").read_text(encoding="utf-8"))
MANIFESTS: list[dict[str, Any]] = [
    manifest
    for name in KUSTOMIZATION["resources"]
    for manifest in yaml.safe_load_all((BASE / name).read_text(encoding="utf-8"))
]
DEPLOYMENTS = [manifest for manifest in MANIFESTS if manifest["kind"] == "Deployment"]
VERSION = "1.37"


def name_of(manifest: dict[str, Any]) -> str:
    return f"{manifest['kind']}-{manifest['metadata'].get('name', 'job')}"


def job_of_the_work_pool() -> dict[str, Any]:
    """The job of the template with every placeholder replaced by its variable's default."""
    template = json.loads((INFRA / "work-pools" / "kubernetes.json").read_text(encoding="utf-8"))
    given = {"name": "build", "labels": {}, "command": ["prefect", "flow-run", "execute"], "env": []}
    values = {
        name: given.get(name, variable.get("default")) for name, variable in template["variables"]["properties"].items()
    }

    def filled(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: filled(value) for key, value in part.items()}
        if isinstance(part, list):
            return [filled(value) for value in part]
        if isinstance(part, str):
            whole = re.fullmatch(r"\{\{ (\w+) \}\}", part)
            if whole:
                return values[whole.group(1)]
            return re.sub(r"\{\{ (\w+) \}\}", lambda found: str(values[found.group(1)]), part)
        return part

    job: dict[str, Any] = filled(template["job_configuration"]["job_manifest"])
    return job


@pytest.mark.parametrize("manifest", [*MANIFESTS, job_of_the_work_pool()], ids=name_of)
def test_it_follows_the_strict_schema_of_its_kind(manifest: dict[str, Any]) -> None:
    kubernetes_validate.validate(manifest, VERSION, strict=True)

    assert manifest["apiVersion"]


def test_a_manifest_with_an_unknown_field_would_be_found() -> None:
    broken = {**MANIFESTS[0], "metdata": {}}

    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, VERSION, strict=True)


def test_every_file_of_the_folder_is_a_resource() -> None:
    assert {path.name for path in BASE.glob("*.yaml")} == {"kustomization.yaml", *KUSTOMIZATION["resources"]}


@pytest.mark.parametrize("manifest", [*DEPLOYMENTS, job_of_the_work_pool()], ids=name_of)
def test_a_pod_meets_the_restricted_standard(manifest: dict[str, Any]) -> None:
    pod = manifest["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == 10001
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not any("hostPath" in volume for volume in pod["volumes"])
    assert {"requests", "limits"} <= set(container["resources"])
    assert re.fullmatch(r"lorebase:\d+\.\d+\.\d+", container["image"])


@pytest.mark.parametrize("manifest", DEPLOYMENTS, ids=name_of)
def test_a_deployment_is_probed(manifest: dict[str, Any]) -> None:
    (container,) = manifest["spec"]["template"]["spec"]["containers"]

    assert {"startupProbe", "livenessProbe", "readinessProbe"} <= set(container)
    assert (
        manifest["spec"]["selector"]["matchLabels"].items()
        <= manifest["spec"]["template"]["metadata"]["labels"].items()
    )


def test_no_secret_is_among_the_manifests_and_the_workspace_file_is_one(tmp_path: Path) -> None:
    (config,) = [manifest for manifest in MANIFESTS if manifest["kind"] == "ConfigMap"]
    (tmp_path / "lorebase.yaml").write_text(config["data"]["lorebase.yaml"], encoding="utf-8")
    names = re.findall(r"\$\{([A-Z_]+)\}", config["data"]["lorebase.yaml"])

    loaded = load_config(tmp_path / "lorebase.yaml", dict.fromkeys(names, "http://value"))

    assert isinstance(loaded, WorkspaceConfig)
    assert not [manifest for manifest in MANIFESTS if manifest["kind"] == "Secret"]
    assert {"OBJECTS_SECRET", "POSTGRES_PASSWORD", "MILVUS_PASSWORD"} <= set(names)
