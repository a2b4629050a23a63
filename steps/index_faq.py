"""The step that stages the questions of a FAQ in an index of their own."""

from __future__ import annotations

from typing import Any, ClassVar

from lorebase.artifacts.kinds import FAQ_INDEX, ArtifactKind
from lorebase.faq.comparing import FaqClash, clashes_of, without_duplicates
from lorebase.faq.model import FAQ_ENTRIES, phrasing_id_of
from lorebase.index.ports import EntityKind
from lorebase.runs.capabilities import FAQ
from lorebase.runs.entry_step import EntryDraft, EntryIndexStep
from lorebase.runs.records import Issue, Subject
from lorebase.runs.step import Partition, StepExecutionContext


class IndexFaq(EntryIndexStep):
    """Write every question and its variants into the FAQ index, not yet searchable. Unlocks `faq_search`.

    Disabled entries stay out. Of duplicates the first is searched; of a conflict both are, so that nobody is given the
    one as if there were no other.
    """

    type_name: ClassVar[str] = "index_faq"
    requires: ClassVar[tuple[ArtifactKind[Any], ...]] = (FAQ_ENTRIES,)
    produces: ClassVar[ArtifactKind[Any]] = FAQ_INDEX
    search_asset: ClassVar[str] = FAQ
    item_name: ClassVar[str] = "questions"
    entity_kind: ClassVar[EntityKind] = "faq"

    def _drafts(self, partition: Partition, context: StepExecutionContext) -> tuple[list[EntryDraft], list[Issue]]:
        del context
        entries = sorted(
            partition.rows(FAQ_ENTRIES),
            key=lambda entry: (entry.document_name, entry.page or 0, entry.row or 0, entry.start),
        )
        drafts = [
            EntryDraft(
                entry_id=phrasing_id_of(entry.entry_id, phrasing),
                document_id=entry.document_id,
                revision_id=entry.entry_id,
                document_ids=(entry.document_id,),
                text=phrasing,
            )
            for entry in without_duplicates(entries)
            for phrasing in entry.phrasings
        ]
        issues = [self._issue_of_clash(clash) for clash in clashes_of(entries)]
        if not drafts:
            step = Subject(kind="step", id=self.type_name)
            issues.append(self.issue("FAQ_EMPTY", "No document holds an enabled question with its answer.", step))
        return drafts, issues

    def _issue_of_clash(self, clash: FaqClash) -> Issue:
        first, second = clash.first, clash.second
        subject = Subject(kind="document", id=second.document_id, name=second.document_name)
        code = "FAQ_CONFLICT" if clash.is_conflict else "FAQ_DUPLICATE"
        how = "with other answers" if clash.is_conflict else "with the same answer"
        message = f"{clash.question[:120]!r} is answered twice, {how}: {first.place}; {second.place}."
        return self.issue(
            code,
            message,
            subject,
            severity="warning" if clash.is_conflict else "info",
            first=first.place,
            second=second.place,
        )
