"""A workspace: where things are. The one place that puts ports and adapters together, from a typed configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from random import Random, SystemRandom
from typing import Any, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from lorebase.adapters.object_stores import LocalObjectStore, S3ObjectStore, open_object_store
from lorebase.clock import Clock, SystemClock
from lorebase.documents.parsing import ParserRegistry
from lorebase.documents.sources import FileSystem
from lorebase.errors import ConfigurationError
from lorebase.index.ports import IndexStore
from lorebase.models.ports import Embedder
from lorebase.models.settings import EmbeddingModelSpec, EndpointConfig
from lorebase.recipes.model import ParserRuleSpec

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


class Workspace:
    """Opens what a configuration describes; each thing when it is first asked for.

    Args:
        folder: Folder of what is embedded.
        config: Where everything else is.
        clock: Clock of builds.
        random: Source of run ids.
    """

    def __init__(
        self,
        folder: Path,
        config: WorkspaceConfig | None = None,
        *,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        self.folder = folder
        self.config = config or WorkspaceConfig()
        self.clock: Clock = clock or SystemClock()
        self.random: Random = random or SystemRandom()

    @classmethod
    def load(cls, folder: Path, variables: Mapping[str, str] | None = None) -> Self:
        """The workspace of a folder, as its `lorebase.yaml` says; without that file everything is embedded.

        Args:
            folder: The workspace's folder; made when something is first written to it.
            variables: Values for `${NAME}` in the file, usually the environment.

        Raises:
            ConfigurationError: The file is no YAML, names a variable that is not given, or has faults.
        """
        return cls(folder, load_config(folder / WORKSPACE_FILE, variables or {}))

    @cached_property
    def object_store(self) -> LocalObjectStore | S3ObjectStore:
        """The object store."""
        config = self.config.object_store
        if config is None:
            return LocalObjectStore(self.folder / "objects")
        return open_object_store(
            config.url,
            endpoint_url=config.endpoint_url,
            key=_revealed(config.key),
            secret=_revealed(config.secret),
            region=config.region,
        )

    @cached_property
    def index_store(self) -> IndexStore:
        """The store of vector and lexical indexes."""
        from lorebase.adapters.milvus.store import MilvusIndexStore  # noqa: PLC0415 (pymilvus takes 0.7 s to import)

        config = self.config.vector_store
        if config is None:
            return MilvusIndexStore.in_folder(self.folder / "indexes")
        if config.uri.startswith(("http://", "https://")):
            return MilvusIndexStore.on_server(config.uri, token=_revealed(config.token) or "")
        return MilvusIndexStore.in_folder(Path(config.uri))

    async def open_embedder(self, spec: EmbeddingModelSpec) -> Embedder:
        """The embedding model that a recipe names.

        Raises:
            ConfigurationError: There is no such local model or endpoint.
        """
        from lorebase.adapters.models.factory import open_embedder  # noqa: PLC0415 (openai takes 0.9 s to import)

        return await open_embedder(spec, self.config.endpoints, clock=self.clock, random=self.random)

    def open_parsers(self, rules: Sequence[ParserRuleSpec]) -> ParserRegistry:
        """The parsers by the rules of a recipe.

        Raises:
            InvalidRecipeError: A rule names an engine or a file type that there is not.
            ConfigurationError: A rule names docling, and the workspace has no docling-serve.
        """
        from lorebase.adapters.parsers.docling_serve import DoclingServeSettings  # noqa: PLC0415 (only for builds)
        from lorebase.adapters.parsers.registry import open_parsers  # noqa: PLC0415 (as above)

        config = self.config.docling
        docling = (
            DoclingServeSettings(
                base_url=config.base_url,
                api_key=_revealed(config.api_key) or "",
                timeout_seconds=config.timeout_seconds,
                do_ocr=config.do_ocr,
            )
            if config
            else None
        )
        return open_parsers([rule.as_rule() for rule in rules], docling)

    def open_source(self, url: str) -> tuple[FileSystem, str]:
        """The file system behind a source's address, and the source's folder in it.

        S3 sources are read with the credentials of the object store.

        Raises:
            ConfigurationError: Nothing installed reads such addresses.
        """
        import fsspec  # noqa: PLC0415 (as the parsers)

        config = self.config.object_store
        options: dict[str, Any] = {}
        if url.startswith("s3://") and config is not None:
            options = {
                "key": _revealed(config.key),
                "secret": _revealed(config.secret),
                "client_kwargs": {
                    name: value
                    for name, value in (("endpoint_url", config.endpoint_url), ("region_name", config.region))
                    if value
                },
                "use_listings_cache": False,
            }
        try:
            filesystem, root = fsspec.core.url_to_fs(url, **options)
        except (ValueError, ImportError) as error:
            raise ConfigurationError(
                f"Nothing here reads the source {url!r}: {error}.", remedy="Use a folder or an s3:// address."
            ) from error
        return filesystem, root


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


def _revealed(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret is not None else None
