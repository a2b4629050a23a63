"""An entry of a FAQ: a question, other wordings of it, its answer, and where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lorebase.artifacts.kinds import ArtifactKind
from lorebase.fingerprint import fingerprint

MAX_QUESTION_CHARS = 1_000
MAX_ANSWER_CHARS = 20_000
MAX_VARIANTS = 50


@dataclass(frozen=True, slots=True)
class FaqEntry:
    """A question with its answer.

    Attributes:
        entry_id: Digest of document, question, variants and answer.
        document_id: The document it stands in.
        revision_id: The revision of that document.
        document_name: Its path in its source.
        source: Its source.
        question: As it is written.
        variants: Other wordings of the question.
        answer: As it is written.
        enabled: Whether searches may give it.
        row: Row of its table without the header, or number of its record, from 1; None in running text.
        line: Line of the file that it begins on, from 1; None where the file has no lines.
        sheet: Sheet of a workbook.
        page: Number of that sheet, from 1.
        heading_path: Headings above it in running text.
        start: Where it begins in the parsed text, where it was read from that; otherwise 0.
        end: Likewise, one past its end.
    """

    entry_id: str
    document_id: str
    revision_id: str
    document_name: str
    source: str
    question: str
    variants: tuple[str, ...]
    answer: str
    enabled: bool = True
    row: int | None = None
    line: int | None = None
    sheet: str = ""
    page: int | None = None
    heading_path: tuple[str, ...] = ()
    start: int = 0
    end: int = 0

    @property
    def phrasings(self) -> tuple[str, ...]:
        """The question and its variants, each once."""
        return tuple(dict.fromkeys((self.question, *self.variants)))

    @property
    def place(self) -> str:
        """Where it stands, for people."""
        parts = [self.document_name]
        if self.sheet:
            parts.append(f"sheet {self.sheet}")
        if self.row is not None:
            parts.append(f"row {self.row}")
        elif self.heading_path:
            parts.append(" > ".join(self.heading_path))
        return ", ".join(parts)


def entry_id_of(document_id: str, question: str, variants: Sequence[str], answer: str) -> str:
    """Id of an entry: where it stands and what it says."""
    return f"faq-{fingerprint('faq-entry', document_id, question, list(variants), answer)[:16]}"


def phrasing_id_of(entry_id: str, phrasing: str) -> str:
    """Key in the index of one wording of an entry's question."""
    return f"{entry_id}-{fingerprint('faq-phrasing', phrasing)[:8]}"


_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("entry_id", "document_id", "revision_id", "document_name", "source")),
        ("question", pa.string()),
        ("variants", pa.list_(pa.string())),
        ("answer", pa.large_string()),
        ("enabled", pa.bool_()),
        ("row", pa.int64()),
        ("line", pa.int64()),
        ("sheet", pa.string()),
        ("page", pa.int32()),
        ("heading_path", pa.list_(pa.string())),
        ("start", pa.int64()),
        ("end", pa.int64()),
    ]
)


def _columns(rows: Sequence[FaqEntry]) -> list[Any]:
    return [[getattr(row, name) for row in rows] for name in _SCHEMA.names]


def _rows(table: pa.Table) -> list[FaqEntry]:
    return [
        FaqEntry(variants=tuple(row.pop("variants")), heading_path=tuple(row.pop("heading_path")), **row)
        for row in table.to_pylist()
    ]


FAQ_ENTRIES: ArtifactKind[FaqEntry] = ArtifactKind(
    name="faq_entries",
    schema=_SCHEMA,
    to_columns=_columns,
    to_rows=_rows,
    document_id=lambda row: row.document_id,
)
