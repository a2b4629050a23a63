"""Small documents made for tests."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from lorebase.documents.model import SourceDocument

PdfLine = tuple[int, int, str]


def source_document(name: str, content: bytes) -> SourceDocument:
    """A scanned document of this name and content."""
    return SourceDocument("doc-1", name, "files", f"file:///{name}", hashlib.sha256(content).hexdigest(), len(content))


def pdf_of(pages: Sequence[Sequence[PdfLine]]) -> bytes:
    """A PDF of text pages: lines as (size in points, height above the foot, ASCII text)."""
    kids = " ".join(f"{4 + 2 * index} 0 R" for index in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for index, lines in enumerate(pages):
        stream = "\n".join(f"BT /F1 {size} Tf 72 {height} Td ({text}) Tj ET" for size, height, text in lines)
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {5 + 2 * index} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("ascii")
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    return out + (
        f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\n"
        f"startxref\n{len(out)}\n%%EOF\n"
    ).encode("ascii")
