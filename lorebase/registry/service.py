"""The knowledge bases of a registry: created, listed, shown, updated, reset, deleted. Commands answer in envelopes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Generic

from lorebase.clock import Clock
from lorebase.errors import ConfigurationError
from lorebase.fingerprint import fingerprint
from lorebase.registry.base_changes import Applied, BaseChange, apply_change
from lorebase.registry.changes import given_or
from lorebase.registry.content import BaseFolders
from lorebase.registry.envelope import Deleted, Envelope, failure, success
from lorebase.registry.keeping import BASE_NOT_FOUND, RecordKeeper, not_found_message
from lorebase.registry.layout import is_base_id
from lorebase.registry.problems import Problem
from lorebase.registry.reading import line_of
from lorebase.registry.record import DEFAULT_BASE_ID, BaseStatistics, KnowledgeBaseRecord
from lorebase.registry.runtimes import BaseRuntimes, Host, Runtime, RuntimeOptions
from lorebase.registry.stores import RegistryStore
from lorebase.registry.type_commands import CardTypeCommands, SourceTypeCommands
from lorebase.registry.views import BaseSummary, KnowledgeBaseView, empty_base, summary_of, view_of

_ID_CHARS: Final = 48
_DIGEST_CHARS: Final = 12
_NOT_IN_IDS = re.compile(r"[^a-z0-9]+")
_TAKEN: Final = "Choose another id, or update the base that has it."


class KnowledgeBases(Generic[Runtime, Host]):
    """The knowledge bases of a registry.

    Attributes:
        source_types: Commands on the source types of a base.
        card_types: Commands on the card types of a base.

    Args:
        store: Where records are kept.
        clock: Gives `created_at` and `updated_at`.
        statistics: Counts what is in a base, by its id; None keeps the figures that are stored.
        folders: Where the trees of bases lie; None makes no folders.
        runtimes: How runtimes are made; None where none are wanted.
    """

    def __init__(
        self,
        store: RegistryStore,
        *,
        clock: Clock,
        statistics: Callable[[str], BaseStatistics] | None = None,
        folders: BaseFolders | None = None,
        runtimes: RuntimeOptions[Runtime, Host] | None = None,
    ) -> None:
        self._keeper = RecordKeeper(store, clock=clock, statistics=statistics, folders=folders)
        self._runtimes = BaseRuntimes(runtimes, self._record_of) if runtimes else None
        self.source_types = SourceTypeCommands(self._keeper)
        self.card_types = CardTypeCommands(self._keeper)

    def list(self) -> Envelope[tuple[BaseSummary, ...]]:
        """Every base with its stored figures, the default one first, then by id. The registry is read once."""
        read = self._keeper.read_all()
        return success(tuple(summary_of(head) for head in read.heads), read.warnings)

    def show(self, base_id: str) -> Envelope[KnowledgeBaseView]:
        """One base with everything that is configured, counted now. Code: `BASE_NOT_FOUND`."""
        read = self._keeper.read(base_id)
        return success(view_of(self._keeper.counted(read.record)), read.warnings) if read else _not_found(base_id)

    def create(self, base_id: str = "", change: BaseChange | None = None) -> Envelope[KnowledgeBaseView]:
        """Make a base with the built-in types; its empty tree first, where trees are made.

        Args:
            base_id: Its id; without one it is derived from the name (see `base_id_of`). `default` makes the default
                base.
            change: What it is given beyond the defaults.

        Returns:
            The base. Codes: `INVALID_BASE_ID`, `DUPLICATE_BASE_ID`, and those of types.
        """
        asked = change or BaseChange()
        wanted = base_id or base_id_of(given_or(asked.name, ""))
        if not is_base_id(wanted):
            return failure(
                empty_base(wanted[:_ID_CHARS]),
                "INVALID_BASE_ID",
                f"{wanted[:80]!r} cannot be the id of a knowledge base.",
                retryable=False,
                suggestion="Use 1 to 48 of a-z, 0-9 and hyphen, beginning with a letter or a digit.",
            )
        now = self._keeper.clock.now()
        fresh = KnowledgeBaseRecord(
            id=wanted, name=wanted, is_default=wanted == DEFAULT_BASE_ID, created_at=now, updated_at=now
        )
        applied = apply_change(fresh, asked, now)
        if isinstance(applied, Problem):
            return _refused(wanted, applied)
        if not self._keeper.insert(applied.record):
            message = f"There is a knowledge base {wanted!r} already."
            taken = Problem("DUPLICATE_BASE_ID", message, _TAKEN)
            return _refused(wanted, taken)
        return success(view_of(self._keeper.placed(applied.record)), applied.warnings)

    def ensure_default(self) -> Envelope[KnowledgeBaseView]:
        """The default base, made where it is missing."""
        shown = self.show(DEFAULT_BASE_ID)
        if shown.ok:
            return shown
        made = self.create(DEFAULT_BASE_ID)
        return made if made.ok else self.show(DEFAULT_BASE_ID)

    def update(self, base_id: str, change: BaseChange) -> Envelope[KnowledgeBaseView]:
        """Change what is given, count the base again, and store it. Codes: `BASE_NOT_FOUND`, and those of types."""
        return self._revised(base_id, change)

    def recount(self, base_id: str) -> Envelope[KnowledgeBaseView]:
        """Store the figures of a base as they are now; nothing else changes. Code: `BASE_NOT_FOUND`."""
        outcome = self._keeper.revise(base_id, Applied)
        return success(view_of(outcome.record)) if isinstance(outcome, Applied) else _not_found(base_id)

    def reset_card_types(self, base_id: str) -> Envelope[KnowledgeBaseView]:
        """Make the card types the built-in ones. Code: `BASE_NOT_FOUND`."""
        return self._revised(base_id, BaseChange(reset_card_types=True))

    def delete(self, base_id: str, *, purge: bool = False) -> Envelope[Deleted]:
        """Take a base out of the registry.

        Args:
            base_id: The base.
            purge: Whether its tree and its memory are deleted too. Content goes first: a deletion that was interrupted
                is finished by the same call.

        Returns:
            Codes: `BASE_NOT_FOUND`, `DEFAULT_BASE_IMMUTABLE`, `CONTENT_ELSEWHERE`.
        """
        read = self._keeper.read(base_id)
        if read is None:
            return failure(Deleted(deleted=False), BASE_NOT_FOUND, not_found_message(base_id), retryable=True)
        if problem := self._deletion_problem(read.record, purge=purge):
            return failure(
                Deleted(deleted=False), problem.code, problem.message, retryable=False, suggestion=problem.suggestion
            )
        if purge and self._keeper.folders is not None:
            self._keeper.folders.remove(base_id)
        deleted = self._keeper.store.delete(base_id)
        if self._runtimes is not None:
            self._runtimes.forget(base_id)
        return success(Deleted(deleted=deleted), read.warnings)

    def runtime_of(self, base_id: str) -> Runtime:
        """The runtime of a base, made when it is first asked for.

        Raises:
            NotFoundError: There is no such base.
            ConfigurationError: The registry was opened without saying how runtimes are made.
        """
        if self._runtimes is None:
            raise ConfigurationError("The registry was opened without saying how runtimes are made.")
        return self._runtimes.of(base_id)

    def _revised(self, base_id: str, change: BaseChange) -> Envelope[KnowledgeBaseView]:
        outcome = self._keeper.revise(base_id, lambda record: apply_change(record, change, self._keeper.clock.now()))
        match outcome:
            case None:
                return _not_found(base_id)
            case Problem():
                return _refused(base_id, outcome)
            case Applied():
                return success(view_of(outcome.record), outcome.warnings)

    def _deletion_problem(self, record: KnowledgeBaseRecord, *, purge: bool) -> Problem | None:
        if record.is_default:
            message = f"{record.id!r} is the default knowledge base and cannot be deleted."
            return Problem("DEFAULT_BASE_IMMUTABLE", message, "Delete its content by building it from nothing.")
        folders = self._keeper.folders
        if purge and (folders is None or record.root_dir != str(folders.tree_of(record.id))):
            message = f"The tree of {record.id!r} lies at {record.root_dir!r}, which is not this registry's to delete."
            return Problem(
                "CONTENT_ELSEWHERE", message, "Delete the base without its content, then the folder by hand."
            )
        return None

    def _record_of(self, base_id: str) -> KnowledgeBaseRecord | None:
        read = self._keeper.read(base_id)
        return read.record if read else None


def base_id_of(name: str) -> str:
    """An id for a name: its Latin letters and digits, or a digest of it where other letters would be lost.

    `Sales handbook` gives `sales-handbook`, `企业知识库` gives `kb-` and 12 hexadecimal characters. A blank name gives
    an empty text, which is no id.
    """
    line = line_of(name)
    slug = _NOT_IN_IDS.sub("-", line.lower()).strip("-")
    if line.isascii() and len(slug) <= _ID_CHARS:
        return slug
    return f"kb-{fingerprint('knowledge base', line)[:_DIGEST_CHARS]}"


def _not_found(base_id: str) -> Envelope[KnowledgeBaseView]:
    return failure(empty_base(base_id), BASE_NOT_FOUND, not_found_message(base_id), retryable=True)


def _refused(base_id: str, problem: Problem) -> Envelope[KnowledgeBaseView]:
    return failure(empty_base(base_id), problem.code, problem.message, retryable=False, suggestion=problem.suggestion)
