"""A build of a governed recipe: every document of its sources becomes an item, every new content of it a draft.

Nothing becomes visible: people review, and people publish.
"""

from __future__ import annotations

import asyncio
import io
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from pydantic import BaseModel, ConfigDict
from sqlalchemy import select

from lorebase.documents.model import SourceDocument
from lorebase.documents.sources import FileSystem
from lorebase.errors import CommandError, ConflictError, UnreadableDocumentError
from lorebase.governance.base_recipes import BaseRecipes
from lorebase.governance.context import Capability, PrincipalContext
from lorebase.governance.drafts import Drafts
from lorebase.governance.file_checks import Upload
from lorebase.governance.items import Items
from lorebase.governance.model import Item, Revision, RowId
from lorebase.governance.states import RevisionState
from lorebase.governance.store import Store, live
from lorebase.governance.tables import items, revisions
from lorebase.governance.uploads import OnDuplicate, Uploads
from lorebase.recipes.model import KnowledgeRecipe
from lorebase.runs.records import Issue
from lorebase.runs.scanning import OpenedSource, SourceReader

MAX_KEY_CHARS = 128
MAX_TITLE_CHARS = 255
REASON = "build of the knowledge base"


class SourceOpener(Protocol):
    """Opens the sources of recipes."""

    def open_source(self, url: str) -> tuple[FileSystem, str]:
        """The file system behind an address, and the folder in it."""
        ...


class DraftAction(StrEnum):
    """What became of a document."""

    NEW_ITEM = "NEW_ITEM"
    NEW_DRAFT = "NEW_DRAFT"
    UPDATED_DRAFT = "UPDATED_DRAFT"
    UNCHANGED = "UNCHANGED"
    UNDER_REVIEW = "UNDER_REVIEW"
    DELETED_ITEM = "DELETED_ITEM"
    REJECTED = "REJECTED"


class DraftedDocument(BaseModel):
    """One document of a source."""

    model_config = ConfigDict(frozen=True)

    name: str
    source: str
    action: DraftAction
    item_id: RowId | None = None
    revision_id: RowId | None = None
    error_code: str = ""
    message: str = ""


