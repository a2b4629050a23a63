"""What is kept of a failure: a code and a fixed sentence, nothing of what the error says."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from lorebase.errors import (
    IndexMismatchError,
    LorebaseError,
    MalformedAnswerError,
    RateLimitedError,
    RefusedError,
    UnavailableError,
    UnreadableDocumentError,
)
from lorebase.governance.codes import TASK_SUMMARIES
from lorebase.governance.tables import metadata
from lorebase.governance.task_failures import Stage, failure_of
from tests.governance.world import World

SECRETS = ["机密条款第七条", "Bearer sk-live-4711", "X-Api-Key: k-0815", '{"input": ["whole prompt"]}']


@pytest.mark.parametrize(
    ("error", "stage", "code", "retryable"),
    [
        (TimeoutError(), Stage.PARSE, "PARSE_TIMEOUT", False),
        (UnreadableDocumentError("x", reason="CORRUPT"), Stage.PARSE, "PARSE_FAILED", False),
        (UnavailableError("x"), Stage.PARSE, "PARSE_FAILED", True),
        (RuntimeError(), Stage.CHUNK, "CHUNKING_FAILED", False),
        (RateLimitedError("x"), Stage.EMBED, "EMBEDDING_RATE_LIMIT", True),
        (RefusedError("x"), Stage.EMBED, "EMBEDDING_FAILED", False),
        (MalformedAnswerError("x"), Stage.INDEX, "EMBEDDING_DIMENSION_MISMATCH", False),
        (UnavailableError("x"), Stage.INDEX, "VECTOR_WRITE_FAILED", True),
        (IndexMismatchError("x"), Stage.INDEX, "INDEX_MISMATCH", False),
        (IndexMismatchError("x"), Stage.RECONCILE, "INDEX_MISMATCH", False),
        (ValueError("x"), Stage.RECONCILE, "UNKNOWN", False),
        (KeyError("x"), None, "UNKNOWN", False),
    ],
)
def test_stage_and_kind_of_error_decide_the_code(
    error: Exception, stage: Stage | None, code: str, retryable: bool
) -> None:
    """KQ-22, KQ-23."""
    failure = failure_of(error, stage)

    assert (failure.code, failure.retryable) == (code, retryable)


@given(st.text(min_size=1), st.sampled_from([*Stage, None]), st.sampled_from([ValueError, LorebaseError, OSError]))
def test_the_summary_is_the_catalogues_sentence_whatever_the_error_says(
    words: str, stage: Stage | None, kind: type[Exception]
) -> None:
    """K-038."""
    failure = failure_of(kind(words), stage)

    assert failure.summary == TASK_SUMMARIES[failure.code]


def chained(kind: type[Exception], secret: str) -> Exception:
    """An error that carries a secret in its text, its notes, its facts and its cause."""
    error = kind(f"400 Bad Request: {secret}")
    error.add_note(secret)
    if isinstance(error, LorebaseError):
        error.facts["request"] = secret
    error.__cause__ = ValueError(secret)
    return error


@pytest.mark.parametrize("kind", [ValueError, UnavailableError, UnreadableDocumentError, RefusedError])
@pytest.mark.parametrize("stage", [*Stage, None])
def test_nothing_of_a_failure_reaches_a_table_or_a_log_record(
    world: World, caplog: pytest.LogCaptureFixture, kind: type[Exception], stage: Stage | None
) -> None:
    """K-038, K-039."""
    caplog.set_level(logging.DEBUG)
    for secret in SECRETS:
        world.started()
        claimed = world.governance.tasks.claim("w")
        assert claimed is not None
        world.governance.tasks.fail(claimed, chained(kind, secret), stage)

    with world.database.reading() as connection:
        cells = [
            str(cell) for table in metadata.sorted_tables for row in connection.execute(select(table)) for cell in row
        ]
    lines = [f"{record.getMessage()} {record.args} {record.exc_info} {record.exc_text}" for record in caplog.records]
    assert len(cells) > 100
    assert any("task" in line for line in lines)
    for secret in SECRETS:
        assert not [text for text in cells + lines if secret in text]
