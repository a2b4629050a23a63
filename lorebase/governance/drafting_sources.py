"""A build of a governed recipe: every document of its sources becomes an item, every new content of it a draft.

Nothing becomes visible: people review, and people publish.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import select

from lorebase.documents.model import SourceDocument
from lorebase.documents.sources import FileSystem
from lorebase.errors import CommandError, ConflictError, InvalidInputError, UnreadableDocumentError
from lorebase.governance.base_recipes import BaseRecipes
from lorebase.governance.context import Capability, PrincipalContext
from lorebase.governance.drafting_report import DraftAction, DraftedDocument, DraftingReport
from lorebase.governance.drafts import DraftFields, Drafts
from lorebase.governance.file_checks import Upload
from lorebase.governance.items import Items
from lorebase.governance.model import Item, Revision
from lorebase.governance.source_descriptions import (
    Described,
    DescribingWorkspace,
    SourceDescriptions,
    opened_descriptions,
)
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


class SourceOpener(DescribingWorkspace, Protocol):
    """Opens the sources of recipes, and what reads them."""

    def open_source(self, url: str) -> tuple[FileSystem, str]:
        """The file system behind an address, and the folder in it."""
        ...


@dataclass(frozen=True, slots=True)
class _Found:
    """What there is of a document, and what is to become of it.

    Attributes:
        key: Key of its item.
        action: What to do.
        item: Its item; None for a new one.
        newest: The newest revision of that.
        lacks_fields: Whether it is a draft that no recipe has described yet.
    """

    key: str
    action: DraftAction
    item: Item | None = None
    newest: Revision | None = None
    lacks_fields: bool = False

    @property
    def takes_content(self) -> bool:
        """Whether the document becomes the content of a draft."""
        return self.action in (DraftAction.NEW_ITEM, DraftAction.NEW_DRAFT, DraftAction.UPDATED_DRAFT)


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
        reader = await asyncio.to_thread(_reader_of, recipe, opener)
        documents, issues = await asyncio.to_thread(reader.scan)
        await asyncio.to_thread(self._recipes.remember, recipe)
        drafted: list[DraftedDocument] = []
        with opened_descriptions(recipe, opener, reader) as descriptions:
            for document in documents:
                done, found = await self._one(context, recipe.name, document, reader, descriptions)
                drafted.append(done)
                issues += found
        return DraftingReport(
            base_id=recipe.name,
            documents=tuple(drafted),
            missing_item_ids=await asyncio.to_thread(self._missing, context, recipe, drafted),
            issues=tuple(issues),
        )

    async def _one(
        self,
        context: PrincipalContext,
        base_id: str,
        document: SourceDocument,
        reader: SourceReader,
        descriptions: SourceDescriptions | None,
    ) -> tuple[DraftedDocument, tuple[Issue, ...]]:
        try:
            found = await asyncio.to_thread(self._found, context, base_id, document)
            said = Described()
            if descriptions is not None and (found.takes_content or found.lacks_fields):
                said = await descriptions.of(document)
            done = await asyncio.to_thread(self._drafted, context, base_id, document, reader, found, said)
        except (CommandError, UnreadableDocumentError, ConflictError) as error:
            refused = DraftedDocument(
                name=document.name,
                source=document.source,
                action=DraftAction.REJECTED,
                error_code=error.code,
                message=error.message,
            )
            return refused, ()
        return done, said.issues

    def _found(self, context: PrincipalContext, base_id: str, document: SourceDocument) -> _Found:
        key = key_of(base_id, document)
        item = self._item(context, key)
        if item is None:
            return _Found(key, DraftAction.NEW_ITEM)
        if item.is_deleted:
            return _Found(key, DraftAction.DELETED_ITEM, item)
        newest = self._newest(context, item)
        is_draft = newest is not None and newest.status is RevisionState.DRAFT
        if newest is not None and newest.sha256 == document.sha256:
            return _Found(key, DraftAction.UNCHANGED, item, newest, lacks_fields=is_draft and not newest.source_type)
        if newest is not None and newest.status is RevisionState.REVIEWING:
            return _Found(key, DraftAction.UNDER_REVIEW, item, newest)
        return _Found(key, DraftAction.UPDATED_DRAFT if is_draft else DraftAction.NEW_DRAFT, item, newest)

    def _drafted(
        self,
        context: PrincipalContext,
        base_id: str,
        document: SourceDocument,
        reader: SourceReader,
        found: _Found,
        said: Described,
    ) -> DraftedDocument:
        action, item, revision = found.action, found.item, found.newest
        fields, message = self._allowed(context, base_id, said.fields_over(revision))
        if found.takes_content:
            content = reader.read_document(document)
            item = item or self._items.create(
                context, base_id=base_id, knowledge_key=found.key, title=_title(document), reason=REASON
            )
            if action is DraftAction.NEW_DRAFT and revision is not None:
                # What was reviewed goes on; killed in between, the next build finds the copy as a draft.
                revision = self._drafts.copy(context, revision.id, reason=REASON)
            revision = self._take(context, item, revision, document, content, fields)
        elif revision is not None and fields is not None:
            action = DraftAction.UPDATED_DRAFT
            revision = self._drafts.edit(context, revision.id, fields, version=revision.version, reason=REASON)
        return DraftedDocument(
            name=document.name,
            source=document.source,
            action=action,
            item_id=item.id if item else None,
            revision_id=revision.id if revision else None,
            message=message,
        )

    def _allowed(
        self, context: PrincipalContext, base_id: str, fields: DraftFields | None
    ) -> tuple[DraftFields | None, str]:
        """The fields, if a draft may have them; otherwise why the document goes without."""
        if fields is None:
            return None, ""
        try:
            self._drafts.check(context, base_id, fields)
        except InvalidInputError as error:
            return None, f"Drafted without what is said about it: {error}"
        return fields, ""

    def _take(
        self,
        context: PrincipalContext,
        item: Item,
        draft: Revision | None,
        document: SourceDocument,
        content: bytes,
        fields: DraftFields | None,
    ) -> Revision:
        return self._uploads.add_file(
            context,
            item.id,
            Upload(document.name.rpartition("/")[2], io.BytesIO(content), ""),
            draft_version=draft.version if draft else None,
            on_duplicate=OnDuplicate.REUSE_DRAFT if draft else OnDuplicate.NEW_REVISION,
            fields=fields,
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


def _reader_of(recipe: KnowledgeRecipe, opener: SourceOpener) -> SourceReader:
    opened = {}
    for spec in recipe.sources:
        location = recipe.location_of(spec)
        opened[spec.source_name] = OpenedSource(spec.as_source(location), *opener.open_source(location))
    return SourceReader(opened, recipe.max_document_bytes)


def key_of(base_id: str, document: SourceDocument) -> str:
    """The stable key of a document's item: base, source and path; the document's id where that is too long."""
    key = f"{base_id}/{document.source}/{document.name}"
    return key if len(key) <= MAX_KEY_CHARS else f"{base_id}/{document.document_id}"


def _title(document: SourceDocument) -> str:
    return document.name[-MAX_TITLE_CHARS:]
