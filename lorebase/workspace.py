"""A workspace: where things are. The one place that puts ports and adapters together, from a typed configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import yaml
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from lorebase.adapters.object_stores import LocalObjectStore, S3ObjectStore, open_object_store
from lorebase.clock import Clock, SystemClock
from lorebase.diagnosis.ports import ServiceProbe
from lorebase.documents.parsing import ParserRegistry
from lorebase.documents.sources import FileSystem
from lorebase.errors import ConfigurationError
from lorebase.extraction.graph_ports import GraphStore
from lorebase.governance.settings import GovernanceSettings
from lorebase.index.ports import IndexStore
from lorebase.models.chat import ChatModel
from lorebase.models.ports import Embedder
from lorebase.models.rerank import Reranker
from lorebase.models.settings import ChatModelSpec, EmbeddingModelSpec, EndpointConfig, RerankModelSpec
from lorebase.recipes.model import ParserRuleSpec
from lorebase.registry.stores import RegistryStore
from lorebase.retrieval.governed.settings import RetrievalSettings
from lorebase.runs.derived import DerivedTables
from lorebase.tracing import Observer

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from lorebase.governance.service import Governance

WORKSPACE_FILE = "lorebase.yaml"
DATABASE_FILE = "lorebase.db"

WorkspaceObjectStore: TypeAlias = LocalObjectStore | S3ObjectStore
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
    governance: GovernanceSettings = Field(
        default_factory=GovernanceSettings, description="Rules of review, processing and upload."
    )
    retrieval: RetrievalSettings = Field(
        default_factory=RetrievalSettings, description="Bounds of retrieval from governed knowledge."
    )


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
    def object_store(self) -> WorkspaceObjectStore:
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

    @property
    def has_index_server(self) -> bool:
        """Whether any process can write indexes at any time; an embedded one belongs to one process at a time."""
        config = self.config.vector_store
        return config is not None and config.uri.startswith(("http://", "https://"))

    def probe_index_store(self) -> IndexStore:
        """A store of indexes for a diagnosis, closed by it: the server's, or an embedded one in a new folder."""
        from lorebase.adapters.milvus.store import MilvusIndexStore  # noqa: PLC0415 (as above)
        from lorebase.adapters.milvus.throwaway import ThrowawayIndexStore  # noqa: PLC0415 (as above)

        config = self.config.vector_store
        if config is not None and config.uri.startswith(("http://", "https://")):
            return MilvusIndexStore.on_server(config.uri, token=_revealed(config.token) or "")
        return ThrowawayIndexStore()

    def service_probe(self) -> ServiceProbe:
        """How a diagnosis asks the services."""
        from lorebase.adapters.service_probe import HttpServiceProbe  # noqa: PLC0415 (only a diagnosis needs it)

        return HttpServiceProbe()

    @cached_property
    def graph_store(self) -> GraphStore:
        """The store of knowledge graphs: the configured database, or a SQLite file in the workspace's folder."""
        from lorebase.adapters.databases import open_engine  # noqa: PLC0415 (SQLAlchemy takes 0.3 s to import)
        from lorebase.extraction.graph_store import SqlGraphStore  # noqa: PLC0415 (as above)

        config = self.config.database

        def connect() -> Engine:
            if config is not None:
                return open_engine(config.url.get_secret_value())
            self.folder.mkdir(parents=True, exist_ok=True)
            return open_engine(f"sqlite:///{self.folder.absolute() / DATABASE_FILE}")

        return SqlGraphStore(connect)

    @cached_property
    def registry_store(self) -> RegistryStore:
        """The registry of knowledge bases: a file in the workspace's folder, or the configured database.

        Raises:
            UnavailableError: The database does not answer.
        """
        config = self.config.database
        if config is None:
            from lorebase.registry.file_store import REGISTRY_FILE, FileRegistryStore  # noqa: PLC0415 (as above)

            return FileRegistryStore(self.folder / REGISTRY_FILE)
        from lorebase.adapters.databases import open_engine  # noqa: PLC0415 (as above)
        from lorebase.registry.sql_store import SqlRegistryStore  # noqa: PLC0415 (as above)

        store = SqlRegistryStore(open_engine(config.url.get_secret_value()))
        store.create_tables()
        return store

    @property
    def derived_tables(self) -> tuple[DerivedTables, ...]:
        """Everything that is made of artifacts for queries and lies in a database."""
        return (self.graph_store,)

    def open_governance(self) -> Governance:
        """Governed knowledge over the workspace's database and object store; brings the tables up to date first.

        Raises:
            ConfigurationError: The database's address cannot be opened, or a newer version made its tables.
            UnavailableError: The database does not answer.
        """
        from lorebase.adapters.parsers.office_containers import check_container  # noqa: PLC0415 (only who governs)
        from lorebase.governance.database import open_database  # noqa: PLC0415 (SQLAlchemy takes 0.3 s to import)
        from lorebase.governance.migrating import migrate  # noqa: PLC0415 (as above)
        from lorebase.governance.row_ids import WORKER_BITS, SnowflakeIds  # noqa: PLC0415 (as above)
        from lorebase.governance.service import Governance  # noqa: PLC0415 (as above)
        from lorebase.governance.source_type_rules import RegistrySourceTypes  # noqa: PLC0415 (as above)
        from lorebase.governance.store import Store  # noqa: PLC0415 (as above)

        database = open_database(self._governance_url)
        migrate(database)
        ids = SnowflakeIds(self.clock, self.random.getrandbits(WORKER_BITS))
        store = Store(database, self.clock, ids, self.config.governance)
        rules = RegistrySourceTypes(self.registry_store, self.clock)
        return Governance.over(store, self.object_store, check_container=check_container, metadata_rules=rules)

    def has_governance(self) -> bool:
        """Whether anything was ever governed here; a workspace without it gets no tables by being asked.

        Raises:
            ConfigurationError: The database's address cannot be opened.
            UnavailableError: The database does not answer.
        """
        from lorebase.governance.migrating import is_made  # noqa: PLC0415 (as above)

        return is_made(self._governance_url)

    @property
    def _governance_url(self) -> str:
        config = self.config.database
        return _revealed(config.url if config else None) or f"sqlite:///{self.folder.absolute() / DATABASE_FILE}"

    async def open_embedder(self, spec: EmbeddingModelSpec) -> Embedder:
        """The embedding model that a recipe names.

        Raises:
            ConfigurationError: There is no such local model or endpoint.
        """
        from lorebase.adapters.models.factory import open_embedder  # noqa: PLC0415 (openai takes 0.9 s to import)

        return await open_embedder(spec, self.config.endpoints, clock=self.clock, random=self.random)

    def open_chat(self, spec: ChatModelSpec) -> ChatModel:
        """The chat model that a recipe names.

        Raises:
            ConfigurationError: There is no such endpoint.
        """
        from lorebase.adapters.models.factory import open_chat  # noqa: PLC0415 (openai takes 0.9 s to import)

        return open_chat(spec, self.config.endpoints, clock=self.clock, random=self.random)

    def open_reranker(self, spec: RerankModelSpec, chat: ChatModel | None = None) -> Reranker:
        """The reranker that a recipe names.

        Args:
            spec: What the recipe says.
            chat: The recipe's chat model, which may be what reranks.

        Raises:
            ConfigurationError: There is no such endpoint, or no chat model.
        """
        from lorebase.adapters.models.factory import open_reranker  # noqa: PLC0415 (openai takes 0.9 s to import)

        return open_reranker(spec, self.config.endpoints, chat=chat, clock=self.clock, random=self.random)

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


def opened_observer(variables: Mapping[str, str]) -> AbstractContextManager[Observer]:
    """Who watches work: the collector that OpenTelemetry's variables name, or nobody; see the adapter."""
    from lorebase.adapters.open_telemetry import opened_observer as opened  # noqa: PLC0415 (only who watches)

    return opened(variables)


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
