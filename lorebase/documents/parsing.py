"""From bytes to a parsed document: the parser port, and the registry that picks an engine by file type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from lorebase.documents.file_types import MEDIA_TYPES, FileType, decide_file_type
from lorebase.documents.model import ParsedDocument, SourceDocument
from lorebase.documents.unreadable import too_large, unreadable
from lorebase.errors import InvalidRecipeError

DEFAULT_ENGINE = "builtin"
_MEDIA_TYPES_BY_NAME: Mapping[str, str] = {str(name): media_type for name, media_type in MEDIA_TYPES.items()}

DEFAULT_MAX_BYTES = 256 * 1024 * 1024


class Parser(Protocol):
    """An engine that reads documents of some types. Safe to call from several threads."""

    @property
    def name(self) -> str:
        """The engine's name in rules."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever the same bytes may give another text; part of what is fingerprinted."""
        ...

    @property
    def media_types(self) -> frozenset[str]:
        """What it reads."""
        ...

    def parse(
        self, content: bytes, *, name: str, media_type: str, document_id: str, revision_id: str
    ) -> ParsedDocument:
        """Text and structure of a document.

        Args:
            content: Its bytes, not empty.
            name: Its name, for messages.
            media_type: Its decided type, one of `media_types`.
            document_id: Its identity.
            revision_id: The revision of `content`.

        Returns:
            The document. Parts that failed (a page) are named in its warnings.

        Raises:
            UnreadableDocumentError: It yields no text, with the reason.
            DependencyError: An engine behind a network did not do its part.
        """
        ...

    def close(self) -> None:
        """Give connections back."""
        ...


@dataclass(frozen=True, slots=True)
class ParserRule:
    """Documents of these types are parsed by this engine.

    Attributes:
        file_types: Names of file types, such as "pdf" or "docx".
        engine: Name of a registered engine.
    """

    file_types: tuple[str, ...]
    engine: str


class ParserRegistry:
    """Engines by name and the rules that pick one; the first rule that matches wins, without a match `builtin`."""

    def __init__(self, engines: Iterable[Parser], rules: Sequence[ParserRule] = ()) -> None:
        self._engines: Mapping[str, Parser] = {engine.name: engine for engine in engines}
        self._rules = tuple(rules)
        if faults := [fault for rule in self._rules for fault in self._faults_of(rule)]:
            raise InvalidRecipeError(
                f"The parser rules have {len(faults)} fault(s): {'; '.join(faults)}.", faults=faults
            )

    def close(self) -> None:
        """Close every engine."""
        for engine in self._engines.values():
            engine.close()

    def engine_for(self, file_type: FileType) -> Parser:
        """The engine that reads documents of this type."""
        chosen = next((rule.engine for rule in self._rules if file_type in rule.file_types), DEFAULT_ENGINE)
        return self._engines[chosen]

    @property
    def versions(self) -> dict[str, str]:
        """Version of every engine, by name."""
        return {name: engine.version for name, engine in sorted(self._engines.items())}

    def parse_document(
        self,
        source: SourceDocument,
        content: bytes,
        *,
        revision_id: str = "",
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> ParsedDocument:
        """Decide the type of a document and have the engine for it read it.

        Args:
            source: The document as it was scanned.
            content: Its bytes.
            revision_id: Revision of the content; by default its digest.
            max_bytes: Longest content that is parsed.

        Returns:
            A document whose text is not blank.

        Raises:
            UnreadableDocumentError: `facts["reason"]` says why it has no text.
            DependencyError: The engine's service failed.
        """
        if len(content) > max_bytes:
            raise too_large(source.name, len(content), max_bytes)
        file_type = decide_file_type(source.name, content)
        parsed = self.engine_for(file_type).parse(
            content,
            name=source.name,
            media_type=MEDIA_TYPES[file_type],
            document_id=source.document_id,
            revision_id=revision_id or source.sha256,
        )
        if not parsed.text.strip():
            raise unreadable(source.name, "NO_TEXT")
        return parsed

    def _faults_of(self, rule: ParserRule) -> Iterable[str]:
        engine = self._engines.get(rule.engine)
        if engine is None:
            yield f"engine {rule.engine!r} is unknown, known are {', '.join(sorted(self._engines))}"
        for name in rule.file_types:
            media_type = _MEDIA_TYPES_BY_NAME.get(name)
            if media_type is None:
                yield f"file type {name!r} is unknown, known are {', '.join(MEDIA_TYPES)}"
            elif engine is not None and media_type not in engine.media_types:
                yield f"engine {rule.engine!r} does not read {name!r}"
