"""How the results of a query came about: by which of its searches, and what its models took."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

HopsEnded = Literal["enough", "most_hops", "repeated", "nothing_new"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FoundBy(_Frozen):
    """A search that found a chunk; one with neither variant nor hop is that of the question itself."""

    mode: str = Field(description="Base mode.")
    query: str = Field(description="What was searched for.")
    rank: int = Field(description="Where the chunk stood among what it found, from 1.")
    variant: int | None = Field(None, description="Number of the rewriting of the question, from 1.")
    hop: int | None = Field(None, description="Number of the further question, from 1.")


class SearchDone(_Frozen):
    """One of the searches behind a result, also where it found nothing."""

    query: str
    variant: int | None = None
    hop: int | None = None
    found: int = Field(description="How many chunks it found.")


class QueryTrace(_Frozen):
    """What was done for a query that asks a model."""

    base_mode: str
    searches: tuple[SearchDone, ...] = Field(description="The question itself first.")
    reranked: int = Field(0, description="How many candidates the reranker saw.")
    hops_ended: HopsEnded | None = Field(
        None,
        description="Why a multi-hop search ended: the model had enough, all its hops were used, it asked again what "
        "had been asked, or a hop found no evidence that was not there yet.",
    )
    prompt_version: str = Field("", description="Digest of the prompt; empty where the mode itself has none.")


class RoleUsage(_Frozen):
    """What the calls to one model took."""

    calls: int = 0
    cached_calls: int = Field(0, description="Calls that were answered by kept replies; they took nothing.")
    input_tokens: int = 0
    output_tokens: int = 0


class QueryUsage(_Frozen):
    """What the models took for one query, by role; a chat model that reranks counts as chat."""

    chat: RoleUsage = RoleUsage()
    rerank: RoleUsage = RoleUsage()
    embedding: RoleUsage = RoleUsage()
