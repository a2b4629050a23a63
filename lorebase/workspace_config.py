"""Where things are: the typed configuration of a workspace, and the file that it is read from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from lorebase.errors import ConfigurationError
from lorebase.governance.settings import GovernanceSettings
from lorebase.models.settings import EndpointConfig
from lorebase.retrieval.governed.settings import RetrievalSettings

WORKSPACE_FILE = "lorebase.yaml"
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ObjectStoreConfig(_Frozen):
    """Where artifacts, records and pointers are kept."""

    url: str = Field(description="A folder, or s3://bucket/prefix.")
    endpoint_url: str | None = Field(None, description="Address of an S3 store other than AWS.")
    key: SecretStr | None = Field(None, description="Access key; without one the machine's own credentials are used.")
    secret: SecretStr | None = Field(None, description="Secret of the access key.")
    region: str | None = Field(None, description="Region of the bucket.")


class VectorStoreConfig(_Frozen):
    """Where the indexes are."""

    uri: str = Field(description="Address of a Milvus server, or a folder for embedded indexes.")
    token: SecretStr | None = Field(None, description="`user:password` or an API key of the server.")


class DatabaseConfig(_Frozen):
    """Where the relational truth is."""

    url: SecretStr = Field(description="SQLAlchemy address, such as postgresql+psycopg://user@host/name.")


class RegistryConfig(_Frozen):
    """Where the registry of knowledge bases is, if neither in the workspace's folder nor in its database."""

    file: str = Field(min_length=1, description="A file, absolute or from the workspace's folder on.")


class DoclingConfig(_Frozen):
    """A docling-serve endpoint for the parser engine `docling`."""

    base_url: str = Field(description="Address of the service.")
    api_key: SecretStr | None = Field(None, description="Key that it wants in X-Api-Key.")
    timeout_seconds: float = Field(300.0, gt=0, description="Longest time for one document.")
    do_ocr: bool = Field(default=True, description="Whether text in pictures is recognised.")


class WorkspaceConfig(_Frozen):
    """Everything about where things are. What is not given is embedded, below the workspace's folder."""

    object_store: ObjectStoreConfig | None = Field(None, description="Object store.")
    vector_store: VectorStoreConfig | None = Field(None, description="Vector store.")
    database: DatabaseConfig | None = Field(None, description="Relational database.")
    endpoints: dict[str, EndpointConfig] = Field(default_factory=dict, description="Model endpoints by name.")
    docling: DoclingConfig | None = Field(None, description="Document conversion service.")
    governance: GovernanceSettings = Field(
        default_factory=GovernanceSettings, description="Rules of review, processing and upload."
    )
    retrieval: RetrievalSettings = Field(
        default_factory=RetrievalSettings, description="Bounds of retrieval from governed knowledge."
    )
    registry: RegistryConfig | None = Field(
        None, description="Registry of knowledge bases; without it the database, or a file in the folder."
    )


def load_config(path: Path, variables: Mapping[str, str]) -> WorkspaceConfig:
    """Read a workspace file; a file that does not exist is an empty configuration.

    Raises:
        ConfigurationError: As `Workspace.load`.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return WorkspaceConfig()
    try:
        data = yaml.safe_load(text) or {}
        return WorkspaceConfig.model_validate(_filled(data, variables, str(path)))
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{path} is no YAML: {error}.") from error
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise ConfigurationError(f"{path} has {error.error_count()} fault(s): {faults}.") from error


def _filled(value: Any, variables: Mapping[str, str], path: str) -> Any:  # noqa: ANN401 (any YAML value)
    """The value with every `${NAME}` in its texts replaced."""
    if isinstance(value, dict):
        return {key: _filled(member, variables, path) for key, member in value.items()}
    if isinstance(value, list):
        return [_filled(member, variables, path) for member in value]
    if not isinstance(value, str):
        return value

    def fill(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in variables:
            raise ConfigurationError(
                f"{path} needs the variable {name}, which is not set.", remedy=f"Set {name} in the environment."
            )
        return variables[name]

    return _VARIABLE.sub(fill, value)
