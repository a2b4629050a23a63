"""All services of governed knowledge over one database and one object store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from lorebase.artifacts.store import ObjectStore
from lorebase.governance.drafts import Drafts
from lorebase.governance.feedback import FeedbackQueue
from lorebase.governance.items import Items
from lorebase.governance.originals import Originals
from lorebase.governance.ports import ContainerCheck, MetadataRules
from lorebase.governance.processing import Processing
from lorebase.governance.releases import Releases
from lorebase.governance.review import Review
from lorebase.governance.revisions import Revisions
from lorebase.governance.store import Store
from lorebase.governance.tags import Tags
from lorebase.governance.task_queue import TaskQueue
from lorebase.governance.uploads import Uploads


@dataclass(frozen=True, slots=True)
class Governance:
    """The services. Each command carries its caller, and leaves one audit row in its own transaction."""

    store: Store
    originals: Originals
    items: Items
    drafts: Drafts
    uploads: Uploads
    revisions: Revisions
    review: Review
    processing: Processing
    tasks: TaskQueue
    releases: Releases
    feedback: FeedbackQueue
    tags: Tags

    @classmethod
    def over(
        cls,
        store: Store,
        objects: ObjectStore,
        *,
        check_container: ContainerCheck,
        metadata_rules: MetadataRules | None = None,
    ) -> Self:
        """The services over a store; opens nothing by itself.

        Args:
            store: Database, clock, ids and rules.
            objects: Where originals lie.
            check_container: Looks into zip containers before they are unpacked.
            metadata_rules: The source types of the knowledge bases; None accepts every field within the limits.
        """
        originals = Originals(objects)
        drafts = Drafts(store, originals, metadata_rules)
        processing = Processing(store)
        return cls(
            store=store,
            originals=originals,
            items=Items(store),
            drafts=drafts,
            uploads=Uploads(store, originals, drafts, check_container),
            revisions=Revisions(store, originals),
            review=Review(store, originals, processing),
            processing=processing,
            tasks=TaskQueue(store),
            releases=Releases(store),
            feedback=FeedbackQueue(store),
            tags=Tags(store),
        )

    def close(self) -> None:
        """Give the connections back."""
        self.store.database.close()
