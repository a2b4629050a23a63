"""`lorebase retrieve` and `lorebase citation`: evidence from governed knowledge, and what it stands for later."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from apps.cli.governed import Acting, acts
from apps.cli.options import BaseName

if TYPE_CHECKING:
    from lorebase.retrieval.governed.evidence import RetrievalResult


class GovernedModeName(StrEnum):
    """How to search."""

    vector_search = "vector_search"
    full_text_search = "full_text_search"
    hybrid_search = "hybrid_search"


@acts
def retrieve(
    base: BaseName,
    query: Annotated[str, typer.Argument(help="The question.", show_default=False)],
    top_k: Annotated[int, typer.Option("--top-k", help="Most pieces of evidence, 1 to 20.")] = 5,
    all_tags: Annotated[list[str] | None, typer.Option("--all-tag", help="Evidence has this tag; repeatable.")] = None,
    any_tags: Annotated[
        list[str] | None, typer.Option("--any-tag", help="Evidence has one of these tags; repeatable.")
    ] = None,
    mode: Annotated[GovernedModeName | None, typer.Option(help="How to search; the best the base has.")] = None,
    *,
    acting: Acting,
) -> None:
    """Evidence from what is live of an organisation, with citations, or that there is none."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (commands import late)

    async def ask() -> RetrievalResult:
        from lorebase.retrieval.governed.request import RetrievalRequest  # noqa: PLC0415 (commands import late)

        request = RetrievalRequest(
            base_id=base,
            query=query,
            top_k=top_k,
            all_tags=tuple(all_tags or ()),
            any_tags=tuple(any_tags or ()),
            mode=mode.value if mode else None,
        )
        async with acting.service_desk() as at:
            await at.knowledge.retrieval.warm_up(base)
            return await at.knowledge.retrieval.retrieve(at.caller, request)

    found = asyncio.run(ask())
    if acting.as_json:
        print_json(found)
        return
    for evidence in found.evidence:
        place = " > ".join(evidence.citation.heading_path)
        where = f"{evidence.document_name}  {place}".rstrip()
        console().print(f"[{evidence.rank}] {where}  ({evidence.revision_id}/{evidence.chunk_id})", markup=False)
        console().print(f"{evidence.text}\n", markup=False)
    if not found.answerable:
        console().print("No evidence.")


@acts
def citation(
    revision: Annotated[int, typer.Argument(help="Id of the cited revision.", show_default=False)],
    chunk: Annotated[int, typer.Argument(help="Id of the cited chunk.", show_default=False)],
    *,
    acting: Acting,
) -> None:
    """What a citation stands for now: its text while it is live, otherwise that it was withdrawn."""
    from lorebase.retrieval.governed.citations import Citations  # noqa: PLC0415 (commands import late)

    with acting.desk() as at:
        found = Citations(at.governance.store).resolve(at.caller, revision, chunk)
    acting.show(found)
