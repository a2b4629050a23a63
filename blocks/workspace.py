"""The block that says where everything of a workspace is, with its secrets."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from prefect.blocks.core import Block
from prefect.types import SecretDict
from pydantic import BaseModel, Field, HttpUrl, SecretStr, TypeAdapter, field_validator

from lorebase.governance.settings import GovernanceSettings
from lorebase.models.settings import EndpointConfig
from lorebase.retrieval.governed.settings import RetrievalSettings
from lorebase.workspace import Workspace
from lorebase.workspace_config import (
    DatabaseConfig,
    DoclingConfig,
    ObjectStoreConfig,
    RegistryConfig,
    VectorStoreConfig,
    WorkspaceConfig,
)

_ENDPOINTS = TypeAdapter(dict[str, EndpointConfig])


class LorebaseWorkspace(Block):
    """Where a workspace's artifacts, indexes, relational truth and models are. What is not given is embedded.

    Examples:
        Load a saved workspace:
        ```python
        from blocks import LorebaseWorkspace

        workspace = LorebaseWorkspace.load("BLOCK_NAME").get_workspace()
        ```
    """

    _block_type_name = "Lorebase Workspace"
    _block_type_slug = "lorebase-workspace"
    _documentation_url = HttpUrl("https://docs.prefect.io/v3/concepts/blocks")

    folder: str = Field(default=".lorebase", description="Folder of everything that is embedded.")
    object_store_url: str | None = Field(
        default=None, description="Folder of the object store, or an address such as s3://bucket/prefix."
    )
    object_store_endpoint_url: str | None = Field(default=None, description="Address of an S3 store other than AWS.")
    object_store_key: SecretStr | None = Field(
        default=None, description="Access key of the store; without one the machine's own credentials are used."
    )
    object_store_secret: SecretStr | None = Field(default=None, description="Secret of the access key.")
    object_store_region: str | None = Field(default=None, description="Region of the bucket.")
    vector_store_uri: str | None = Field(
        default=None, description="Address of a Milvus server, or a folder for embedded indexes."
    )
    vector_store_token: SecretStr | None = Field(
        default=None, description="The user and password (user:password) or the API key of the Milvus server."
    )
    database_url: SecretStr | None = Field(
        default=None, description="SQLAlchemy address, such as postgresql+psycopg://user@host/name."
    )
    # A secret as a whole: Prefect's API shows everything else, secrets inside of other values included.
    endpoints: SecretDict = Field(
        default_factory=lambda: SecretDict({}),
        description="Model endpoints by the name that recipes call them, as in a workspace file, with their keys.",
    )

    # As endpoints: it holds a key.
    docling: SecretDict = Field(
        default_factory=lambda: SecretDict({}), description="Document conversion service, as in a workspace file."
    )
    governance: dict[str, Any] = Field(
        default_factory=dict, description="Rules of review, processing and upload, as in a workspace file."
    )
    retrieval: dict[str, Any] = Field(
        default_factory=dict, description="Bounds of retrieval from governed knowledge, as in a workspace file."
    )
    registry_file: str | None = Field(
        default=None, description="File of the registry; without it the database, or a file in the folder."
    )

    @classmethod
    def of(cls, workspace: Workspace) -> Self:
        """The block that says what a workspace's configuration says, with its secrets."""
        config = workspace.config
        store, vectors = config.object_store, config.vector_store
        return cls(
            folder=str(workspace.folder),
            object_store_url=store.url if store else None,
            object_store_endpoint_url=store.endpoint_url if store else None,
            object_store_key=store.key if store else None,
            object_store_secret=store.secret if store else None,
            object_store_region=store.region if store else None,
            vector_store_uri=vectors.uri if vectors else None,
            vector_store_token=vectors.token if vectors else None,
            database_url=config.database.url if config.database else None,
            endpoints=SecretDict({name: _plain(endpoint) for name, endpoint in config.endpoints.items()}),
            docling=SecretDict(_plain(config.docling) if config.docling else {}),
            governance=config.governance.model_dump(mode="json", exclude_defaults=True),
            retrieval=config.retrieval.model_dump(mode="json", exclude_defaults=True),
            registry_file=config.registry.file if config.registry else None,
        )

    @field_validator("endpoints")
    @classmethod
    def _are_endpoints(cls, endpoints: SecretDict) -> SecretDict:
        _ENDPOINTS.validate_python(endpoints.get_secret_value())
        return endpoints

    def get_config(self) -> WorkspaceConfig:
        """What the block says, as the configuration of a workspace."""
        return WorkspaceConfig(
            object_store=ObjectStoreConfig(
                url=self.object_store_url,
                endpoint_url=self.object_store_endpoint_url,
                key=self.object_store_key,
                secret=self.object_store_secret,
                region=self.object_store_region,
            )
            if self.object_store_url
            else None,
            vector_store=VectorStoreConfig(uri=self.vector_store_uri, token=self.vector_store_token)
            if self.vector_store_uri
            else None,
            database=DatabaseConfig(url=self.database_url) if self.database_url else None,
            endpoints=_ENDPOINTS.validate_python(self.endpoints.get_secret_value()),
            docling=DoclingConfig.model_validate(found) if (found := self.docling.get_secret_value()) else None,
            governance=GovernanceSettings.model_validate(self.governance),
            retrieval=RetrievalSettings.model_validate(self.retrieval),
            registry=RegistryConfig(file=self.registry_file) if self.registry_file else None,
        )

    def get_workspace(self, folder: Path | None = None) -> Workspace:
        """The workspace; `folder` is used instead of the block's own."""
        return Workspace(folder or Path(self.folder), self.get_config())


def _plain(part: BaseModel) -> dict[str, Any]:
    """A part of a configuration with its secrets in the open, for a field that is a secret as a whole."""
    values = part.model_dump(exclude_none=True)
    return {name: value.get_secret_value() if isinstance(value, SecretStr) else value for name, value in values.items()}
