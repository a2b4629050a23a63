"""The last question after a document was forgotten: does anything of it remain?"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from lorebase.artifacts.erasure import DOCUMENT_COLUMN, TEXT_COLUMN, names_document, read_table, text_digest
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.errors import NotFoundError


def find_traces(store: ObjectStore, layout: BaseLayout, document_id: str, text_digests: frozenset[str]) -> list[str]:
    """Keys of everything of a base that still names a document or holds one of its texts. Blocking.

    A text that a row of another document holds is that document's own. The record of the forgetting itself, which
    names the id, is not searched.

    Args:
        store: The object store.
        layout: The base.
        document_id: The document.
        text_digests: SHA-256 of each of its texts.
    """
    passed_over = {layout.forgotten_document(document_id), layout.lease}
    found = []
    for key in (*store.list(layout.prefix), *store.list(layout.prefect_results)):
        if key in passed_over:
            continue
        try:
            content = store.get(key)
        except NotFoundError:
            continue
        if document_id in key or _holds(content, key, document_id, text_digests):
            found.append(key)
    return found


def _holds(content: bytes, key: str, document_id: str, text_digests: frozenset[str]) -> bool:
    if document_id.encode() in content:
        return True
    if key.endswith(".parquet"):
        return _table_holds(content, key, document_id, text_digests)
    if key.endswith(".json"):
        return any(text_digest(text) in text_digests for text in _texts_of(_parsed(content)))
    return False


def _parsed(content: bytes) -> object:
    try:
        return json.loads(content)
    except ValueError:  # no JSON after all: its bytes were searched for the id
        return None


def _table_holds(content: bytes, key: str, document_id: str, text_digests: frozenset[str]) -> bool:
    table = read_table(content, key)
    owned = DOCUMENT_COLUMN in table.schema.names
    if names_document(table, document_id):
        return True
    if owned or TEXT_COLUMN not in table.schema.names:
        return False
    return any(text and text_digest(text) in text_digests for text in table[TEXT_COLUMN].to_pylist())


def _texts_of(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts_of_all(value.values())
    elif isinstance(value, list):
        yield from _texts_of_all(value)


def _texts_of_all(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        yield from _texts_of(value)
