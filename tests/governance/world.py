"""A small world of governed knowledge: real services over a real database and a folder, a clock that a test turns."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lorebase.adapters.object_stores import LocalObjectStore
from lorebase.adapters.parsers.office_containers import check_container
from lorebase.database import Database
from lorebase.governance.context import ALL_CAPABILITIES, Capability, PrincipalContext
from lorebase.governance.drafts import DraftFields
from lorebase.governance.file_checks import Upload
from lorebase.governance.model import FaqEntry, Item, Revision, Task
from lorebase.governance.ports import MetadataRules
from lorebase.governance.row_ids import SnowflakeIds
from lorebase.governance.service import Governance
from lorebase.governance.settings import GovernanceSettings
from lorebase.governance.store import Store


class HandClock:
    """A clock that stands still until it is turned."""

    def __init__(self) -> None:
        self._now = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._now.timestamp()

    def turn(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)


def caller(user_id: str = "author", organ_id: int = 7, *capabilities: Capability) -> PrincipalContext:
    return PrincipalContext(
        organ_id=organ_id,
        user_id=user_id,
        capabilities=frozenset(capabilities) or ALL_CAPABILITIES,
        trace_id=f"trace-{user_id}",
    )


AUTHOR, REVIEWER, STRANGER = caller("author"), caller("reviewer"), caller("stranger", 8)


def services(
    database: Database,
    folder: Path,
    clock: HandClock,
    settings: GovernanceSettings | None = None,
    *,
    worker: int = 0,
    metadata_rules: MetadataRules | None = None,
) -> Governance:
    """Services whose tasks go by the clock that a test turns, not by the database's."""
    ids = SnowflakeIds(clock, worker)
    store = Store(database, clock, ids, settings or GovernanceSettings(), task_time=lambda _connection: clock.now())
    return Governance.over(
        store, LocalObjectStore(folder), check_container=check_container, metadata_rules=metadata_rules
    )


class World:
    """Services with shortcuts to the states that tests begin in."""

    def __init__(self, database: Database, folder: Path) -> None:
        self.database = database
        self.folder = folder
        self.clock = HandClock()
        self.governance = services(database, folder, self.clock)
        self._keys = 0

    def with_settings(self, **values: object) -> Governance:
        return services(self.database, self.folder, self.clock, GovernanceSettings.model_validate(values), worker=1)

    def item(self, key: str = "") -> Item:
        self._keys += 1
        return self.governance.items.create(
            AUTHOR, base_id="handbook", knowledge_key=key or f"key-{self._keys}", title="差旅费报销 Travel expenses"
        )

    def draft(self, item: Item | None = None, text: str = "") -> Revision:
        target = item or self.item()
        draft = self.governance.drafts.create(AUTHOR, target.id, DraftFields(tags=["差旅", "expenses"]))
        answer = text or f"Within 30 days ({draft.id})."
        return self.governance.drafts.set_faq(
            AUTHOR, draft.id, [FaqEntry(question="几天内报销?", answer=answer)], version=draft.version
        )

    def submitted(self, item: Item | None = None) -> Revision:
        draft = self.draft(item)
        return self.governance.review.submit(AUTHOR, draft.id, version=draft.version)

    def approved(self, item: Item | None = None) -> Revision:
        submitted = self.submitted(item)
        return self.governance.review.approve(REVIEWER, submitted.id, version=submitted.version)

    def started(self, item: Item | None = None) -> tuple[Revision, Task]:
        approved = self.approved(item)
        task = self.governance.processing.start(
            AUTHOR, approved.id, version=approved.version, idempotency_key=f"process-{approved.id}"
        )
        return self.read(approved), task

    def ready(self, item: Item | None = None) -> Revision:
        revision, _task = self.started(item)
        claimed = self.governance.tasks.claim("worker-1")
        assert claimed is not None
        self.governance.tasks.finish(claimed, embedding_profile="hash-64")
        return self.read(revision)

    def failed(self, item: Item | None = None) -> Revision:
        revision, _task = self.started(item)
        claimed = self.governance.tasks.claim("worker-1")
        assert claimed is not None
        self.governance.tasks.fail(claimed, ValueError("no"))
        return self.read(revision)

    def read(self, revision: Revision) -> Revision:
        return self.governance.revisions.get(AUTHOR, revision.id)


def upload(name: str, content: bytes, media_type: str = "") -> Upload:
    return Upload(name, io.BytesIO(content), media_type)
