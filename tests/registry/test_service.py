"""The knowledge bases of a registry through their commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from lorebase.registry.base_changes import BaseChange
from lorebase.registry.card_types import builtin_card_types
from lorebase.registry.changes import CardTypeChange, SourceTypeChange
from lorebase.registry.content import BaseFolders
from lorebase.registry.file_store import FileRegistryStore
from lorebase.registry.record import BaseStatistics, engine_for
from lorebase.registry.service import KnowledgeBases, base_id_of
from lorebase.registry.source_types import builtin_source_types
from lorebase.registry.views import empty_base
from tests.registry.opening import SteppingClock, opened

Bases = KnowledgeBases[None, None]
RULE_FOR_PDF = {"file_types": ["pdf"], "engine": "docling"}
RULE = CardTypeChange(id="rule", label="规则", description="A rule that binds people.", sections=("What | the rule",))


def code_of(envelope: object) -> str:
    error = getattr(envelope, "error", None)
    return error.code if error else ""


def test_a_new_base_has_the_built_in_types_and_its_times(bases: Bases) -> None:
    """D-017, D-022."""
    made = bases.create("handbook", BaseChange(name="员工手册", description="规章制度"))

    assert made.ok
    assert (made.data.id, made.data.name, made.data.description) == ("handbook", "员工手册", "规章制度")
    assert made.data.source_types == builtin_source_types()
    assert made.data.card_types == builtin_card_types()
    assert made.data.created_at == made.data.updated_at
    assert not made.data.is_default
    assert not made.data.card_types_customised


@pytest.mark.parametrize("base_id", ["../x", "a/b", "/etc", "..", "A", "a_b", "-a", "x" * 49, "a\n", "知识库", "a\x00"])
def test_an_id_that_could_lead_anywhere_else_is_refused(bases: Bases, store: FileRegistryStore, base_id: str) -> None:
    """DQ-22."""
    made = bases.create(base_id)

    assert code_of(made) == "INVALID_BASE_ID"
    assert made.error is not None
    assert not made.error.retryable
    assert code_of(bases.show(base_id)) == "BASE_NOT_FOUND"
    assert code_of(bases.delete(base_id, purge=True)) == "BASE_NOT_FOUND"
    assert not store.path.exists()


@pytest.mark.parametrize(
    ("name", "base_id"),
    [("Sales handbook", "sales-handbook"), (" A  b! ", "a-b"), ("企业知识库", "kb-"), ("x" * 60, "kb-"), ("", "")],
)
def test_an_id_is_derived_from_a_name(name: str, base_id: str) -> None:
    derived = base_id_of(name)

    assert derived.startswith(base_id)
    assert derived == base_id_of(name)
    assert len(derived) <= 48
    assert (derived == base_id) is (base_id != "kb-")


def test_an_id_that_is_taken_is_refused_and_changes_nothing(bases: Bases) -> None:
    bases.create("a", BaseChange(name="First"))

    again = bases.create("a", BaseChange(name="Second"))

    assert code_of(again) == "DUPLICATE_BASE_ID"
    assert bases.show("a").data.name == "First"


def test_the_default_base_is_marked_and_comes_first(bases: Bases) -> None:
    """D-018, D-023."""
    bases.create("a")

    made = bases.ensure_default()
    again = bases.ensure_default()

    assert made.data.is_default
    assert again.data == made.data
    assert [base.id for base in bases.list().data] == ["default", "a"]


def test_an_update_changes_what_is_given_and_nothing_else(bases: Bases) -> None:
    """D-019."""
    before = bases.create("a", BaseChange.from_json({"name": "甲", "description": "x", "recipe": "a.yaml"})).data

    after = bases.update("a", BaseChange.from_json({"description": 42, "name": None})).data

    assert (after.name, after.description, after.recipe) == ("甲", "42", before.recipe)
    assert after.created_at == before.created_at
    assert after.updated_at is not None
    assert before.updated_at is not None
    assert after.updated_at > before.updated_at


def test_what_is_given_empty_is_cleared(bases: Bases) -> None:
    bases.create(
        "a",
        BaseChange.from_json(
            {"description": "x", "recipe": "a.yaml", "parsers": [{"file_types": ["pdf"], "engine": "docling"}]}
        ),
    )

    after = bases.update("a", BaseChange.from_json({"description": "", "recipe": "", "parsers": []})).data

    assert (after.description, after.recipe, after.parsers) == ("", None, ())


@pytest.mark.parametrize("act", ["show", "update", "reset_card_types"])
def test_a_base_that_is_not_there_gives_an_empty_one_and_may_be_asked_for_again(bases: Bases, act: str) -> None:
    """D-016, D-021, D-052."""
    calls = {
        "show": bases.show,
        "update": lambda base_id: bases.update(base_id, BaseChange()),
        "reset_card_types": bases.reset_card_types,
    }

    answer = calls[act]("nowhere")

    assert not answer.ok
    assert answer.data == empty_base("nowhere")
    assert answer.error is not None
    assert (answer.error.code, answer.error.retryable) == ("BASE_NOT_FOUND", True)
    assert "nowhere" in answer.error.message
    assert answer.model_dump(mode="json")["data"]["created_at"] == ""


def test_statistics_are_counted_again_and_shown_beside_every_type(store: FileRegistryStore) -> None:
    """D-006, D-019, D-022, D-049."""
    opened(store).create("a")
    counts = BaseStatistics(source_count=3, card_count=2, sources_by_type={"faq": 3}, cards_by_type={"metric": 2})
    counting: Bases = KnowledgeBases(store, clock=SteppingClock(), statistics=lambda _: counts)

    counting.update("a", BaseChange(description="x"))

    shown = opened(store).show("a").data
    assert (shown.source_count, shown.card_count) == (3, 2)
    assert {known.id: known.source_count for known in shown.source_types if known.source_count} == {"faq": 3}
    assert {known.id: known.card_count for known in opened(store).card_types.list("a").data if known.card_count} == {
        "metric": 2
    }


def test_a_reset_makes_the_card_types_the_built_in_ones(bases: Bases) -> None:
    """D-051."""
    bases.create("a")
    bases.card_types.add("a", RULE)
    customised = bases.show("a").data.card_types_customised

    after = bases.reset_card_types("a").data

    assert customised
    assert after.card_types == builtin_card_types()
    assert not after.card_types_customised


def test_a_problem_with_types_refuses_the_whole_update(bases: Bases) -> None:
    """D-027."""
    bases.create("a", BaseChange(name="Before"))

    answer = bases.update("a", BaseChange(name="After", source_types=[SourceTypeChange(id="contract", label="合同")]))

    assert code_of(answer) == "DESCRIPTION_REQUIRED"
    assert answer.error is not None
    assert not answer.error.retryable
    assert bases.show("a").data.name == "Before"


def test_the_default_base_cannot_be_deleted(bases: Bases) -> None:
    """DQ-21."""
    bases.ensure_default()

    assert code_of(bases.delete("default")) == "DEFAULT_BASE_IMMUTABLE"
    assert bases.show("default").ok


def test_a_deletion_leaves_the_content_and_a_purge_does_not(store: FileRegistryStore, tmp_path: Path) -> None:
    """D-017, DQ-21."""
    bases: Bases = KnowledgeBases(store, clock=SteppingClock(), folders=BaseFolders(tmp_path / "agent"))
    trees = [tmp_path / "agent" / "domain_knowledge" / base_id for base_id in ("a", "b")]
    for tree in trees:
        made = bases.create(tree.name)
        (tree / "card.md").write_text("x")
        assert made.data.root_dir == str(tree)

    deleted = bases.delete("a")
    purged = bases.delete("b", purge=True)

    assert deleted.data.deleted
    assert purged.data.deleted
    assert [tree.exists() for tree in trees] == [True, False]
    assert bases.list().data == ()


def test_a_purge_never_touches_a_tree_that_lies_elsewhere(store: FileRegistryStore, tmp_path: Path) -> None:
    bases: Bases = KnowledgeBases(store, clock=SteppingClock(), folders=BaseFolders(tmp_path / "agent"))
    (tmp_path / "mine").mkdir()
    bases.create("a", BaseChange(root_dir=str(tmp_path / "mine")))

    answer = bases.delete("a", purge=True)

    assert code_of(answer) == "CONTENT_ELSEWHERE"
    assert (tmp_path / "mine").exists()
    assert bases.show("a").ok


def test_a_purge_deletes_a_link_and_not_what_it_points_at(store: FileRegistryStore, tmp_path: Path) -> None:
    bases: Bases = KnowledgeBases(store, clock=SteppingClock(), folders=BaseFolders(tmp_path / "agent"))
    bases.create("a")
    tree = tmp_path / "agent" / "domain_knowledge" / "a"
    tree.rmdir()
    (tmp_path / "mine").mkdir()
    tree.symlink_to(tmp_path / "mine")

    bases.delete("a", purge=True)

    assert not tree.is_symlink()
    assert (tmp_path / "mine").exists()


def test_the_first_parser_rule_that_names_a_file_type_wins(bases: Bases) -> None:
    """D-004."""
    rules = [
        {"file_types": [" .PDF", "Docx"], "engine": "docling"},
        {"fileTypes": ["pdf"], "engine": "other"},
        {"file_types": [], "engine": "none"},
    ]

    parsers = bases.create("a", BaseChange.from_json({"parsers": rules})).data.parsers

    assert [engine_for(parsers, kind) for kind in ("pdf", ".PDF", " Pdf ", "docx", "md")] == [
        "docling", "docling", "docling", "docling", "builtin",
    ]  # fmt: skip
    assert len(parsers) == 2


def test_built_in_texts_are_not_written_into_the_registry(bases: Bases, store: FileRegistryStore) -> None:
    bases.create("a")
    bases.card_types.update("a", CardTypeChange(id="faq", enabled=False))

    stored = store.read_one("a").by_id["a"]

    assert "source_types" not in stored
    assert {"id": "faq", "enabled": False} in stored["card_types"]
    assert {"id": "metric"} in stored["card_types"]
