"""FAQs over builds: collected, compared, searched, disabled, forgotten."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from lorebase import KnowledgeBase
from lorebase.errors import UnsupportedModeError
from lorebase.index.ports import Equals
from lorebase.retrieval.model import QueryResult
from lorebase.runs.forgetting import forget_document
from lorebase.runs.rollback import roll_back
from tests.fakes.workspace import FakeWorkspace, recipe_in
from tests.runs.snapshot_checks import LAYOUT, build, build_of

RECIPE = """
name: demo
sources: [{folder: documents}]
partitions: 8
procedures:
  - use: faq
"""
WITH_VECTORS = RECIPE.replace("partitions", "models: {embedding: {provider: local}}\npartitions")
CSV = (
    "question,answer,variants,enabled\n"
    "How do I join?,At the desk.,Where do I register? | How to become a member,yes\n"
    "How much is a berth?,Nine crowns a night.,,\n"
    "What was the old fee?,Seven crowns.,,no\n"
)
JSONL = '{"question": "如何重置密码？", "answer": "在登录页点击忘记密码。", "variants": ["忘记密码怎么办"]}\n'
MARKDOWN = "# FAQ\n\n## When is the lamp lit?\n\nAt eight in the evening.\n"


@pytest.fixture
def workspace(tmp_path: Path) -> FakeWorkspace:
    return FakeWorkspace(tmp_path / "ws")


def workbook_of(sheet: str, rows: list[list[str]]) -> bytes:
    """A workbook with one sheet of texts: the least that the format asks for."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    lines = ["".join(f'<c t="inlineStr"><is><t>{text}</t></is></c>' for text in row) for row in rows]
    cells = "".join(f"<row>{line}</row>" for line in lines)
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" '
        'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
        f'<sheet name="{sheet}" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData></worksheet>',
    }
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return stream.getvalue()


async def asked(workspace: FakeWorkspace, query: str) -> QueryResult:
    return await KnowledgeBase.load("demo", workspace).query(query, mode="faq_search")


async def answers(workspace: FakeWorkspace, query: str) -> list[str]:
    return [result.faq.answer for result in (await asked(workspace, query)).results if result.faq]


@pytest.mark.parametrize("recipe", [RECIPE, WITH_VECTORS], ids=["words", "words and meaning"])
async def test_entries_of_csv_records_and_markdown_are_found_by_question_and_variant_in_both_languages(
    tmp_path: Path, workspace: FakeWorkspace, recipe: str
) -> None:
    await build_of(tmp_path, workspace, {"a.csv": CSV, "b.jsonl": JSONL, "c.md": MARKDOWN}, recipe)

    assert (await answers(workspace, "HOW DO I JOIN"))[0] == "At the desk."
    assert (await answers(workspace, "where do i register"))[0] == "At the desk."
    assert (await answers(workspace, "忘记密码怎么办？"))[0] == "在登录页点击忘记密码。"
    assert (await answers(workspace, "when is the lamp lit"))[0] == "At eight in the evening."


async def test_a_result_carries_the_answer_and_cites_file_row_and_line(
    tmp_path: Path, workspace: FakeWorkspace
) -> None:
    await build_of(tmp_path, workspace, {"a.csv": CSV}, RECIPE)

    result = (await asked(workspace, "how much is a berth")).results[0]

    assert result.faq is not None
    assert (result.faq.answer, result.faq.is_exact, result.faq.line) == ("Nine crowns a night.", True, 3)
    assert result.document.name == "a.csv"
    assert (result.citation.first_row, result.citation.last_row) == (2, 2)


async def test_a_workbook_is_cited_by_sheet_and_row(tmp_path: Path, workspace: FakeWorkspace) -> None:
    rows = [["问题", "答案", "是否启用"], ["泊位费多少？", "每晚九克朗", "是"], ["旧价？", "七克朗", "否"]]
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "fees.xlsx").write_bytes(workbook_of("Fees", rows))
    await build(tmp_path, workspace, RECIPE)

    found = (await asked(workspace, "泊位费多少")).results

    assert [result.faq.answer for result in found if result.faq] == ["每晚九克朗"]
    assert (found[0].citation.page_label, found[0].citation.first_row) == ("Fees", 1)
    assert await answers(workspace, "旧价") == []


async def test_duplicates_and_conflicts_name_both_places_and_both_answers_of_a_conflict_are_given(
    tmp_path: Path, workspace: FakeWorkspace
) -> None:
    other = "question,answer\nＨow do I join,at the desk.\nhow much is a berth,Ten crowns.\n"

    record = await build_of(tmp_path, workspace, {"a.csv": CSV, "z.csv": other}, RECIPE)

    issues = {issue.code: issue for issue in record.issues}
    assert issues["FAQ_CONFLICT"].message.endswith("with other answers: a.csv, row 2; z.csv, row 2.")
    assert issues["FAQ_DUPLICATE"].message.endswith("with the same answer: a.csv, row 1; z.csv, row 1.")
    found = (await asked(workspace, "How much is a berth?")).results
    assert {result.faq.answer for result in found[:2] if result.faq} == {"Nine crowns a night.", "Ten crowns."}
    assert all(result.faq.conflicts for result in found[:2] if result.faq)


async def test_a_variant_that_another_entry_asks_is_a_conflict_too(tmp_path: Path, workspace: FakeWorkspace) -> None:
    other = "question,answer\nWhere do I register?,On the web.\n"

    record = await build_of(tmp_path, workspace, {"a.csv": CSV, "z.csv": other}, RECIPE)

    assert record.issues_by_code["FAQ_CONFLICT"] == 1


