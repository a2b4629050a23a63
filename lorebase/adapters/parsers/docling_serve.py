"""The engine `docling`: a docling-serve endpoint, which reads layout and scans with models."""

from __future__ import annotations

from dataclasses import dataclass

import httpx
from pydantic import ValidationError

from lorebase.adapters.parsers.docling_document import DoclingAnswer, add_docling_document
from lorebase.adapters.parsers.plain_text import read_plain_text
from lorebase.documents.building import DocumentBuilder
from lorebase.documents.file_types import MEDIA_TYPES, FileType
from lorebase.documents.model import ParsedDocument
from lorebase.documents.unreadable import unreadable
from lorebase.errors import ConfigurationError, MalformedAnswerError, RateLimitedError, RefusedError, UnavailableError

_DEPENDENCY = "docling"
_PATH = "/v1/convert/file"
_TYPES: tuple[FileType, ...] = ("pdf", "docx", "pptx", "xlsx", "html", "md", "csv")
_RETRY_LATER = (408, 425, 500, 502, 503, 504)
_TOO_MANY_REQUESTS = 429
_NOT_READABLE = (400, 413, 415, 422)
_MAX_SHOWN_CHARS = 300


@dataclass(frozen=True, slots=True)
class DoclingServeSettings:
    """Where docling-serve is.

    Attributes:
        base_url: For example "http://127.0.0.1:5001".
        api_key: Sent as X-Api-Key where it is not empty.
        timeout_seconds: Longest wait for one document; scans take seconds a page.
        do_ocr: Whether text in pictures is recognised.
        server_version: What the operator calls the version of server and models; part of the parser's version.
    """

    base_url: str
    api_key: str = ""
    timeout_seconds: float = 300.0
    do_ocr: bool = True
    server_version: str = "v1"

    def __repr__(self) -> str:
        """Without the key."""
        return f"DoclingServeSettings(base_url={self.base_url!r})"


class DoclingServeParser:
    """Sends documents to docling-serve, one request each, and maps its answer to blocks."""

    name = "docling"
    media_types = frozenset(MEDIA_TYPES[file_type] for file_type in _TYPES)

    def __init__(self, settings: DoclingServeSettings) -> None:
        if not settings.base_url.startswith(("http://", "https://")):
            raise ConfigurationError(
                f"The address of docling-serve, {settings.base_url!r}, is no http(s) url.",
                remedy='Give it as in "http://127.0.0.1:5001".',
            )
        self._settings = settings
        self._client = httpx.Client(
            base_url=settings.base_url.rstrip("/"),
            headers={"X-Api-Key": settings.api_key} if settings.api_key else {},
            timeout=httpx.Timeout(settings.timeout_seconds, connect=min(10.0, settings.timeout_seconds)),
        )

    @property
    def version(self) -> str:
        """Of the mapping, of the server as the operator names it, and of what is asked of it."""
        return f"1-{self._settings.server_version}-{'ocr' if self._settings.do_ocr else 'no-ocr'}"

    def parse(
        self, content: bytes, *, name: str, media_type: str, document_id: str, revision_id: str
    ) -> ParsedDocument:
        """As `lorebase.documents.parsing.Parser.parse`."""
        answer = self._convert(content, name, media_type)
        builder = DocumentBuilder()
        for error in answer.errors:
            builder.warn("PARTIAL_RESULT", f"docling-serve: {error.error_message[:_MAX_SHOWN_CHARS]}")
        if answer.document.json_content is not None:
            add_docling_document(answer.document.json_content, builder)
        elif answer.document.md_content:
            text, blocks = read_plain_text(answer.document.md_content)
            for block in blocks:
                builder.add_paragraph(text[block.start : block.end])
        return ParsedDocument(
            document_id=document_id,
            revision_id=revision_id,
            name=name,
            text=builder.text,
            blocks=builder.blocks,
            media_type=media_type,
            parser=f"{self.name}/{self.version}",
            warnings=builder.warnings,
        )

    def close(self) -> None:
        """Give the connections back. The parser is not used after it."""
        self._client.close()

    def _convert(self, content: bytes, name: str, media_type: str) -> DoclingAnswer:
        # The last part of the name is enough: docling tells the format by its extension.
        files = {"files": (name.rsplit("/", 1)[-1], content, media_type)}
        options = {
            "to_formats": ["json", "md"],
            "image_export_mode": "placeholder",
            "do_ocr": str(self._settings.do_ocr).lower(),
        }
        try:
            response = self._client.post(_PATH, files=files, data=options)
        except httpx.HTTPError as error:
            raise UnavailableError(
                f"docling-serve at {self._settings.base_url} did not answer for {name!r}: {type(error).__name__}.",
                remedy="Look whether it runs, and whether timeout_seconds allows for documents of this length.",
                dependency=_DEPENDENCY,
            ) from error
        self._check_status(response, name)
        return self._read(response, name)

    def _check_status(self, response: httpx.Response, name: str) -> None:
        status = response.status_code
        if response.is_success:
            return
        sentence = f"docling-serve answered {status} for {name!r}: {response.text[:_MAX_SHOWN_CHARS]}"
        if status == _TOO_MANY_REQUESTS:
            error = RateLimitedError(sentence, dependency=_DEPENDENCY)
            error.facts.update(_retry_after(response))
            raise error
        if status in _RETRY_LATER:
            raise UnavailableError(sentence, dependency=_DEPENDENCY, status=status)
        if status in _NOT_READABLE:
            raise unreadable(name, "CORRUPT", f"docling-serve answered {status}")
        raise RefusedError(
            sentence,
            remedy="Look at the address and the API key of docling-serve.",
            dependency=_DEPENDENCY,
            status=status,
        )

    def _read(self, response: httpx.Response, name: str) -> DoclingAnswer:
        try:
            answer = DoclingAnswer.model_validate_json(response.content)
        except ValidationError as error:
            raise MalformedAnswerError(
                f"docling-serve answered for {name!r} with something that is no conversion result.",
                remedy="Its API has to be v1.",
                dependency=_DEPENDENCY,
            ) from error
        if answer.status not in ("success", "partial_success"):
            reasons = "; ".join(error.error_message for error in answer.errors) or answer.status
            raise unreadable(name, "CORRUPT", f"docling-serve: {reasons[:_MAX_SHOWN_CHARS]}")
        return answer


def _retry_after(response: httpx.Response) -> dict[str, float]:
    value = response.headers.get("Retry-After", "")
    return {"retry_after_seconds": float(value)} if value.isdecimal() else {}
