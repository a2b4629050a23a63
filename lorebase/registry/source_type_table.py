"""The built-in source types as a table. Signals and excludes are English and Chinese."""

from __future__ import annotations

from typing import Final

from lorebase.registry.source_types import FALLBACK_SOURCE_TYPE_ID, SourceType

BUILTIN_SOURCE_TYPES: Final[tuple[SourceType, ...]] = (
    SourceType(
        id=FALLBACK_SOURCE_TYPE_ID,
        label="Document",
        description="Any document that no other type describes.",
        signals=("document", "文档"),
        excludes=("none of the other types", "不属于其他类型"),
        builtin=True,
        fallback=True,
    ),
    SourceType(
        id="policy",
        label="Policy",
        description="Rules that bind people: policies, regulations, standards, rules of conduct.",
        signals=(
            "policy", "regulation", "code of conduct", "compliance", "terms of use",
            "政策", "制度", "管理办法", "规定", "条例", "细则", "合规",
        ),
        excludes=("meeting minutes", "incident report", "会议纪要", "故障报告"),
        builtin=True,
    ),
    SourceType(
        id="manual",
        label="Manual",
        description="How something is used or operated: manuals, guides, instructions, runbooks.",
        signals=(
            "manual", "user guide", "handbook", "how to", "instructions", "runbook", "installation",
            "手册", "指南", "操作说明", "使用说明", "操作步骤", "安装", "教程",
        ),
        excludes=("frequently asked questions", "meeting minutes", "常见问题", "会议纪要"),
        builtin=True,
    ),
    SourceType(
        id="faq",
        label="FAQ",
        description="Questions with their answers, as people ask them.",
        signals=("faq", "frequently asked questions", "q&a", "常见问题", "问答", "答疑"),
        excludes=("meeting minutes", "incident report", "会议纪要", "故障报告"),
        builtin=True,
    ),
    SourceType(
        id="metric_definition",
        label="Metric definition",
        description="How figures are defined and computed: metrics, indicators, their formulas and dimensions.",
        signals=(
            "metric", "metrics", "kpi", "indicator", "formula", "calculation method",
            "指标", "指标口径", "计算口径", "统计口径", "计算公式",
        ),
        excludes=("meeting minutes", "create table", "会议纪要", "建表"),
        builtin=True,
    ),
    SourceType(
        id="table_schema",
        label="Table schema",
        description="What tables and columns of a database or file mean: schemas, data dictionaries.",
        signals=(
            "table schema", "data dictionary", "create table", "primary key", "foreign key", "column name",
            "表结构", "数据字典", "字段说明", "字段名", "主键", "外键", "建表",
        ),
        excludes=("meeting minutes", "frequently asked questions", "会议纪要", "常见问题"),
        builtin=True,
    ),
    SourceType(
        id="incident_report",
        label="Incident report",
        description="What went wrong, why, and what was done: incidents, faults, reviews after them.",
        signals=(
            "incident report", "postmortem", "post-mortem", "root cause", "outage", "failure analysis",
            "故障报告", "事故报告", "故障复盘", "复盘", "根因", "根本原因",
        ),
        excludes=("meeting minutes", "user guide", "会议纪要", "使用说明"),
        builtin=True,
    ),
    SourceType(
        id="meeting_note",
        label="Meeting note",
        description="What was said and decided in a meeting: minutes, notes, action items.",
        signals=(
            "meeting minutes", "meeting notes", "minutes of", "attendees", "action items", "agenda",
            "会议纪要", "会议记录", "参会人", "与会人员", "议程", "待办事项",
        ),
        excludes=("user guide", "data dictionary", "使用说明", "数据字典"),
        builtin=True,
    ),
)  # fmt: skip
"""In fixed order."""
