"""How much of real documents an engine keeps, and in what time: words against the files' own XML, headings counted.

Usage: `python benchmarks/bench_parsers.py ENGINE FOLDER`, with ENGINE one of builtin, markitdown, kreuzberg and docling
(docling-slim's backends, which read no PDF without models), each in an environment that has it.
"""

from __future__ import annotations

import html
import re
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

WORD = re.compile(r"\w+")
OFFICE_TEXTS = {
    ".docx": (r"word/(document|footnotes|endnotes)\.xml", r"</w:p>|<w:br/>|<w:tab/>", r"<w:t(?: [^>]*)?>([^<]*)</w:t>"),
    ".pptx": (r"ppt/(slides|notesSlides)/[^/]+\.xml", r"</a:p>|<a:br/>", r"<a:t>([^<]*)</a:t>"),
}
SUFFIXES = (".docx", ".pptx", ".xlsx", ".html", ".md", ".csv", ".pdf")


def builtin() -> Callable[[Path], str]:
    # Imported by name, like the others: the other engines' environments do not have Lorebase.
    registry = import_module("lorebase.documents.parsing").ParserRegistry(
        [import_module("lorebase.adapters.parsers.builtin").BuiltinParser()]
    )
    source_document = import_module("lorebase.documents.model").SourceDocument

    def read(path: Path) -> str:
        content = path.read_bytes()
        source = source_document("d", path.name, "s", str(path), "x", len(content))
        parsed = registry.parse_document(source, content)
        signs = {"heading": "# ", "table": "|"}
        return "\n".join(signs.get(block.kind, "") + parsed.text[block.start : block.end] for block in parsed.blocks)

    return read


def markitdown() -> Callable[[Path], str]:
    converter = import_module("markitdown").MarkItDown()
    return lambda path: str(converter.convert(str(path)).text_content)


def kreuzberg() -> Callable[[Path], str]:
    module = import_module("kreuzberg")
    config = module.ExtractionConfig(output_format="markdown")
    return lambda path: str(module.extract_file_sync(str(path), config=config).content)


def docling() -> Callable[[Path], str]:
    backends = {
        ".docx": ("DOCX", "msword_backend", "MsWordDocumentBackend"),
        ".pptx": ("PPTX", "mspowerpoint_backend", "MsPowerpointDocumentBackend"),
        ".xlsx": ("XLSX", "msexcel_backend", "MsExcelDocumentBackend"),
        ".html": ("HTML", "html_backend", "HTMLDocumentBackend"),
        ".csv": ("CSV", "csv_backend", "CsvDocumentBackend"),
    }
    input_document = import_module("docling.datamodel.document").InputDocument
    formats = import_module("docling.datamodel.base_models").InputFormat

    def read(path: Path) -> str:
        name, module, backend = backends[path.suffix]
        document = input_document(
            path_or_stream=path,
            format=formats[name],
            backend=getattr(import_module(f"docling.backend.{module}"), backend),
            filename=path.name,
        )
        return str(document._backend.convert().export_to_markdown())  # noqa: SLF001 (the converter cannot be imported without torch)

    return read


class VisibleText(HTMLParser):
    """What stands outside of scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 (the base's signature)
        """Count what hides its text."""
        self._hidden += tag in ("script", "style", "title")

    def handle_endtag(self, tag: str) -> None:
        """And count it back."""
        self._hidden -= tag in ("script", "style", "title")

    def handle_data(self, data: str) -> None:
        """Keep what is seen."""
        self.pieces.append("" if self._hidden else data)


def decoded(path: Path) -> str:
    """Text of a file in one of the encodings that the folder is known to hold."""
    content = path.read_bytes()
    for encoding in ("utf-8", "cp1252", "cp932"):
        with suppress(UnicodeDecodeError):
            return content.decode(encoding)
    return ""


def expected_text(path: Path) -> str:
    """The words that a document holds, by means that share nothing with the engines; empty where there are none."""
    if path.suffix in OFFICE_TEXTS:
        member, paragraph_end, run = OFFICE_TEXTS[path.suffix]
        with zipfile.ZipFile(path) as archive:
            parts = [archive.read(name).decode() for name in archive.namelist() if re.fullmatch(member, name)]
        pieces = ("".join(re.findall(run, piece)) for part in parts for piece in re.split(paragraph_end, part))
        return html.unescape("\n".join(pieces))
    if path.suffix == ".html":
        page = VisibleText()
        page.feed(decoded(path))
        return "".join(page.pieces)
    return decoded(path) if path.suffix in (".md", ".csv") else ""


def main(engine: str, folder: str) -> None:
    started = time.perf_counter()
    read = {"builtin": builtin, "markitdown": markitdown, "kreuzberg": kreuzberg, "docling": docling}[engine]()
    print(f"{engine}: imported in {time.perf_counter() - started:.2f} s")
    total = 0.0
    for path in sorted(path for path in Path(folder).rglob("*") if path.suffix in SUFFIXES):
        started = time.perf_counter()
        try:
            text = read(path)
        except Exception as error:  # noqa: BLE001 (each engine fails in its own way, and that is the result)
            print(f"{path.name[:34]:34} {type(error).__name__}")
            continue
        seconds = time.perf_counter() - started
        total += seconds
        expected = Counter(WORD.findall(expected_text(path)))
        lost = expected - Counter(WORD.findall(text))
        kept = f"{100 - 100 * lost.total() / expected.total():5.1f} %" if expected else "      -"
        lines = text.split("\n")
        headings = sum(1 for line in lines if re.match(r"#+ ", line))
        print(f"{path.name[:34]:34} {seconds:6.2f} s  words kept {kept}  headings {headings:4}  lost {list(lost)[:5]}")
    print(f"{engine}: {total:.2f} s in all")


if __name__ == "__main__":
    main(*sys.argv[1:3])
