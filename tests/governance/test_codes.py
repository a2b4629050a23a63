"""Error codes and their statuses."""

from __future__ import annotations

import pytest

from lorebase import errors
from lorebase.governance.codes import HTTP_STATUS, TASK_SUMMARIES, TaskErrorCode

CATALOGUE = {
    "VALIDATION_ERROR": 400, "UNAUTHENTICATED": 401, "FORBIDDEN": 403, "NOT_FOUND": 404, "INVALID_STATE": 409,
    "VERSION_CONFLICT": 409, "RELEASE_CONFLICT": 409, "DRAFT_CONFLICT": 409, "REVIEW_IN_PROGRESS": 409,
    "REVISION_IN_USE": 409, "INDEX_NOT_READY": 409, "DUPLICATE_SOURCE": 409, "IDEMPOTENCY_CONFLICT": 409,
    "FILE_TOO_LARGE": 413, "UNSUPPORTED_TYPE": 415, "MIME_MISMATCH": 415, "UNSAFE_FILENAME": 400,
    "INDEX_MISMATCH": 500, "DEPENDENCY_UNAVAILABLE": 503, "RETRIEVAL_TIMEOUT": 503,
}  # fmt: skip


def all_codes() -> set[str]:
    kinds: list[type[errors.LorebaseError]] = [errors.LorebaseError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return {kind.code for kind in kinds}


@pytest.mark.parametrize(("code", "status"), CATALOGUE.items())
def test_a_code_of_the_catalogue_has_its_class_and_its_status(code: str, status: int) -> None:
    """KQ-23."""
    assert HTTP_STATUS[code] == status
    assert code in all_codes()


def test_no_status_stands_for_a_code_that_nothing_raises() -> None:
    assert set(HTTP_STATUS) <= all_codes()


def test_every_task_error_has_its_sentence() -> None:
    assert set(TASK_SUMMARIES) == set(TaskErrorCode)
