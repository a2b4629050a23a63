"""The knowledge catalog: what is read, what is refused, and the identity of what was read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lorebase.answering.documents import KnowledgeDocument, KnowledgeSection
from lorebase.answering.knowledge import KnowledgeCatalog, KnowledgeRead, Selection, define_knowledge_catalog
from lorebase.errors import (
    InvalidDefinitionError,
    InvalidSelectionError,
    LorebaseError,
    OverlappingSelectionError,
    SelectionTooLongError,
    UnknownIdError,
)

HANDBOOK = KnowledgeDocument(
    id="handbook",
    revision="r-7#2",
    locale="en",
    parts=(
        "For every pump.",
        KnowledgeSection(
            "install",
            ("Mount it level.", KnowledgeSection("wiring", ("Use 16 A.",)), "Then test it."),
        ),
        KnowledgeSection("care", ("每年清洁一次。",)),
    ),
)


def read(mode: str, *section_ids: str, document_id: str = "handbook") -> KnowledgeRead:
    selection: Any = Selection(mode, section_ids)  # type: ignore[arg-type]  # some tests give a wrong mode
    return KnowledgeRead(document_id=document_id, selection=selection)


def catalog(*documents: KnowledgeDocument, **options: Any) -> KnowledgeCatalog:
    return define_knowledge_catalog(documents or [HANDBOOK], **options)


@pytest.mark.parametrize(
    ("request_", "content"),
    [
        (read("document"), "For every pump.\n\nMount it level.\n\nUse 16 A.\n\nThen test it.\n\n每年清洁一次。"),
        (read("self", "install"), "Mount it level.\n\nThen test it."),
        (read("subtree", "install"), "Mount it level.\n\nUse 16 A.\n\nThen test it."),
        (read("self", "install", "wiring"), "Mount it level.\n\nThen test it.\n\nUse 16 A."),
        (read("subtree", "care", "wiring"), "Use 16 A.\n\n每年清洁一次。"),
    ],
)
def test_a_reading_holds_the_selected_paragraphs_in_reading_order(request_: KnowledgeRead, content: str) -> None:
    """A-009, A-010, A-018."""
    assert catalog().read(request_).content == content


def test_a_reading_names_document_revision_language_and_selection() -> None:
    """A-011."""
    snapshot = catalog().read(read("subtree", "care", "wiring"))

    assert (snapshot.document_id, snapshot.revision, snapshot.locale) == ("handbook", "r-7#2", "en")
    assert snapshot.selection == Selection("subtree", ("wiring", "care"))
    assert snapshot.id.startswith("doc:")
    assert len(snapshot.id) == len("doc:") + 32


def test_the_catalog_lists_documents_and_their_sections() -> None:
    """A-007, A-008, A-009: sections come before those inside them."""
    known = catalog()

    assert (known.ids(), known.has("handbook"), known.get("leaflet")) == (("handbook",), True, None)
    assert known.section_ids("handbook") == ("install", "wiring", "care")
    with pytest.raises(UnknownIdError, match="no knowledge document 'leaflet'"):
        known.section_ids("leaflet")


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (read("document", document_id="leaflet"), UnknownIdError),
        (read("self", "repair"), UnknownIdError),
        (read("self"), InvalidSelectionError),
        (read("subtree", "care", "care"), InvalidSelectionError),
        (read("document", "care"), InvalidSelectionError),
        (read("everything"), InvalidSelectionError),
        (read("subtree", "install", "wiring"), OverlappingSelectionError),
        (read("subtree", "wiring", "install"), OverlappingSelectionError),
    ],
)
def test_a_selection_that_cannot_be_read_is_refused(request_: KnowledgeRead, error: type[LorebaseError]) -> None:
    """A-016, A-017."""
    with pytest.raises(error) as asserted:
        catalog().assert_selection(request_)
    with pytest.raises(error) as refused:
        catalog().read(request_)

    assert type(asserted.value) is type(refused.value) is error


def test_a_text_is_no_list_of_section_ids() -> None:
    with pytest.raises(InvalidSelectionError, match="selects no section"):
        catalog().read(KnowledgeRead(document_id="handbook", selection=Selection("self", "care")))  # type: ignore[arg-type]  # what an untyped caller gives


def test_a_selection_that_can_be_read_is_asserted_without_a_word() -> None:
    assert catalog().assert_selection(read("self", "install", "wiring")) is None  # type: ignore[func-returns-value]  # that is the rule


def test_evidence_over_the_limit_is_refused_and_never_cut() -> None:
    """A-019, A-020."""
    whole = catalog().read(read("document"))
    just_enough = catalog(max_chars=len(whole.content))
    too_little = catalog(max_chars=len(whole.content) - 1)

    assert just_enough.read(read("document")) == whole
    with pytest.raises(SelectionTooLongError, match="at most") as refused:
        too_little.read(read("document"))
    assert refused.value.facts["chars"] == len(whole.content)
    assert too_little.assert_selection(read("document")) is None  # type: ignore[func-returns-value]  # the selection is fine


def test_a_limit_counts_characters_not_bytes() -> None:
    assert catalog(max_chars=7).read(read("self", "care")).content == "每年清洁一次。"


def test_equal_definitions_give_equal_identities_and_the_order_of_sections_does_not_count() -> None:
    """A-014."""
    first = catalog().read(read("self", "care", "install"))
    second = catalog(replace(HANDBOOK)).read(read("self", "install", "care"))

    assert first == second


VARIANTS = [
    replace(HANDBOOK, id="leaflet"),
    replace(HANDBOOK, revision="r-8#1"),
    replace(HANDBOOK, locale="zh"),
    replace(HANDBOOK, locale=None),
    replace(HANDBOOK, parts=(*HANDBOOK.parts, "New.")),
    replace(HANDBOOK, parts=HANDBOOK.parts[1:]),
]


def test_each_difference_of_document_revision_language_text_or_range_gives_another_identity() -> None:
    """A-013, A-015."""
    ids = [catalog(variant).read(read("self", "care", document_id=variant.id)).id for variant in [HANDBOOK, *VARIANTS]]
    ids += [
        catalog().read(request_).id
        for request_ in (read("document"), read("subtree", "care"), read("self", "install"), read("self", "wiring"))
    ]

    assert len(set(ids)) == len(ids) == 11


def sections(depth: int) -> st.SearchStrategy[list[Any]]:
    paragraph = st.sampled_from(["水泵", "Valve", "One two."])
    if depth == 0:
        return st.lists(paragraph, max_size=2)
    return st.lists(paragraph | st.builds(lambda parts: ("section", parts), sections(depth - 1)), max_size=3)


def build(parts: list[Any], numbers: Iterator[int]) -> tuple[Any, ...]:
    built: list[Any] = []
    for part in parts:
        if isinstance(part, str):
            built.append(part)
        else:
            name = f"s{next(numbers)}"
            built.append(KnowledgeSection(name, build(part[1], numbers)))
    return tuple(built)


@settings(deadline=None)
@given(parts=sections(3), data=st.data())
def test_for_every_document_readings_are_stable_and_tell_ranges_apart(parts: list[Any], data: st.DataObject) -> None:
    """A-013, A-014, A-018."""
    document = KnowledgeDocument(id="d", revision="1", parts=build(parts, iter(range(99))))
    first, second = catalog(document), catalog(replace(document))
    names = first.section_ids("d")
    requests = [read("document", document_id="d")]
    if names:
        some = data.draw(st.lists(st.sampled_from(names), unique=True, min_size=1))
        requests += [read("self", *some, document_id="d"), read("subtree", some[0], document_id="d")]

    snapshots = [first.read(request_) for request_ in requests]

    assert snapshots == [second.read(request_) for request_ in requests]
    assert len({snapshot.id for snapshot in snapshots}) == len(requests)
    whole = snapshots[0].content.split("\n\n")
    assert all(set(snapshot.content.split("\n\n")) <= {*whole, ""} for snapshot in snapshots)


@dataclass
class OwnSection:
    id: str
    parts: list[Any]


@dataclass
class OwnDocument:
    id: str = "own"
    revision: str = "1"
    locale: str | None = None
    parts: list[Any] = field(default_factory=lambda: ["First.", OwnSection("more", ["Second."])])


class OwnSelection:
    mode = "self"
    section_ids = ("more",)


class OwnRead:
    document_id = "own"
    selection = OwnSelection()


class OwnObserver:
    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def __call__(self, event: dict[str, Any]) -> None:
        self.events.append(event)


def test_documents_requests_and_observers_may_be_of_any_class() -> None:
    """A-021."""
    observer = OwnObserver()

    snapshot = define_knowledge_catalog([OwnDocument()], observe=observer).read(OwnRead())

    assert snapshot.content == "Second."
    assert observer.events[0]["snapshot"]["content"] == "Second."


def test_a_document_changed_after_registration_changes_no_reading() -> None:
    document = OwnDocument()
    known = define_knowledge_catalog([document])
    before = known.read(OwnRead())

    document.parts[1].parts[0] = "Forged."
    document.revision = "2"

    assert known.read(OwnRead()) == before


def test_an_observer_sees_readings_and_refusals() -> None:
    observer = OwnObserver()
    known = catalog(observe=observer)

    known.read(read("document"))
    with pytest.raises(UnknownIdError):
        known.read(read("self", "nowhere"))

    assert [(event["document_id"], event["refusal"]) for event in observer.events] == [
        ("handbook", None),
        ("handbook", "UNKNOWN_ID"),
    ]
    assert type(observer.events[0]["snapshot"]) is dict


def test_an_observer_that_fails_or_changes_its_copy_changes_no_reading() -> None:
    """A-022, A-025, A-026."""

    def spoil(event: dict[str, Any]) -> None:
        event["snapshot"]["content"] = "Forged."
        raise ZeroDivisionError

    assert catalog(observe=spoil).read(read("document")) == catalog().read(read("document"))


@pytest.mark.parametrize(
    "document",
    [
        KnowledgeDocument(id=" ", revision="1"),
        KnowledgeDocument(id="d", revision=""),
        KnowledgeDocument(id="d", revision="1", parts=("  ",)),
        KnowledgeDocument(id="d", revision="1", parts=(7,)),  # type: ignore[arg-type]  # what an untyped caller gives
        KnowledgeDocument(id="d", revision="1", parts=(KnowledgeSection(""),)),
        KnowledgeDocument(id="d", revision="1", parts=(KnowledgeSection("s", (KnowledgeSection("s"),)),)),
    ],
)
def test_a_document_that_is_not_as_it_must_be_is_refused(document: KnowledgeDocument) -> None:
    """A-006: ids of sections are there once in the whole tree."""
    with pytest.raises(InvalidDefinitionError):
        catalog(document)


def test_documents_with_one_id_and_limits_below_one_are_refused() -> None:
    with pytest.raises(InvalidDefinitionError, match="two knowledge document definitions"):
        catalog(HANDBOOK, HANDBOOK)
    with pytest.raises(InvalidDefinitionError, match="max_chars is 0"):
        catalog(max_chars=0)
