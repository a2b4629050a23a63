"""Commands that search a base and look at its graph. They import what they need when they run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from apps.cli.options import DEFAULT_WORKSPACE, AsJson, BaseName, Mode, WorkspaceFolder, opened


def search(
    name: BaseName,
    query: Annotated[str, typer.Argument(help="What to search for.", show_default=False)] = "",
    mode: Annotated[Mode, typer.Option(help="Query mode.")] = Mode.hybrid_search,
    top_k: Annotated[int, typer.Option("--top-k", help="Most results, 1 to 100.")] = 5,
    questions: Annotated[
        Path | None, typer.Option(help="JSON file with a list of {question: ...}; each is searched for.")
    ] = None,
    then_rerank: Annotated[
        bool, typer.Option("--rerank", help="Let the reranker order what rewrite_search or multihop_search found.")
    ] = False,
    source_type: Annotated[
        list[str] | None, typer.Option("--source-type", help="Only documents of this type; repeatable, any of them.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="Only documents with this tag or key=value; repeatable.")
    ] = None,
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Search a knowledge base; every result says where it stands."""
    from apps.cli.output import console, print_json, show_results  # noqa: PLC0415 (see the module's second sentence)
    from apps.cli.searching import document_filter, questions_of, search_base  # noqa: PLC0415 (as above)

    asked = questions_of(query, questions)
    where = document_filter(source_type or (), tag or ())
    found = asyncio.run(
        search_base(name, asked, mode.value, top_k, opened(workspace), then_rerank=then_rerank, where=where)
    )
    if as_json:
        print_json(found[0] if questions is None else found)
        return
    for result in found:
        show_results(result, console())


def entities(
    name: BaseName,
    undo: Annotated[
        str, typer.Option("--undo", metavar="MERGE", help="Keep the two names of a merge apart from the next build on.")
    ] = "",
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Most entities to list.")] = 50,
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """The entities of a knowledge base, which names were merged and why; or undo a merge."""
    from apps.cli.graph import entity_lines, entity_list, undone, undone_lines  # noqa: PLC0415 (see the module's second sentence)
    from apps.cli.output import console, print_json  # noqa: PLC0415 (as above)

    parted = undone(name, undo, opened(workspace)) if undo else None
    found = None if parted else asyncio.run(entity_list(name, opened(workspace), limit))
    if as_json:
        print_json(parted or found or {})
        return
    for line in (*(undone_lines(parted) if parted else ()), *(entity_lines(found) if found else ())):
        console().print(line, markup=False)


def graph(
    name: BaseName,
    entity: Annotated[str, typer.Argument(help="Name or id of an entity; the largest where none is given.")] = "",
    html: Annotated[Path | None, typer.Option("--html", help="Write a drawing as a self-contained page.")] = None,
    hops: Annotated[int, typer.Option(min=1, max=2, help="How many relations away from the entity.")] = 1,
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """What is around an entity in the knowledge graph, with the chunks that say so."""
    from apps.cli.graph import graph_view, view_lines, write_page  # noqa: PLC0415 (see the module's second sentence)
    from apps.cli.output import console, print_json  # noqa: PLC0415 (as above)

    view = asyncio.run(graph_view(name, entity, opened(workspace), hops))
    if html is not None:
        write_page(view, html)
    if as_json:
        print_json(view)
        return
    if html is not None:
        console().print(f"{html}: {len(view.entities)} entities, {len(view.relations)} relations.", markup=False)
        return
    for line in view_lines(view):
        console().print(line, markup=False)
