"""Identities: slugs for knowledge bases, sortable ids for runs, content-derived ids for documents and chunks."""

from __future__ import annotations

import re
from datetime import datetime
from random import Random

from lorebase.fingerprint import fingerprint

SLUG_PATTERN = re.compile(r"^[a-z0-9][a-z0-9-]{0,62}$")
RUN_ID_PATTERN = re.compile(r"^[0-9]{8}t[0-9]{9}-[0-9a-f]{8}$")


def is_slug(name: str) -> bool:
    """Whether `name` may name a knowledge base: 1 to 63 of a-z, 0-9 and hyphen, not beginning with a hyphen."""
    return SLUG_PATTERN.fullmatch(name) is not None


def new_run_id(now: datetime, random: Random) -> str:
    """An id for a run that sorts by its start: `20261130t104512345-1a2b3c4d` (UTC, milliseconds, 32 random bits)."""
    return f"{now:%Y%m%dt%H%M%S}{now.microsecond // 1000:03d}-{random.getrandbits(32):08x}"


def document_id_of(source_name: str, name: str) -> str:
    """Id of a document: where it stands in its source, never what it holds and never on which machine.

    Args:
        source_name: The source's name in the recipe.
        name: The document's path in the source, with forward slashes, NFC.
    """
    return f"doc-{fingerprint('document', source_name, name)}"


def chunk_id_of(document_id: str, revision_id: str, position: int, indexed_text: str) -> str:
    """Id of a chunk: document, revision of the document, position in it, and text with what is indexed before it."""
    return f"chk-{fingerprint('chunk', document_id, revision_id, position, indexed_text)}"
