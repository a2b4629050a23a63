"""A build whose object store and whose documents lie on a real S3 store."""

from __future__ import annotations

from pathlib import Path

from lorebase import KnowledgeBase
from lorebase.adapters.object_stores import S3ObjectStore
from lorebase.recipes.loading import parse_recipe
from lorebase.workspace import Workspace
from tests.conftest import S3_KEY, S3_SECRET

RECIPE = """
name: demo
sources: [{{folder: "s3://{bucket}/documents", name: handbook}}]
partitions: 4
procedures: [{{use: full_text_index}}]
"""
WORKSPACE = """
object_store: {{url: "s3://{bucket}/prod", endpoint_url: "{endpoint}", key: "${{S3_KEY}}", secret: "${{S3_SECRET}}"}}
"""


def open_workspace(folder: Path, bucket: str, endpoint: str) -> Workspace:
    folder.mkdir(parents=True)
    (folder / "lorebase.yaml").write_text(WORKSPACE.format(bucket=bucket, endpoint=endpoint))
    return Workspace.load(folder, {"S3_KEY": S3_KEY, "S3_SECRET": S3_SECRET})


async def test_another_machine_that_reaches_the_store_goes_on_from_what_is_finished(
    tmp_path: Path, seaweedfs: str
) -> None:
    """B-019, B-024."""
    bucket = "knowledge"
    documents = S3ObjectStore(bucket, "documents", endpoint_url=seaweedfs, key=S3_KEY, secret=S3_SECRET)
    documents.make_bucket()
    documents.put("harbour.md", b"# Harbour\n\nA berth costs nine crowns.\n")
    documents.put("\u706f\u5854/\u89c4\u5219.md", "# 灯塔\n\n灯塔每晚八点亮灯。\n".encode())
    recipe = parse_recipe(RECIPE.format(bucket=bucket))
    here = open_workspace(tmp_path / "here", bucket, seaweedfs)
    there = open_workspace(tmp_path / "there", bucket, seaweedfs)

    async with await KnowledgeBase.create(recipe, here) as first:
        found_here = await first.query("八点亮灯", mode="full_text_search")
    async with await KnowledgeBase.create(recipe, there) as second:
        found_there = await second.query("berth", mode="full_text_search")

    assert [result.document.name for result in found_here.results] == ["灯塔/规则.md"]
    assert [result.document.name for result in found_there.results] == ["harbour.md"]
    assert second.last_result is not None
    records = second.last_result.record.step_records
    assert {record.status for record in records} == {"skipped"}
    # The embedded index of the second machine was empty: it was written again from the artifacts on S3.
    assert second.last_result.record.issues_by_code == {"INDEX_REPAIRED": 1}
