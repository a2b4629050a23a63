"""What Milvus and its client say, as errors of ours."""

from __future__ import annotations

import pytest
from pymilvus.exceptions import MilvusException, ParamError

from lorebase.adapters.milvus.milvus_errors import CollectionNotFoundError, CollectionNotLoadedError, translated
from lorebase.errors import MalformedAnswerError, RefusedError, UnavailableError


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (MilvusException(100, "can't find collection[name=x]"), CollectionNotFoundError),
        (MilvusException(101, "collection not loaded[collection=1]"), CollectionNotLoadedError),
        (MilvusException(1, "[search] Retry timeout: 30s"), UnavailableError),
        (MilvusException(2, "Fail connecting to server on 10.0.0.1:19530"), UnavailableError),
        (MilvusException(4, "request limit exceeded"), UnavailableError),
        (MilvusException(8, "rate limit exceeded"), UnavailableError),
        (MilvusException(103, "collection not fully loaded[collection=1]"), UnavailableError),
        (MilvusException(503, "channel not available[channel=by-dev-rootcoord-dml_0]"), UnavailableError),
        (MilvusException(903, "node lacks: no available node"), UnavailableError),
        (MilvusException(110, "collection schema version not ready", retriable=True), UnavailableError),
        (MilvusException(700, "index not found[collection=x]"), RefusedError),
        (ParamError(message="`limit` value -1 is illegal"), RefusedError),
        (MilvusException(1100, "Invalid expr"), RefusedError),
        (MilvusException(1800, "auth check failure, please check api key is correct"), RefusedError),
        (MilvusException(65535, "the length(3) of float data should divide the dim(2)"), MalformedAnswerError),
    ],
)
def test_each_answer_becomes_the_error_of_who_has_to_act(error: MilvusException, kind: type[Exception]) -> None:
    found = translated(error, "http://milvus:19530")

    assert type(found) is kind
    assert found.facts["dependency"] == "milvus"


def test_too_many_waiting_requests_are_not_taken_for_a_missing_collection() -> None:
    assert translated(MilvusException(4, "request limit exceeded"), "m").retryable


def test_refused_credentials_name_the_token_as_remedy() -> None:
    assert "token" in str(translated(MilvusException(1800, "auth check failure"), "m"))
