"""The page of a report: one file that runs nothing, asks nobody, and shows what the report says."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html import escape
from html.parser import HTMLParser

from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from apps.cli.report_page import report_page
from lorebase.runs.records import ErrorRecord, Issue, RecipeRunRecord, StepCounts, StepRunRecord, Subject
from lorebase.runs.report import BuildReport

BEGUN = datetime(2026, 5, 4, 3, 0, 0, tzinfo=UTC)
EVIL = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


class _Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.names: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names |= {name for name, _ in attrs}


def step(index: int, name: str, begin: int, end: int, counts: StepCounts, status: str = "succeeded") -> StepRunRecord:
    return StepRunRecord.model_validate(
        {
            "index": index,
            "step_name": name,
            "step_type": "parse_documents",
            "status": status,
            "started_at": BEGUN + timedelta(seconds=begin),
            "finished_at": BEGUN + timedelta(seconds=end),
            "counts": counts,
        }
    )


def report(text: str = "", *, error: ErrorRecord | None = None) -> BuildReport:
    issue = Issue(
        code="DOCUMENT_EMPTY",
        severity="warning",
        subject=Subject(kind="document", id="d1", name=f"空.txt {text}"),
        message=f"没有文字 {text}",
        step="parse_documents",
    )
    steps = (
        step(0, f"解析 {text}", 0, 4, StepCounts(items=9, computed_items=6, reused_items=2, unreadable_items=1)),
        step(1, "embed_chunks", 4, 10, StepCounts(computed_items=30, model_calls=3, input_tokens=1200, usd=0.0024)),
    )
    return BuildReport.of(
        RecipeRunRecord(
            run_id="r1",
            base_name="knowledge",
            recipe_fingerprint="f",
            status="failed" if error else "succeeded",
            started_at=BEGUN,
            finished_at=BEGUN + timedelta(seconds=10),
            step_records=steps,
            issues=(issue,),
            issues_by_code={"DOCUMENT_EMPTY": 4},
            error=error,
        )
    )


def test_the_page_has_neither_scripts_nor_anything_from_elsewhere() -> None:
    found = _Tags(report_page(report(EVIL)))

    assert not {"script", "img", "link", "iframe", "object", "form"} & set(found.tags)
    assert not {name for name in found.names if name.startswith("on") or name in {"src", "href"}}
    assert not re.search(r"url\(|@import", report_page(report()))


@settings(max_examples=30, deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=40))
def test_every_text_stands_in_the_page_escaped(text: str) -> None:
    page = report_page(report(text))

    assert escape(f"没有文字 {text}") in page
    assert _Tags(page).tags == _Tags(report_page(report())).tags


def test_the_timeline_has_a_bar_a_step_whose_place_is_its_time() -> None:
    page = report_page(report())

    timeline = etree.fromstring(re.findall(r"<svg.*?</svg>", page, re.DOTALL)[0])
    bars = [(float(bar.get("x", 0)), float(bar.get("width", 0))) for bar in timeline.iter("rect")]
    assert bars == [(200.0, 268.0), (468.0, 402.0)]


def test_items_are_computed_reused_or_failed() -> None:
    page = report_page(report())

    items = etree.fromstring(re.findall(r"<svg.*?</svg>", page, re.DOTALL)[1])
    assert [title.text for title in items.iter("title")] == [
        "解析 : 6 computed",
        "解析 : 2 reused",
        "解析 : 1 failed",
        "embed_chunks: 30 computed",
    ]


def test_calls_cost_and_issues_are_in_the_page() -> None:
    page = report_page(report())

    assert "<td>1,200</td>" in page
    assert "$0.0024" in page or "0.0024" in page
    assert "1 of 4 are listed." in page


def test_a_failure_says_what_to_do() -> None:
    page = report_page(
        report(error=ErrorRecord(code="UNAVAILABLE", message="模型没有回答。", remedy="Start it <again>."))
    )

    assert "<b>UNAVAILABLE</b> 模型没有回答。 Start it &lt;again&gt;." in page


def test_a_run_without_steps_has_a_page_too() -> None:
    record = RecipeRunRecord(
        run_id="r1", base_name="knowledge", recipe_fingerprint="f", status="cancelled", started_at=BEGUN
    )

    assert "knowledge: cancelled" in report_page(BuildReport.of(record))
