"""Arbitrary JSON with keys and values that the registry knows mixed in, so that readers get beyond the first check."""

from __future__ import annotations

from hypothesis import strategies as st

KNOWN_KEYS = (
    "id", "label", "description", "signals", "excludes", "enabled", "metadata_fields", "metadataFields", "layer",
    "sections", "fields", "examples", "template", "key", "type", "required", "options", "title", "hint", "builtin",
    "fallback", "recipe", "parsers", "index", "models", "source_types", "wikiTypes", "created_at", "statistics", "name",
    "group", "file_types", "engine", "embedding", "top_k", "path", "inline", "is_default",
)  # fmt: skip
KNOWN_TEXTS = (
    "document", "doc", "policy", "faq", "check", "diagnosis/check-point", "failure-mode", "case", "own_type", "Own",
    "enum", "date", "instance", "合同", "单位 | 单位 | number | 必填", "Title | hint | required",
    "2026-01-01T00:00:00Z", "\ud800", "a\x00b", "", "  ", ".PDF", "builtin",
)  # fmt: skip

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(KNOWN_TEXTS)
json_values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(KNOWN_KEYS) | st.text(max_size=4), inner, max_size=6)
    ),
    max_leaves=24,
)
entries = st.dictionaries(st.sampled_from(KNOWN_KEYS), json_values, max_size=8)
type_lists = json_values | st.lists(entries, max_size=6)
