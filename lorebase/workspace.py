"""A workspace, opened: the one place that puts ports and adapters together, from a typed configuration."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from pydantic import SecretStr

from lorebase.adapters.object_stores import LocalObjectStore, S3ObjectStore, open_object_store
from lorebase.clock import Clock, SystemClock
from lorebase.diagnosis.ports import ServiceProbe
from lorebase.documents.parsing import ParserRegistry
from lorebase.documents.sources import FileSystem
from lorebase.errors import ConfigurationError, LorebaseError
from lorebase.extraction.graph_ports import GraphStore
from lorebase.index.ports import IndexStore
from lorebase.models.chat import ChatModel
from lorebase.models.ports import Embedder
from lorebase.models.rerank import Reranker
from lorebase.models.settings import ChatModelSpec, EmbeddingModelSpec, RerankModelSpec
from lorebase.recipes.model import ParserRuleSpec
from lorebase.registry.file_store import REGISTRY_FILE, FileRegistryStore
from lorebase.registry.stores import RegistryStore
from lorebase.runs.derived import DerivedTables
from lorebase.tracing import Observer
from lorebase.workspace_config import WORKSPACE_FILE, WorkspaceConfig, load_config

if TYPE_CHECKING:
    from lorebase.database import Database
    from lorebase.governance.former_database import LeftBehind
    from lorebase.governance.service import Governance
    from lorebase.registry.envelope import Envelope
    from lorebase.registry.former_file import ImportedBases

DATABASE_FILE = "lorebase.db"
logger = logging.getLogger(__name__)

WorkspaceObjectStore: TypeAlias = LocalObjectStore | S3ObjectStore


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
    def database(self) -> Database:
        """The configured database, or a SQLite file in the folder: graphs, registry and governed knowledge share it.

        Raises:
            ConfigurationError: The database's address cannot be opened.
        """
        from lorebase.adapters.databases import open_database  # noqa: PLC0415 (SQLAlchemy takes 0.3 s to import)

        config = self.config.database
        return open_database(_revealed(config.url if config else None) or self._database_file_url)

    @cached_property
    def graph_store(self) -> GraphStore:
        """The store of knowledge graphs: the configured database, or a SQLite file in the workspace's folder."""
        from lorebase.extraction.graph_store import SqlGraphStore  # noqa: PLC0415 (SQLAlchemy takes 0.3 s to import)

        return SqlGraphStore(lambda: self.database)

    @cached_property
    def registry_store(self) -> RegistryStore:
        """The registry of knowledge bases: the file that is configured, else the database, else a file in the folder.

        Where it is not in the folder, and the file there holds bases of its own, it says so and hides none of them.

        Raises:
            UnavailableError: The database does not answer.
        """
        former = self.former_registry
        if former is None:
            return self._registry
        from lorebase.registry.former_file import SucceedingRegistryStore  # noqa: PLC0415 (as above)

        return SucceedingRegistryStore(self._registry, former)

    @cached_property
    def _registry(self) -> RegistryStore:
        if self._registry_file is not None:
            return FileRegistryStore(self._registry_file)
        from lorebase.registry.sql_store import SqlRegistryStore  # noqa: PLC0415 (as above)

        store = SqlRegistryStore(self.database)
        store.create_tables()
        return store

    @property
    def _registry_file(self) -> Path | None:
        """The file of the registry; None where the database has it."""
        if self.config.registry is not None:
            return self.folder / Path(self.config.registry.file).expanduser()
        return self.folder / REGISTRY_FILE if self.config.database is None else None

    @property
    def former_registry(self) -> FileRegistryStore | None:
        """The file in the folder where the registry is elsewhere; it may hold bases from before that was said."""
        former = FileRegistryStore(self.folder / REGISTRY_FILE)
        present = self._registry_file
        return None if present is not None and present.resolve() == former.path else former

    def left_behind_bases(self) -> tuple[str, ...]:
        """Ids of bases that the former file holds and the registry does not; nothing is made for the question.

        Raises:
            UnavailableError: The database does not answer.
            CorruptObjectError: The former file cannot be read.
        """
        from lorebase.registry.former_file import left_behind  # noqa: PLC0415 (as above)
        from lorebase.registry.sql_store import SqlRegistryStore  # noqa: PLC0415 (as above)

        former = self.former_registry
        if former is None or not former.path.exists():
            return ()
        in_file = self._registry_file is not None
        return left_behind(
            former, self._registry.read_all().by_id if in_file else SqlRegistryStore(self.database).ids()
        )

    def import_registry(self, file: Path | None = None) -> Envelope[ImportedBases]:
        """Take over the bases of a registry file that the registry does not have.

        Args:
            file: The file, which stays as it is; without one the former file in the folder, which is put aside.

        Raises:
            ConfigurationError: The file is the registry.
            NotFoundError: There is no such file.
            UnavailableError: The database does not answer.
        """
        from lorebase.registry.former_file import import_bases  # noqa: PLC0415 (as above)

        given = FileRegistryStore(file if file is not None else self.folder / REGISTRY_FILE)
        if self._registry_file is not None and self._registry_file.resolve() == given.path:
            raise ConfigurationError(
                f"{given.path} is the registry of this workspace.",
                remedy="There is nothing to take over; name another file.",
            )
        return import_bases(self._registry, given, put_aside=file is None)

    async def close(self) -> None:
        """Give the connections of the stores back; a later call opens them anew. Who opened a model closes it."""
        for name in self.__dict__.keys() & {"index_store", "graph_store"}:  # what nobody asked for is not opened now
            await getattr(self, name).close()
        if "database" in self.__dict__:
            await asyncio.to_thread(self.database.close)
        await asyncio.to_thread(self.object_store.close)

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
        from lorebase.governance.migrating import migrate  # noqa: PLC0415 (as above)
        from lorebase.governance.row_ids import WORKER_BITS, SnowflakeIds  # noqa: PLC0415 (as above)
        from lorebase.governance.service import Governance  # noqa: PLC0415 (as above)
        from lorebase.governance.source_type_rules import RegistrySourceTypes  # noqa: PLC0415 (as above)
        from lorebase.governance.store import Store  # noqa: PLC0415 (as above)

        migrate(self.database)
        try:
            if left := self.topics_left_behind():
                logger.warning("%s %s", left.message, left.remedy)
        except LorebaseError as error:
            logger.warning("Whether %s holds governed topics is not known: %s", self.folder / DATABASE_FILE, error)
        ids = SnowflakeIds(self.clock, self.random.getrandbits(WORKER_BITS))
        store = Store(self.database, self.clock, ids, self.config.governance)
        rules = RegistrySourceTypes(self.registry_store, self.clock)
        return Governance.over(store, self.object_store, check_container=check_container, metadata_rules=rules)

    def has_governance(self) -> bool:
        """Whether anything was ever governed here; a workspace without it gets no tables by being asked.

        Raises:
            ConfigurationError: The database's address cannot be opened.
            UnavailableError: The database does not answer.
        """
        from lorebase.governance.migrating import is_made  # noqa: PLC0415 (as above)

        return is_made(self.database)

    def topics_left_behind(self) -> LeftBehind | None:
        """Governed topics that only the folder's database file holds, where the database is another one.

        Raises:
            UnavailableError: The database does not answer.
        """
        if not (self.folder / DATABASE_FILE).is_file():
            return None
        from lorebase.governance_import import topics_left_behind  # noqa: PLC0415 (as above)

        return topics_left_behind(self)

    @property
    def _database_file_url(self) -> str:
        return f"sqlite:///{self.folder.absolute() / DATABASE_FILE}"

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


def _revealed(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret is not None else None