class DraftingReport(BaseModel):
    """What a build of a governed recipe did.

    Attributes:
        documents: In the order of the scan.
        missing_item_ids: Items of these sources whose document is gone. What is live of them stays live.
        issues: Entries of the sources that were left out.
    """

    model_config = ConfigDict(frozen=True)

    base_id: str
    documents: tuple[DraftedDocument, ...]
    missing_item_ids: tuple[RowId, ...] = ()
    issues: tuple[Issue, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many documents of each action."""
        return {str(action): number for action, number in Counter(one.action for one in self.documents).items()}


class SourceDrafts:
    """Makes drafts of the documents of a recipe's sources."""

    def __init__(
        self, store: Store, recipes: BaseRecipes, item_commands: Items, drafts: Drafts, uploads: Uploads
    ) -> None:
        self._store = store
        self._recipes = recipes
        self._items = item_commands
        self._drafts = drafts
        self._uploads = uploads

    async def draft(self, context: PrincipalContext, recipe: KnowledgeRecipe, opener: SourceOpener) -> DraftingReport:
        """Scan the sources and bring items and drafts up to date with them.

        Every document stands for itself: one that is refused is in the report, and the others go on.

        Args:
            context: Who builds; needs EDIT.
            recipe: A recipe with `governance: reviewed`; its revisions are processed by it from now on.
            opener: Opens the sources.

        Raises:
            ForbiddenError: The caller may not edit.
            InvalidRecipeError: The recipe has faults; nothing was written.
            ConfigurationError: A source cannot be read.
            UnavailableError: A store does not answer.
        """
        context.require(Capability.EDIT)
        recipe.validate()
        return await asyncio.to_thread(self._draft, context, recipe, opener)

    def _draft(self, context: PrincipalContext, recipe: KnowledgeRecipe, opener: SourceOpener) -> DraftingReport:
        opened = {}
        for spec in recipe.sources:
            location = recipe.location_of(spec)
            opened[spec.source_name] = OpenedSource(spec.as_source(location), *opener.open_source(location))
        reader = SourceReader(opened, recipe.max_document_bytes)
        documents, issues = reader.scan()
        self._recipes.remember(recipe)
        drafted = tuple(self._one(context, recipe.name, document, reader) for document in documents)
        return DraftingReport(
            base_id=recipe.name,
            documents=drafted,
            missing_item_ids=self._missing(context, recipe, drafted),
            issues=tuple(issues),
        )

    def _one(
        self, context: PrincipalContext, base_id: str, document: SourceDocument, reader: SourceReader
    ) -> DraftedDocument:
        try:
            return self._drafted(context, base_id, document, reader)
        except (CommandError, UnreadableDocumentError, ConflictError) as error:
            return DraftedDocument(
                name=document.name,
                source=document.source,
                action=DraftAction.REJECTED,
                error_code=error.code,
                message=error.message,
            )

    def _drafted(
        self, context: PrincipalContext, base_id: str, document: SourceDocument, reader: SourceReader
    ) -> DraftedDocument:
        def done(action: DraftAction, item: Item, revision: Revision | None = None) -> DraftedDocument:
            return DraftedDocument(
                name=document.name,
                source=document.source,
                action=action,
                item_id=item.id,
                revision_id=revision.id if revision else None,
            )

        key = key_of(base_id, document)
        item = self._item(context, key)
        if item is not None and item.is_deleted:
            return done(DraftAction.DELETED_ITEM, item)
        newest = self._newest(context, item) if item is not None else None
        if item is not None and newest is not None and newest.sha256 == document.sha256:
            return done(DraftAction.UNCHANGED, item, newest)
        if item is not None and newest is not None and newest.status is RevisionState.REVIEWING:
            return done(DraftAction.UNDER_REVIEW, item, newest)
        content = reader.read_document(document)
        if item is None:
            item = self._items.create(
                context, base_id=base_id, knowledge_key=key, title=_title(document), reason=REASON
            )
            return done(DraftAction.NEW_ITEM, item, self._take(context, item, None, document, content))
        if newest is not None and newest.status is RevisionState.DRAFT:
            return done(DraftAction.UPDATED_DRAFT, item, self._take(context, item, newest, document, content))
        # Tags and fields that were reviewed go on; killed in between, the next build finds the copy as a draft.
        copy = self._drafts.copy(context, newest.id, reason=REASON) if newest is not None else None
        return done(DraftAction.NEW_DRAFT, item, self._take(context, item, copy, document, content))

    def _take(
        self,
        context: PrincipalContext,
        item: Item,
        draft: Revision | None,
        document: SourceDocument,
        content: bytes,
    ) -> Revision:
        return self._uploads.add_file(
            context,
            item.id,
            Upload(document.name.rpartition("/")[2], io.BytesIO(content), ""),
            draft_version=draft.version if draft else None,
            on_duplicate=OnDuplicate.REUSE_DRAFT if draft else OnDuplicate.NEW_REVISION,
            reason=REASON,
        )

    def _item(self, context: PrincipalContext, key: str) -> Item | None:
        query = select(items).where(items.c.organ_id == context.organ_id, items.c.knowledge_key == key)
        with self._store.database.reading() as connection:
            row = connection.execute(query).one_or_none()
        return Item.from_row(row) if row is not None else None

    def _newest(self, context: PrincipalContext, item: Item) -> Revision | None:
        query = select(revisions).where(live(revisions, context), revisions.c.item_id == item.id)
        with self._store.database.reading() as connection:
            row = connection.execute(query.order_by(revisions.c.revision_number.desc()).limit(1)).one_or_none()
        return Revision.from_row(row) if row is not None else None

    def _missing(
        self, context: PrincipalContext, recipe: KnowledgeRecipe, drafted: Sequence[DraftedDocument]
    ) -> tuple[int, ...]:
        seen = {one.item_id for one in drafted}
        query = select(items.c.id, items.c.knowledge_key).where(live(items, context), items.c.base_id == recipe.name)
        prefixes = tuple(f"{recipe.name}/{spec.source_name}/" for spec in recipe.sources)
        with self._store.database.reading() as connection:
            rows = list(connection.execute(query.order_by(items.c.id)))
        return tuple(row.id for row in rows if row.knowledge_key.startswith(prefixes) and row.id not in seen)


def key_of(base_id: str, document: SourceDocument) -> str:
    """The stable key of a document's item: base, source and path; the document's id where that is too long."""
    key = f"{base_id}/{document.source}/{document.name}"
    return key if len(key) <= MAX_KEY_CHARS else f"{base_id}/{document.document_id}"


def _title(document: SourceDocument) -> str:
    return document.name[-MAX_TITLE_CHARS:]
