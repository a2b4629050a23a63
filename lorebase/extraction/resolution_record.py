"""What resolution has merged, read from a snapshot, and how a merge is undone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pydantic import BaseModel, ConfigDict

from lorebase.artifacts.manifest import read_manifest, read_partition
from lorebase.artifacts.snapshots import Snapshot
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.errors import NotFoundError, UnsupportedModeError
from lorebase.extraction.resolution_kinds import RESOLVED_ENTITIES, ResolvedMention
from lorebase.runs.corrections import CorrectionStore, KeptApart


class RecordedMerge(BaseModel):
    """Two names that resolution took for one entity.

    Attributes:
        merge_id: Its identity, for undoing it.
        entity_id: The entity.
        name: The one name.
        merged_with: The other; empty where no chunk of the snapshot has it any more.
        reason: Why: width, case, punctuation, alias, legal_form, plural, phrasing, spelling, translation or
            abbreviation.
        score: How sure, from 0 to 1; of the last two the cosine of their vectors.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    merge_id: str
    entity_id: str
    name: str
    merged_with: str
    reason: str
    score: float


def merges_of(store: ObjectStore, snapshot: Snapshot) -> list[RecordedMerge]:
    """Every merge of a snapshot, by entity and name. Blocking.

    Raises:
        UnsupportedModeError: The snapshot has no resolved entities.
    """
    mentions = _mentions(store, snapshot)
    name_of = {mention.name_key: mention.name for mention in mentions}
    found = {
        mention.merge_id: RecordedMerge(
            merge_id=mention.merge_id,
            entity_id=mention.entity_id,
            name=mention.name,
            merged_with=name_of.get(mention.merged_with, ""),
            reason=mention.merge_reason,
            score=mention.merge_score,
        )
        for mention in mentions
        if mention.merge_id
    }
    return sorted(found.values(), key=lambda merge: (merge.entity_id, merge.name, merge.merge_id))


def undo_merge(store: ObjectStore, snapshot: Snapshot, merge_id: str, now: datetime) -> KeptApart:
    """Keep the two names of a merge apart from the next build on. Blocking.

    Raises:
        NotFoundError: The snapshot has no such merge.
        UnsupportedModeError: The snapshot has no resolved entities.
    """
    layout = BaseLayout(snapshot.base_name)
    mention = next((one for one in _mentions(store, snapshot) if merge_id and one.merge_id == merge_id), None)
    if mention is None:
        known = any(one.merge_id == merge_id for one in CorrectionStore(store, layout).all())
        raise NotFoundError(
            f"The live snapshot of {snapshot.base_name!r} has no merge {merge_id!r}.",
            remedy="It was undone before." if known else f"`lorebase entities {snapshot.base_name}` lists them.",
        )
    left, right = sorted((mention.name_key, mention.merged_with))
    correction = KeptApart(merge_id=merge_id, left=left, right=right, undone_at=now)
    CorrectionStore(store, layout).keep_apart(correction)
    return correction


def _mentions(store: ObjectStore, snapshot: Snapshot) -> Sequence[ResolvedMention]:
    reference = snapshot.artifacts.get(RESOLVED_ENTITIES.name)
    if reference is None:
        raise UnsupportedModeError(
            f"{snapshot.base_name!r} has no resolved entities.",
            remedy="Add `- use: knowledge_graph` to the procedures of its recipe and build again.",
        )
    layout = BaseLayout(snapshot.base_name)
    entries = read_manifest(store, reference).partitions
    return [row for entry in entries for row in read_partition(store, layout, RESOLVED_ENTITIES, entry)]
