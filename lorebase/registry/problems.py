"""What is wrong with a type that somebody wants to store: the rules as tables, and the first one that is broken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from lorebase.registry.card_lines import FIELD_KEY_PATTERN, field_of, section_of
from lorebase.registry.card_types import CARD_TYPE_ID_PATTERN, CardType
from lorebase.registry.declared_fields import MAX_FIELDS
from lorebase.registry.source_types import SOURCE_TYPE_ID_PATTERN, SourceType

LABEL_CHARS: Final = 40
DESCRIPTION_CHARS: Final = (10, 500)
SIGNALS: Final = 20
SIGNAL_CHARS: Final = 100
SECTIONS: Final = 20
TITLE_CHARS: Final = 100


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a change is refused. The same call would be refused again: its input has to change.

    Attributes:
        code: Stable UPPER_SNAKE identity.
        message: One sentence that names the type and the value.
        suggestion: What would be accepted.
    """

    code: str
    message: str
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class TextRule:
    """How long a text of a type may be.

    Attributes:
        name: Attribute of the type.
        fewest: Fewest characters.
        most: Most characters.
        code: What too short a text is called.
    """

    name: str
    fewest: int
    most: int
    code: str


@dataclass(frozen=True, slots=True)
class ListRule:
    """How many words a list of a type may have.

    Attributes:
        name: Attribute of the type.
        code: What an empty list is called.
    """

    name: str
    code: str


TEXT_RULES: Final = (
    TextRule("label", 1, LABEL_CHARS, "LABEL_REQUIRED"),
    TextRule("description", *DESCRIPTION_CHARS, "DESCRIPTION_REQUIRED"),
)
LIST_RULES: Final = (ListRule("signals", "SIGNALS_REQUIRED"), ListRule("excludes", "EXCLUDES_REQUIRED"))


def source_type_problem(given: SourceType, others: Sequence[SourceType], *, is_new: bool = False) -> Problem | None:
    """The first rule that a source type breaks.

    Args:
        given: The type as it would be stored.
        others: The other types of the base.
        is_new: Whether it is to be added: its id must be of the right form and not taken.
    """
    problems = (
        *_id_problems(given.id, others, SOURCE_TYPE_ID_PATTERN.fullmatch, is_new=is_new),
        *_text_problems(given, others),
        *_list_problems(given),
    )
    return next(iter(problems), None)


def card_type_problem(
    given: CardType,
    others: Sequence[CardType],
    *,
    section_lines: Sequence[object],
    field_lines: Sequence[object],
    is_new: bool = False,
) -> Problem | None:
    """The first rule that a card type breaks.

    Args:
        given: The type as it would be stored.
        others: The other types of the base.
        section_lines: Its sections as they were given, so that what cannot be used is refused and not left out.
        field_lines: Its fields as they were given.
        is_new: Whether it is to be added: its id must be of the right form and not taken.
    """
    problems = (
        *_id_problems(given.id, others, CARD_TYPE_ID_PATTERN.fullmatch, is_new=is_new),
        *_text_problems(given, others),
        *_section_problems(given.id, section_lines),
        *_field_problems(given.id, field_lines),
    )
    return next(iter(problems), None)


def _id_problems(
    type_id: str,
    others: Sequence[SourceType] | Sequence[CardType],
    matches: Callable[[str], object],
    *,
    is_new: bool,
) -> Iterator[Problem]:
    if is_new and not matches(type_id):
        yield Problem(
            "INVALID_TYPE_ID",
            f"{type_id[:80]!r} is no id of a type.",
            "Use 1 to 48 lower-case letters, digits and underscores, beginning with a letter.",
        )
    if any(other.id == type_id for other in others):
        yield Problem("DUPLICATE_TYPE_ID", f"There is a type {type_id!r} already.", "Update it, or take another id.")


def _text_problems(given: SourceType | CardType, others: Iterable[SourceType | CardType]) -> Iterator[Problem]:
    for rule in TEXT_RULES:
        text: str = getattr(given, rule.name)
        if len(text) < rule.fewest:
            message = f"The {rule.name} of {given.id!r} has {len(text)} characters; it needs at least {rule.fewest}."
            yield Problem(rule.code, message, f"Write {rule.fewest} to {rule.most} characters.")
        if len(text) > rule.most:
            message = f"The {rule.name} of {given.id!r} has {len(text)} characters; at most {rule.most} are allowed."
            yield Problem("TEXT_TOO_LONG", message, f"Write {rule.fewest} to {rule.most} characters.")
    rival = next((other for other in others if other.label.casefold() == given.label.casefold()), None)
    if rival is not None:
        message = f"{given.id!r} has the label {given.label!r}, which is that of {rival.id!r}."
        yield Problem("DUPLICATE_LABEL", message, "Take another label.")


def _list_problems(given: SourceType) -> Iterator[Problem]:
    for rule in LIST_RULES:
        words: tuple[str, ...] = getattr(given, rule.name)
        if not words:
            yield Problem(rule.code, f"{given.id!r} has no {rule.name}.", f"Give 1 to {SIGNALS} {rule.name}.")
        if len(words) > SIGNALS:
            message = f"{given.id!r} has {len(words)} {rule.name}; at most {SIGNALS} are allowed."
            yield Problem("TEXT_TOO_LONG", message)
        if too_long := next((word for word in words if len(word) > SIGNAL_CHARS), None):
            message = f"One of the {rule.name} of {given.id!r} has {len(too_long)} characters: {too_long[:40]!r} ..."
            yield Problem("TEXT_TOO_LONG", message, f"At most {SIGNAL_CHARS} characters are allowed.")


def _section_problems(type_id: str, lines: Sequence[object]) -> Iterator[Problem]:
    sections = [section_of(line) for line in lines]
    titles = [section.title for section in sections if section is not None]
    if not titles or len(titles) < len(lines):
        message = f"{type_id!r} has no sections." if not lines else f"A section of {type_id!r} has no title."
        yield Problem("SECTIONS_REQUIRED", message, "Write a section as `Title | hint | required`.")
    if repeated := _first_repeated(title.casefold() for title in titles):
        yield Problem("DUPLICATE_SECTION", f"{type_id!r} has two sections {repeated!r}.", "Titles must differ.")
    if len(titles) > SECTIONS:
        message = f"{type_id!r} has {len(titles)} sections; at most {SECTIONS} are allowed."
        yield Problem("TEXT_TOO_LONG", message)
    if too_long := next((title for title in titles if len(title) > TITLE_CHARS), None):
        message = f"A section of {type_id!r} has a title of {len(too_long)} characters: {too_long[:40]!r} ..."
        yield Problem("TEXT_TOO_LONG", message, f"At most {TITLE_CHARS} characters are allowed.")


def _field_problems(type_id: str, lines: Sequence[object]) -> Iterator[Problem]:
    form = "Write a field as `key | label | type | required`; the type of a choice is `enum(open, closed)`."
    keys: list[str] = []
    for line in lines:
        field = field_of(line)
        if field is None or FIELD_KEY_PATTERN.fullmatch(field.key) is None:
            yield Problem("INVALID_FIELD", f"{type_id!r} has a field that cannot be used: {str(line)[:80]!r}.", form)
        else:
            keys.append(field.key)
    if repeated := _first_repeated(keys):
        yield Problem("INVALID_FIELD", f"{type_id!r} has two fields {repeated!r}.", "Keys must differ.")
    if len(keys) > MAX_FIELDS:
        yield Problem("INVALID_FIELD", f"{type_id!r} has {len(keys)} fields; at most {MAX_FIELDS} are allowed.")


def _first_repeated(values: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None