async def test_a_disabled_entry_is_neither_found_nor_compared_and_comes_back_when_it_is_enabled(
    tmp_path: Path, workspace: FakeWorkspace
) -> None:
    """C159."""
    record = await build_of(tmp_path, workspace, {"a.csv": CSV}, RECIPE)
    before = await answers(workspace, "what was the old fee")

    await build_of(tmp_path, workspace, {"a.csv": CSV.replace("crowns.,,no", "crowns.,,yes")}, RECIPE)

    assert "Seven crowns." not in before
    assert record.issues_by_code["FAQ_ENTRIES_DISABLED"] == 1
    assert (await answers(workspace, "what was the old fee"))[0] == "Seven crowns."


async def test_an_entry_that_is_disabled_later_leaves_the_searches_in_that_build(
    tmp_path: Path, workspace: FakeWorkspace
) -> None:
    await build_of(tmp_path, workspace, {"a.csv": CSV}, WITH_VECTORS)

    await build_of(tmp_path, workspace, {"a.csv": CSV.replace("night.,,", "night.,,off")}, WITH_VECTORS)

    index = workspace.index_store.lexical("demo", kind="faq")
    assert "Nine crowns a night." not in await answers(workspace, "how much is a berth")
    assert await index.count((Equals("searchable", value=True),)) == 3


async def test_a_question_is_embedded_once_however_often_the_base_is_built(
    tmp_path: Path, workspace: FakeWorkspace
) -> None:
    """B-020."""
    await build_of(tmp_path, workspace, {"a.csv": CSV}, WITH_VECTORS)
    before = dict(workspace.seen)

    more = CSV + "Is there a café?,Yes.,,\n"
    await build_of(tmp_path, workspace, {"a.csv": more, "b.jsonl": JSONL}, WITH_VECTORS)

    assert before == {
        "How do I join?": 1,
        "Where do I register?": 1,
        "How to become a member": 1,
        "How much is a berth?": 1,
    }
    assert workspace.seen["How do I join?"] == 1
    assert workspace.seen["忘记密码怎么办"] == 1


async def test_rows_without_question_or_answer_and_tables_that_are_no_faq_become_issues(
    tmp_path: Path, workspace: FakeWorkspace
) -> None:
    """B-008."""
    bad = "question,answer\n,So.\nHow?,\nWhy?,Because.\n"

    record = await build_of(tmp_path, workspace, {"a.csv": bad, "people.csv": "name,age\nAda,36\n"}, RECIPE)

    assert record.issues_by_code["FAQ_QUESTION_MISSING"] == 1
    assert record.issues_by_code["FAQ_ANSWER_MISSING"] == 1
    assert record.issues_by_code["FAQ_NOT_RECOGNISED"] == 1
    assert await answers(workspace, "why") == ["Because."]


async def test_a_forgotten_document_leaves_no_entry(tmp_path: Path, workspace: FakeWorkspace) -> None:
    await build_of(tmp_path, workspace, {"a.csv": CSV, "b.jsonl": JSONL}, WITH_VECTORS)

    result = await forget_document(workspace, LAYOUT, "a.csv")

    assert result.is_clean, result.traces
    assert result.rows_removed["faq_entries"] == 3
    assert result.rows_removed["faq_index"] == 4
    assert "At the desk." not in await answers(workspace, "how do i join")


async def test_a_rollback_stages_the_entries_of_then_without_a_model(tmp_path: Path, workspace: FakeWorkspace) -> None:
    first = await build_of(tmp_path, workspace, {"a.csv": CSV}, WITH_VECTORS)
    await build_of(tmp_path, workspace, {"b.jsonl": JSONL}, WITH_VECTORS)
    await workspace.index_store.lexical("demo", kind="faq").drop()
    embedded = workspace.seen.total()

    await roll_back(workspace, LAYOUT, first.run_id)

    assert (await answers(workspace, "how do i join"))[0] == "At the desk."
    assert workspace.seen.total() == embedded


async def test_a_lost_index_is_made_again_by_the_next_build(tmp_path: Path, workspace: FakeWorkspace) -> None:
    await build_of(tmp_path, workspace, {"a.csv": CSV}, WITH_VECTORS)
    await workspace.index_store.lexical("demo", kind="faq").drop()

    record = await build(tmp_path, workspace, WITH_VECTORS)

    assert record.issues_by_code["INDEX_REPAIRED"] == 1
    assert (await answers(workspace, "how do i join"))[0] == "At the desk."


async def test_a_base_without_a_faq_names_the_step_that_would_unlock_it(
    tmp_path: Path, workspace: FakeWorkspace
) -> None:
    """BQ-14."""
    await build_of(tmp_path, workspace, {"a.md": MARKDOWN}, RECIPE.replace("use: faq", "use: full_text_index"))

    with pytest.raises(UnsupportedModeError, match="index_faq"):
        await KnowledgeBase.load("demo", workspace).query("how", mode="faq_search")


async def test_documents_that_are_left_out_give_no_chunks_and_their_entries_all_the_same(
    tmp_path: Path, workspace: FakeWorkspace
) -> None:
    recipe = RECIPE.replace("  - use: faq", '  - use: full_text_index\n    with: {exclude: ["**/*.csv"]}\n  - use: faq')
    await build_of(tmp_path, workspace, {"a.csv": CSV, "c.md": MARKDOWN}, recipe)

    chunks = await KnowledgeBase.load("demo", workspace).query("old fee crowns", mode="full_text_search")

    assert recipe_in(tmp_path, recipe).name == "demo"
    assert chunks.results == ()
    assert (await answers(workspace, "how do i join"))[0] == "At the desk."
