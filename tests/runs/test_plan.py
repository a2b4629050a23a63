"""A plan says beforehand what the build then does, and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.runs.plan_bench import TEXTS, Bench, assert_done_as_planned, by_step


def nothing_changes(bench: Bench) -> None:
    del bench


def a_document_changes(bench: Bench) -> None:
    bench.write("04.md", TEXTS["04.md"].replace("First text", "Other text"))


def a_document_is_added(bench: Bench) -> None:
    bench.write("new.md", "# New\n\nNever seen before.\n")


def a_document_is_removed(bench: Bench) -> None:
    (bench.folder / "documents" / "05.md").unlink()


def a_document_is_renamed(bench: Bench) -> None:
    (bench.folder / "documents" / "06.md").rename(bench.folder / "documents" / "six.md")


def a_setting_changes(bench: Bench) -> None:
    bench.recipe_text = bench.recipe_text.replace("max_tokens: 40", "max_tokens: 30")


def the_model_changes(bench: Bench) -> None:
    bench.workspace.embedder_options["dimensions"] = 64


def a_source_empties(bench: Bench) -> None:
    for path in (bench.folder / "documents").iterdir():
        path.unlink()


def everything_at_once(bench: Bench) -> None:
    for change in (a_document_changes, a_document_is_added, a_document_is_removed, a_document_is_renamed):
        change(bench)


CHANGES = [
    nothing_changes,
    a_document_changes,
    a_document_is_added,
    a_document_is_removed,
    a_document_is_renamed,
    a_setting_changes,
    the_model_changes,
    a_source_empties,
    everything_at_once,
]


async def test_the_first_build_does_what_was_planned(bench: Bench) -> None:
    """BQ-12."""
    plan = await bench.plan()

    record = await bench.build()

    assert_done_as_planned(plan, record)
    assert plan.live_snapshot_id is None
    assert plan.document_changes.added == len(TEXTS)
    assert plan.totals.model_calls > 3
    assert plan.totals.input_tokens > 0
    assert plan.totals.usd == pytest.approx(plan.totals.input_tokens * 20 / 1_000_000)
    assert by_step(plan)["embed_chunks"].counts.ledger_items > 0


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
async def test_a_later_build_does_what_was_planned(bench: Bench, change: Callable[[Bench], None]) -> None:
    """BQ-03, BQ-05, BQ-12."""
    before = await bench.build()
    searchable_before = await bench.searchable()
    change(bench)

    plan = await bench.plan()
    record = await bench.build()

    assert_done_as_planned(plan, record)
    ids_before, ids_after = bench.chunk_ids(before), bench.chunk_ids(record)
    assert (plan.chunks.added, plan.chunks.removed) == (len(ids_after - ids_before), len(ids_before - ids_after))
    words = by_step(plan)["index_full_text"]
    assert await bench.searchable() == searchable_before + words.newly_searchable - words.no_longer_searchable


@pytest.mark.parametrize(
    ("change", "counts", "reason"),
    [
        (a_document_changes, (0, 1, 0, 0), "inputs changed: 1 document changed"),
        (a_document_is_added, (1, 0, 0, 0), "inputs changed: 1 document added"),
        (a_document_is_removed, (0, 0, 0, 1), "inputs changed: 1 document removed"),
        (a_document_is_renamed, (0, 0, 1, 0), "inputs changed: 1 document renamed"),
        (everything_at_once, (1, 1, 1, 1), "inputs changed: 1 document added, 1 changed, 1 renamed, 1 removed"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
async def test_a_plan_says_which_documents_changed(
    bench: Bench, change: Callable[[Bench], None], counts: tuple[int, int, int, int], reason: str
) -> None:
    await bench.build()
    change(bench)

    plan = await bench.plan()

    changes = plan.document_changes
    assert (changes.added, changes.changed, changes.renamed, changes.removed) == counts
    parse = plan.steps[0]
    assert parse.reason == reason or (parse.action == "skip" and change is a_document_is_removed)


async def test_a_renamed_document_costs_nothing(bench: Bench) -> None:
    await bench.build()
    a_document_is_renamed(bench)

    plan = await bench.plan()

    assert plan.totals.model_calls == plan.totals.input_tokens == 0
    assert by_step(plan)["embed_chunks"].counts.computed_items == 0
    assert by_step(plan)["index_vectors"].newly_searchable > 0


async def test_a_changed_setting_is_named(bench: Bench) -> None:
    """BQ-03."""
    await bench.build()
    a_setting_changes(bench)

    plan = await bench.plan()

    assert by_step(plan)["parse_documents"].action == "skip"
    assert by_step(plan)["split_documents"].reason == "settings changed: max_tokens 40 -> 30"


async def test_a_plan_of_a_rebuild_is_what_the_rebuild_does(bench: Bench) -> None:
    await bench.build()

    plan = await bench.plan(rebuild=True)
    record = await bench.build(rebuild=True)

    assert_done_as_planned(plan, record)
    assert plan.totals.model_calls > 3


async def test_a_build_of_many_task_runs_does_what_was_planned(bench: Bench) -> None:
    """Each task run knows what the others have paid for or are about to."""
    plan = await bench.plan(task_run_weight=8)
    record = await bench.build(task_run_weight=8)

    assert_done_as_planned(plan, record)
    assert by_step(plan)["embed_chunks"].counts.task_runs > 2


async def test_a_plan_writes_nothing_and_calls_no_model(bench: Bench) -> None:
    """BQ-12."""
    await bench.plan()
    made_by_first_plan = (bench.folder / "ws").exists()
    await bench.build()
    everything_at_once(bench)
    files, sent, entities = (
        bench.files(),
        bench.workspace.seen.copy(),
        await bench.workspace.index_store.lexical("demo").fields(()),
    )

    await bench.plan()

    assert not made_by_first_plan
    assert bench.files() == files
    assert bench.workspace.seen == sent
    assert await bench.workspace.index_store.lexical("demo").fields(()) == entities


async def test_a_plan_can_be_made_while_a_build_holds_the_lease(bench: Bench) -> None:
    import asyncio

    bench.workspace.embedder_options["latency_seconds"] = 0.2
    building = asyncio.create_task(bench.build())
    await asyncio.sleep(0.1)

    plan = await bench.plan()

    assert (await building).status == "succeeded"
    assert plan.error is None
