"""The runtime of every base: made once, from what the base configures and from what the host can do."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from lorebase.errors import NotFoundError
from lorebase.registry.card_types import CardType
from lorebase.registry.layout import memory_root
from lorebase.registry.layout.folders import LEGACY_MEMORY
from lorebase.registry.record import BaseModels, KnowledgeBaseRecord
from lorebase.registry.source_types import SourceType

Runtime = TypeVar("Runtime")
Host = TypeVar("Host")


@dataclass(frozen=True, slots=True)
class RuntimeConfig:
    """Settings of the host for bases that are not the default one. It holds no folder: every base has its own.

    Attributes:
        models: Models of bases that name none of their own.
        top_k: Results of a search that names no number; None leaves it to the base.
    """

    models: BaseModels = field(default_factory=BaseModels)
    top_k: int | None = None


@dataclass(frozen=True, slots=True)
class RuntimeSettings(Generic[Host]):
    """What a runtime is made from. What may change later is a function, asked when it is needed.

    Attributes:
        base_id: The base.
        root_dir: Folder of its tree.
        memory_root: Where its memory lies: below the agent's root, without one in its tree.
        config: The host's settings; None where there are none.
        source_types: Its source types now.
        card_types: Its card types now.
        host: What only the host can do, such as calling a model; None as long as it cannot.
    """

    base_id: str
    root_dir: Path
    memory_root: Path
    config: RuntimeConfig | None
    source_types: Callable[[], tuple[SourceType, ...]]
    card_types: Callable[[], tuple[CardType, ...]]
    host: Callable[[], Host | None]


@dataclass(frozen=True, slots=True)
class RuntimeOptions(Generic[Runtime, Host]):
    """How runtimes are made.

    Attributes:
        make: Makes a runtime.
        default_runtime: The runtime of the default base; None makes it like every other.
        config: Settings for bases that are not the default one, asked when a runtime is made.
        host: What only the host can do, asked whenever a runtime needs it: what comes late reaches every base.
        agent_root: The agent's root, asked when a runtime is made.
    """

    make: Callable[[RuntimeSettings[Host]], Runtime]
    default_runtime: Callable[[], Runtime] | None = None
    config: Callable[[], RuntimeConfig] | None = None
    host: Callable[[], Host | None] = lambda: None
    agent_root: Callable[[], Path] | None = None


class BaseRuntimes(Generic[Runtime, Host]):
    """Runtimes by base, each made when it is first asked for. Safe to use from several threads.

    Args:
        options: How they are made.
        record_of: The record of a base now; None where there is no such base.
    """

    def __init__(
        self, options: RuntimeOptions[Runtime, Host], record_of: Callable[[str], KnowledgeBaseRecord | None]
    ) -> None:
        self._options = options
        self._record_of = record_of
        self._made: dict[str, Runtime] = {}
        self._lock = threading.RLock()

    def of(self, base_id: str) -> Runtime:
        """The runtime of a base.

        Raises:
            NotFoundError: There is no such base.
        """
        with self._lock:
            if base_id not in self._made:
                self._made[base_id] = self._make(base_id)
            return self._made[base_id]

    def forget(self, base_id: str) -> Runtime | None:
        """Take a runtime out, for instance because its base was deleted; who gets it closes it."""
        with self._lock:
            return self._made.pop(base_id, None)

    def _make(self, base_id: str) -> Runtime:
        record = self._existing(base_id)
        options = self._options
        if record.is_default and options.default_runtime is not None:
            return options.default_runtime()
        root_dir = Path(record.root_dir)
        memory = memory_root(options.agent_root(), base_id) if options.agent_root else root_dir / LEGACY_MEMORY
        settings = RuntimeSettings(
            base_id=base_id,
            root_dir=root_dir,
            memory_root=memory,
            config=options.config() if options.config and not record.is_default else None,
            source_types=lambda: self._existing(base_id).source_types,
            card_types=lambda: self._existing(base_id).card_types,
            host=options.host,
        )
        return options.make(settings)

    def _existing(self, base_id: str) -> KnowledgeBaseRecord:
        record = self._record_of(base_id)
        if record is None:
            raise NotFoundError(
                f"There is no knowledge base {base_id[:80]!r} in the registry.",
                remedy="Create it first.",
                base_id=base_id,
            )
        return record
