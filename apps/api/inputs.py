"""Pieces of requests that several resources share: ids, versions, reasons, names."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Header, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from lorebase.governance.store import MAX_REASON_CHARS

MAX_ROW_ID: Final = (1 << 63) - 1
_MAX_VERSION: Final = (1 << 31) - 1

PathId = Annotated[int, Path(ge=1, le=MAX_ROW_ID, description="64-bit id, as records give it.", examples=[1])]
BodyId = Annotated[int, Field(ge=1, le=MAX_ROW_ID, description="64-bit id; a text of digits is taken too.")]
QueryId = Annotated[int | None, Query(ge=1, le=MAX_ROW_ID, description="64-bit id.")]
Version = Annotated[int, Field(ge=0, le=_MAX_VERSION, description="Version of the record as the caller saw it.")]
QueryVersion = Annotated[int, Query(ge=0, le=_MAX_VERSION, description="Version of the record as the caller saw it.")]
Reason = Annotated[str, Field(max_length=MAX_REASON_CHARS, description="Why, for the record.")]
QueryReason = Annotated[str, Query(max_length=MAX_REASON_CHARS, description="Why, for the record.")]
IdempotencyKey = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        max_length=128,
        description="The same key is the same task. Without one it is made of command, revision and version.",
    ),
]
BaseName = Annotated[
    str,
    Path(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$", description="Name of a knowledge base.", examples=["handbook"]),
]
TypeId = Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$", description="Id of a type.", examples=["policy"])]


class Body(BaseModel):
    """What every JSON body has in common: unknown members are refused, so that a misspelt one is seen."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Change(Body):
    """A command on a record."""

    version: Version
    reason: Reason = ""
