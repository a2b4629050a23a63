"""The organisation's dictionary of tags, and what may stand on a revision."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from lorebase.errors import InvalidInputError, KeyTakenError
from lorebase.governance.context import Capability, PrincipalContext
from lorebase.governance.model import Page, Tag
from lorebase.governance.store import MAX_PAGE_SIZE, Store, checked_text, live, not_found, page_of
from lorebase.governance.tables import tags

MAX_TAGS = 20
MAX_TAG_CHARS = 64


class Tags:
    """Commands on the dictionary. Renaming or deleting a tag alters no revision: those carry what was reviewed."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, context: PrincipalContext, name: str, *, description: str = "", reason: str = "") -> Tag:
        """A new tag.

        Raises:
            KeyTakenError: There is one of this name.
        """
        context.require(Capability.EDIT)
        values = {"name": checked_tag(name), "description": checked_text("description", description, 255)}
        store = self._store
        try:
            with store.database.transaction() as connection:
                tag_id = store.insert(connection, tags, context, values)
                store.record(connection, context, "ADD_TAG", reason=reason, facts_json={"tag_id": str(tag_id)})
                return self._get(connection, context, tag_id)
        except IntegrityError as error:
            raise _taken(values["name"]) from error

    def rename(self, context: PrincipalContext, tag_id: int, name: str, *, version: int, reason: str = "") -> Tag:
        """Another name for a tag.

        Raises:
            KeyTakenError: There is one of this name.
            VersionConflictError: Somebody changed the tag.
        """
        context.require(Capability.EDIT)
        new = checked_tag(name)
        store = self._store
        try:
            with store.database.transaction() as connection:
                old = self._get(connection, context, tag_id)
                store.update(connection, tags, old.id, version, {"name": new})
                facts = {"tag_id": str(old.id), "before": old.name, "after": new}
                store.record(connection, context, "RENAME_TAG", reason=reason, facts_json=facts)
                return self._get(connection, context, tag_id)
        except IntegrityError as error:
            raise _taken(new) from error

    def delete(self, context: PrincipalContext, tag_id: int, *, version: int, reason: str = "") -> None:
        """Take a tag out of the dictionary; its name becomes free.

        Raises:
            VersionConflictError: Somebody changed the tag.
        """
        context.require(Capability.EDIT)
        store = self._store
        with store.database.transaction() as connection:
            tag = self._get(connection, context, tag_id)
            store.update(connection, tags, tag.id, version, {"delete_flag": 1})
            store.record(connection, context, "DELETE_TAG", reason=reason, facts_json={"tag_id": str(tag.id)})

    def list(self, context: PrincipalContext, *, page_number: int = 1, page_size: int = MAX_PAGE_SIZE) -> Page[Tag]:
        """The dictionary, by name."""
        context.require(Capability.READ)
        query = select(tags).where(live(tags, context)).order_by(tags.c.name)
        with self._store.database.reading() as connection:
            return page_of(connection, Tag, query, page_number, page_size)

    def _get(self, connection: Connection, context: PrincipalContext, tag_id: int) -> Tag:
        row = connection.execute(select(tags).where(live(tags, context), tags.c.id == tag_id)).one_or_none()
        if row is None:
            raise not_found("tag", tag_id)
        return Tag.from_row(row)


def checked_tag(name: str) -> str:
    """A tag as it is stored: NFC, trimmed, 1 to 64 characters.

    Raises:
        InvalidInputError: It is blank or too long.
    """
    return checked_text("tag", unicodedata.normalize("NFC", name), MAX_TAG_CHARS, min_chars=1)


def checked_tags(names: Iterable[str]) -> list[str]:
    """The tags of a revision in their order, each once.

    Raises:
        InvalidInputError: More than 20, or one is blank or too long.
    """
    found = list(dict.fromkeys(checked_tag(name) for name in names))
    if len(found) > MAX_TAGS:
        raise InvalidInputError(f"There are {len(found)} tags.", remedy=f"Use at most {MAX_TAGS}.", field="tags")
    return found


def require_known(connection: Connection, context: PrincipalContext, names: Iterable[str]) -> None:
    """Go on only with tags of the dictionary.

    Raises:
        InvalidInputError: Names those that are not in it.
    """
    wanted = list(names)
    query = select(tags.c.name).where(live(tags, context), tags.c.name.in_(wanted))
    known = set(connection.execute(query).scalars())
    if unknown := [name for name in wanted if name not in known]:
        raise InvalidInputError(
            f"The dictionary of tags lacks {', '.join(map(repr, unknown))}.",
            remedy="Add them to the dictionary first, or choose among its tags.",
            field="tags",
        )


def _taken(name: str) -> KeyTakenError:
    return KeyTakenError(f"There is a tag {name!r} already.", remedy="Use that tag, or another name.")
