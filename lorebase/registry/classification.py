"""Which source type a document has: by its signs first, by a model where one is given, the fallback last."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, Protocol, TypeAlias

from lorebase.registry.source_types import FALLBACK_SOURCE_TYPE_ID, SourceType

ENOUGH: Final = 2
"""Points that make a type certain enough: one sign in the name or a heading, or two different ones in the text."""
TEXT_CHARS: Final = 8000
"""How much of the text is looked at."""

Place: TypeAlias = Literal["name", "heading", "text"]
Way: TypeAlias = Literal["signals", "model", "fallback"]

_POINTS: Final[dict[Place, int]] = {"name": 3, "heading": 2, "text": 1}
"""What one signal is worth by where it stands. A signal counts once, at its best place."""

_SEPARATORS = re.compile(r"[\s_\-./\\]+")


@dataclass(frozen=True, slots=True)
class DocumentGlimpse:
    """What of a document is looked at.

    Attributes:
        name: File name or path.
        headings: Its headings in order.
        text: Its text; the beginning counts.
    """

    name: str
    headings: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Classification:
    """The source type of a document.

    Attributes:
        source_type_id: The type.
        way: How it was found.
        reason: One sentence for people.
        score: Points of the signs, 0 and above; for a model its confidence from 0 to 1; 0 for the fallback.
    """

    source_type_id: str
    way: Way
    reason: str
    score: float


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """What a model chose.

    Attributes:
        source_type_id: A type that it was offered; empty where none fits.
        confidence: 0 to 1.
        reason: Why, in its words.
    """

    source_type_id: str
    confidence: float = 0.0
    reason: str = ""


class SourceTypeClassifier(Protocol):
    """A model that tells source types apart."""

    async def choose(self, document: DocumentGlimpse, types: Sequence[SourceType]) -> ModelChoice:
        """The type of a document.

        Args:
            document: The document; its text is at most 8,000 characters.
            types: Types to choose from, without the fallback.

        Raises:
            DependencyError: The model did not answer. It is not caught here: a document is not put down as the
                fallback because a model was away.
        """
        ...


@dataclass(frozen=True, slots=True)
class _Sighting:
    source_type: SourceType
    points: int
    seen: tuple[tuple[str, Place], ...]


async def classify_document(
    document: DocumentGlimpse, types: Sequence[SourceType], classifier: SourceTypeClassifier | None = None
) -> Classification:
    """The source type of a document.

    Signs decide where one type has at least 2 points and more than every other. Otherwise the classifier is asked,
    where there is one; without it the first type with the most points is taken, if it has enough. What is left gets
    the fallback. Equal input gives an equal answer, as far as the classifier does.

    Args:
        document: The document.
        types: Source types of its base; disabled ones are passed over.
        classifier: A model.

    Raises:
        DependencyError: The classifier did not answer.
    """
    candidates = [known for known in types if known.enabled and not known.fallback]
    sightings = _sightings(document, candidates)
    best = sightings[0] if sightings and sightings[0].points >= ENOUGH else None
    is_alone = best is not None and (len(sightings) == 1 or sightings[1].points < best.points)
    if best is not None and (is_alone or classifier is None):
        return _by_signs(best)
    if classifier is not None and candidates:
        glimpse = DocumentGlimpse(document.name, document.headings, document.text[:TEXT_CHARS])
        choice = await classifier.choose(glimpse, candidates)
        if any(known.id == choice.source_type_id for known in candidates):
            confidence = min(1.0, max(0.0, choice.confidence))
            return Classification(choice.source_type_id, "model", choice.reason or "Chosen by the model.", confidence)
        if best is not None:
            return _by_signs(best)
    return _fallback(types)


def classify_by_signs(document: DocumentGlimpse, types: Sequence[SourceType]) -> Classification:
    """The source type of a document without a model; see `classify_document`."""
    sightings = _sightings(document, [known for known in types if known.enabled and not known.fallback])
    return _by_signs(sightings[0]) if sightings and sightings[0].points >= ENOUGH else _fallback(types)


def _sightings(document: DocumentGlimpse, candidates: Sequence[SourceType]) -> list[_Sighting]:
    """Candidates with points, most first, equal ones in their order.

    An exclude in the name or a heading rules a type out; one in the text takes away as much as two signals give.
    """
    places: dict[Place, str] = {
        "name": _plain(document.name),
        "heading": _plain(" \n ".join(document.headings)),
        "text": _plain(document.text[:TEXT_CHARS]),
    }
    found: list[_Sighting] = []
    for source_type in candidates:
        excluded = _seen(source_type.excludes, places)
        if any(place != "text" for _, place in excluded):
            continue
        seen = _seen(source_type.signals, places)
        points = sum(_POINTS[place] for _, place in seen) - 2 * len(excluded)
        if points > 0:
            found.append(_Sighting(source_type, points, seen))
    return sorted(found, key=lambda sighting: -sighting.points)


def _seen(signs: Sequence[str], places: dict[Place, str]) -> tuple[tuple[str, Place], ...]:
    """Signs that stand somewhere, each with its best place."""
    found: list[tuple[str, Place]] = []
    for sign in signs:
        pattern = _pattern(sign)
        place = next((place for place, text in places.items() if pattern is not None and pattern.search(text)), None)
        if place is not None:
            found.append((sign, place))
    return tuple(found)


@lru_cache(maxsize=4096)
def _pattern(sign: str) -> re.Pattern[str] | None:
    """What finds a sign: whole words where it begins or ends with a Latin letter or a digit, otherwise any place."""
    plain = _plain(sign).strip()
    if not plain:
        return None
    before = r"(?<![a-z0-9])" if re.match(r"[a-z0-9]", plain) else ""
    after = r"(?![a-z0-9])" if re.search(r"[a-z0-9]\Z", plain) else ""
    return re.compile(before + re.escape(plain) + after)


def _plain(text: str) -> str:
    """The text without case and width, words being one blank apart also where a file name has `_`, `-` or `.`."""
    return _SEPARATORS.sub(" ", unicodedata.normalize("NFKC", text).casefold())


def _by_signs(best: _Sighting) -> Classification:
    signs = ", ".join(f"{sign!r} in the {place}" for sign, place in best.seen)
    return Classification(best.source_type.id, "signals", f"Found {signs}.", float(best.points))


def _fallback(types: Sequence[SourceType]) -> Classification:
    fallback_id = next((known.id for known in types if known.fallback), FALLBACK_SOURCE_TYPE_ID)
    return Classification(fallback_id, "fallback", "No other source type has enough signs.", 0.0)
