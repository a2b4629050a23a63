"""The entries of one document, whatever its form, and what of it could not be read as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from lorebase.documents.encoding import decode_text
from lorebase.documents.model import ParsedDocument, SourceDocument
from lorebase.errors import UnreadableDocumentError
from lorebase.faq.markdown import read_markdown
from lorebase.faq.model import MAX_ANSWER_CHARS, MAX_QUESTION_CHARS, MAX_VARIANTS, FaqEntry, entry_id_of
from lorebase.faq.questions import normal_question
from lorebase.faq.tables import FoundRow, read_csv, read_lines, read_records

_CSV = frozenset({"text/csv", "text/tab-separated-values"})
_RECORDS = frozenset({"application/json", "application/jsonl"})
_WORKBOOKS = frozenset(
    {"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "application/vnd.ms-excel"}
)
_MARKDOWN = "text/markdown"
TABLE_TYPES = _CSV | _RECORDS | _WORKBOOKS
"""Types that hold nothing but rows."""


@dataclass(frozen=True, slots=True)
class FaqFault:
    """A row that gives no entry, or not the whole of one.

    Attributes:
        code: Why.
        place: Which row.
        message: One sentence.
    """

    code: str
    place: str
    message: str


@dataclass
class CollectedFaq:
    """What a document gave.

    Attributes:
        entries: Its entries, disabled ones too.
        faults: What could not be read.
        is_faq: Whether it is a table of questions and answers, or asks anything.
    """

    entries: list[FaqEntry] = field(default_factory=list)
    faults: list[FaqFault] = field(default_factory=list)
    is_faq: bool = False


def collect_entries(
    source: SourceDocument, parsed: ParsedDocument, read: Callable[[], bytes], columns: Mapping[str, str]
) -> CollectedFaq:
    """The entries of a document.

    Args:
        source: The document.
        parsed: Its text.
        read: Gives its bytes: tables of text and records are read from those, so that nothing of a cell is lost.
        columns: Names of columns by role, where they are unusual.

    Raises:
        ConflictError: The document has changed since it was scanned.
    """
    collected = CollectedFaq()
    if parsed.media_type in _CSV | _RECORDS:
        try:
            text = decode_text(read(), name=source.name).text
        except UnreadableDocumentError:  # the parser has said so
            return collected
        rows = read_csv(text, columns) if parsed.media_type in _CSV else read_records(text, columns)
        collected.is_faq = rows is not None
        for row in rows or ():
            _add(collected, source, row, _Place(row=row.row, line=row.line))
    elif parsed.media_type in _WORKBOOKS:
        for row, place in _sheet_rows(parsed, columns, collected):
            _add(collected, source, row, place)
    elif parsed.media_type == _MARKDOWN:
        for one in read_markdown(parsed, columns):
            collected.is_faq = True
            number = one.found.row if one.is_row else None
            place = _Place(row=number, heading_path=one.heading_path, start=one.start, end=one.end)
            _add(collected, source, one.found, place)
    return collected


@dataclass(frozen=True, slots=True)
class _Place:
    row: int | None = None
    line: int | None = None
    sheet: str = ""
    page: int | None = None
    heading_path: tuple[str, ...] = ()
    start: int = 0
    end: int = 0


def _sheet_rows(
    parsed: ParsedDocument, columns: Mapping[str, str], collected: CollectedFaq
) -> Iterator[tuple[FoundRow, _Place]]:
    for block in parsed.blocks:
        rows = read_lines(parsed.text[block.start : block.end], columns) if block.kind == "table" else None
        if rows is None:
            continue
        collected.is_faq = True
        for row in rows:
            yield (
                row,
                _Place(row=row.row, sheet=block.page_label, page=block.page, start=block.start, end=block.end),
            )


def _add(collected: CollectedFaq, source: SourceDocument, row: FoundRow, place: _Place) -> None:
    """Add an entry, or say why there is none; an entry that is disabled is kept, and says so."""
    values = row.values
    question = values.question if values else ""
    variants = values.variants[:MAX_VARIANTS] if values else ()
    answer = values.answer if values else ""
    entry = FaqEntry(
        entry_id_of(source.document_id, question, variants, answer),
        source.document_id,
        source.sha256,
        source.name,
        source.source,
        question,
        variants,
        answer,
        enabled=values.enabled if values else False,
        row=place.row,
        line=place.line,
        sheet=place.sheet,
        page=place.page,
        heading_path=place.heading_path,
        start=place.start,
        end=place.end,
    )
    fault = _fault(entry, row)
    if fault is not None:
        collected.faults.append(fault)
        return
    if values is not None and values.unclear:
        message = f"{entry.place} says {values.unclear!r} of whether it is enabled; it counts as disabled."
        collected.faults.append(FaqFault("FAQ_SWITCH_UNCLEAR", entry.place, message))
    collected.entries.append(entry)


def _fault(entry: FaqEntry, row: FoundRow) -> FaqFault | None:
    place = entry.place
    if row.values is None:
        return FaqFault("FAQ_ROW_UNREADABLE", place, f"{place} is no entry: {row.fault}.")
    if not normal_question(entry.question):
        return FaqFault("FAQ_QUESTION_MISSING", place, f"{place} has no question.")
    if not entry.answer:
        return FaqFault("FAQ_ANSWER_MISSING", place, f"{place} has no answer to {entry.question[:80]!r}.")
    if len(entry.question) > MAX_QUESTION_CHARS or len(entry.answer) > MAX_ANSWER_CHARS:
        message = (
            f"{place} is too long: {len(entry.question)} characters asked and {len(entry.answer)} answered, where "
            f"{MAX_QUESTION_CHARS} and {MAX_ANSWER_CHARS} are the most."
        )
        return FaqFault("FAQ_ENTRY_TOO_LONG", place, message)
    return None
