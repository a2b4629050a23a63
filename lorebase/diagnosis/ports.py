"""What checks ask of the outside, and what they have to know of a workspace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from lorebase.artifacts.store import ObjectStore
from lorebase.clock import Clock
from lorebase.diagnosis.model import Finding
from lorebase.index.ports import IndexStore
from lorebase.models.chat import ChatModel
from lorebase.models.ports import Embedder
from lorebase.models.rerank import Reranker
from lorebase.models.settings import ChatModelSpec, EmbeddingModelSpec, EndpointConfig, RerankModelSpec
from lorebase.registry.file_store import FileRegistryStore

if TYPE_CHECKING:
    from lorebase.governance.former_database import LeftBehind  # SQLAlchemy takes 0.3 s to import


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What a service said over HTTP.

    Attributes:
        status: Its status.
        sent_at: Its `Date`, aware UTC, to the second; None where it sends none.
        server: Its `Server` header, which often names the version.
        text: The beginning of its body.
    """

    status: int
    sent_at: datetime | None
    server: str
    text: str


@dataclass(frozen=True, slots=True)
class DatabaseAnswer:
    """What a database said of itself after a table was made, written, read and dropped in it."""

    product: str
    version: str


class ServiceProbe(Protocol):
    """Asks services that the workspace's own ports do not speak of."""

    async def fetch(self, url: str, headers: Mapping[str, str], timeout_seconds: float) -> HttpAnswer:
        """The answer to a GET, whatever its status; redirects are not followed.

        Raises:
            UnavailableError: Nobody answered in time.
        """
        ...

    def try_database(self, url: str, table: str) -> DatabaseAnswer:
        """Make a table, write, read and delete a row in it, and drop it. Blocking.

        Raises:
            ConfigurationError: The address cannot be used, or the login is refused or may not do one of these.
            UnavailableError: The database does not answer.
        """
        ...

    async def milvus_version(self, uri: str, token: str) -> str:
        """The version of a Milvus server.

        Raises:
            DependencyError: It does not answer, or refuses the login.
        """
        ...


@dataclass(frozen=True, slots=True)
class Places:
    """Where the parts of a workspace are, with the secrets that lead there.

    Attributes:
        folder: The workspace's folder.
        local_folders: Folders that are written to, by what they are called.
        object_folder: Folder of the object store; None where it is S3.
        object_store_url: HTTP address of the object store; empty for a folder.
        vector_store_uri: Address of the Milvus server; empty for embedded indexes.
        vector_store_token: Its login.
        database_url: Address of the database; empty for files in the folder.
        docling_url: Address of docling-serve; empty where there is none.
        endpoints: Model endpoints by name.
        secrets: Texts that no finding may hold.
    """

    folder: Path
    local_folders: Mapping[str, Path] = field(default_factory=dict)
    object_folder: Path | None = None
    object_store_url: str = ""
    vector_store_uri: str = ""
    vector_store_token: str = ""
    database_url: str = ""
    docling_url: str = ""
    endpoints: Mapping[str, EndpointConfig] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PrefectAddress:
    """Where Prefect's API is, what its requests carry, and which version of Prefect is installed here."""

    url: str
    headers: Mapping[str, str]
    installed_version: str
    secrets: tuple[str, ...] = ()


class DiagnosedWorkspace(Protocol):
    """What of a workspace is looked at."""

    @property
    def clock(self) -> Clock:
        """The clock that leases are judged with."""
        ...

    @property
    def object_store(self) -> ObjectStore:
        """The object store."""
        ...

    @property
    def former_registry(self) -> FileRegistryStore | None:
        """The registry file in the folder, where the registry is elsewhere."""
        ...

    def left_behind_bases(self) -> tuple[str, ...]:
        """Ids of bases that this file holds and the registry does not; nothing is made for the question."""
        ...

    def topics_left_behind(self) -> LeftBehind | None:
        """Governed topics that only a former database file holds; nothing is made for the question."""
        ...

    def probe_index_store(self) -> IndexStore:
        """A store of indexes that may be filled and dropped: the server's, or an embedded one in a new folder."""
        ...

    def service_probe(self) -> ServiceProbe:
        """How services are asked."""
        ...

    async def open_embedder(self, spec: EmbeddingModelSpec) -> Embedder:
        """The embedding model that a recipe names."""
        ...

    def open_chat(self, spec: ChatModelSpec) -> ChatModel:
        """The chat model that a recipe names."""
        ...

    def open_reranker(self, spec: RerankModelSpec, chat: ChatModel | None = None) -> Reranker:
        """The reranker that a recipe names."""
        ...


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look at.

    Attributes:
        name: What it is called where it does not come to a finding.
        look: Looks, and says what it found. Errors of Lorebase's tree become findings.
    """

    name: str
    look: Callable[[], Awaitable[Sequence[Finding]]]
