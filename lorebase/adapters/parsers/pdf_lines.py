"""The lines of a PDF as pdfium sees them: text, size and weight of the type, place on the page."""

from __future__ import annotations

import ctypes
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pypdfium2  # type: ignore[import-untyped]  # ships no types
from pypdfium2 import raw

from lorebase.documents.unreadable import unreadable

# pdfium must not be entered by two threads at once (its documentation says so of the whole library).
_PDFIUM = threading.Lock()
_LINE_ENDS = (10, 13)
_SPACE = 32
_BASIC_PLANE_END = 0x10000
_UNMAPPED = re.compile("[\ufffd\ue000-\uf8ff]")
_MAY_COPY = 1 << 4  # ISO 32000-1, table 22, bit 5
_SAMPLES_PER_LINE = 12
_BOLD = re.compile(rb"bold|black|heavy|semibold|demi", re.IGNORECASE)
_BOLD_WEIGHT = 600


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a page; lengths in points, upwards and to the right.

    Attributes:
        text: What it says; cut words end with a soft hyphen.
        size: Size of its type, the commonest of the line.
        is_bold: Whether all of it is bold.
        left: Left edge.
        right: Right edge.
        top: Upper edge.
        bottom: Lower edge.
        page: From 1.
    """

    text: str
    size: float
    is_bold: bool
    left: float
    right: float
    top: float
    bottom: float
    page: int


def lines_of(content: bytes, *, name: str, warn: Callable[[str, str], None]) -> list[Line]:
    """The lines of all pages, in the order in which the file draws them.

    Args:
        content: The file.
        name: The document, for messages.
        warn: Told of pages that cannot be read and of a wish not to be copied, as (code, message).

    Raises:
        UnreadableDocumentError: ENCRYPTED or CORRUPT.
    """
    with _PDFIUM:
        try:
            document = pypdfium2.PdfDocument(content)
        except pypdfium2.PdfiumError as error:
            is_locked = getattr(error, "err_code", None) == raw.FPDF_ERR_PASSWORD or "password" in str(error).lower()
            raise unreadable(name, "ENCRYPTED" if is_locked else "CORRUPT", "pdfium cannot open it") from error
        with document:
            if not raw.FPDF_GetDocPermissions(document) & _MAY_COPY:
                warn("COPYING_NOT_PERMITTED", "The document's settings ask readers not to copy text out of it.")
            return list(_lines(document, warn))


def _lines(document: pypdfium2.PdfDocument, warn: Callable[[str, str], None]) -> Iterator[Line]:
    blank_pages: list[int] = []
    for number in range(1, len(document) + 1):
        try:
            lines = list(_lines_of_page(document, number))
        except pypdfium2.PdfiumError as error:
            warn("PAGE_FAILED", f"Page {number} cannot be read: {error}.")
            continue
        if not lines:
            blank_pages.append(number)
        yield from lines
    if blank_pages:
        shown = ", ".join(map(str, blank_pages[:20]))
        warn("PAGES_WITHOUT_TEXT", f"{len(blank_pages)} page(s) have no text, perhaps pictures of it: {shown}.")


def _lines_of_page(document: pypdfium2.PdfDocument, number: int) -> Iterator[Line]:
    page = document[number - 1]
    text_page = page.get_textpage()
    try:
        first = 0
        codes: list[int] = []
        for index in range(raw.FPDFText_CountChars(text_page)):
            code = raw.FPDFText_GetUnicode(text_page, index)
            if code not in _LINE_ENDS:
                codes.append(code)
                continue
            if line := _line(text_page, first, codes, number):
                yield line
            first, codes = index + 1, []
        if line := _line(text_page, first, codes, number):
            yield line
    finally:
        text_page.close()
        page.close()


def _line(text_page: pypdfium2.PdfTextPage, first: int, codes: list[int], page: int) -> Line | None:
    text = _text_of(codes)
    visible = [offset for offset, code in enumerate(codes) if code > _SPACE]
    if not text.strip() or not visible:
        return None
    sampled = sorted({*visible[:: max(1, len(visible) // _SAMPLES_PER_LINE)], visible[-1]})
    boxes = [_box(text_page, first + offset) for offset in sampled]
    sizes = Counter(round(raw.FPDFText_GetFontSize(text_page, first + offset), 1) for offset in sampled)
    return Line(
        text=text,
        size=sizes.most_common(1)[0][0],
        is_bold=all(_is_bold(text_page, first + offset) for offset in sampled[:: max(1, len(sampled) // 3)]),
        left=min(box.left for box in boxes),
        right=max(box.right for box in boxes),
        top=max(box.top for box in boxes),
        bottom=min(box.bottom for box in boxes),
        page=page,
    )


def _text_of(codes: list[int]) -> str:
    # pdfium gives UTF-16 code units on some platforms: pairs are put together, halves are dropped.
    units = (code.to_bytes(2, "little") if code < _BASIC_PLANE_END else chr(code).encode("utf-16-le") for code in codes)
    text = b"".join(units).decode("utf-16-le", "ignore")
    # pdfium marks a hyphen that cuts a word at the end of a line with U+0002 or U+FFFE.
    return _UNMAPPED.sub("", text.replace("\x02", "\u00ad").replace("\ufffe", "\u00ad"))


def _box(text_page: pypdfium2.PdfTextPage, index: int) -> raw.FS_RECTF:
    box = raw.FS_RECTF()
    raw.FPDFText_GetLooseCharBox(text_page, index, ctypes.byref(box))
    return box


def _is_bold(text_page: pypdfium2.PdfTextPage, index: int) -> bool:
    if raw.FPDFText_GetFontWeight(text_page, index) >= _BOLD_WEIGHT:
        return True
    buffer = ctypes.create_string_buffer(128)
    flags = ctypes.c_int()
    raw.FPDFText_GetFontInfo(text_page, index, buffer, len(buffer), ctypes.byref(flags))
    return _BOLD.search(buffer.value) is not None
