"""`lorebase kb`: the registry of knowledge bases. Commands import what they need when they run, as in `main`."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from apps.cli.options import DEFAULT_WORKSPACE, AsJson, WorkspaceFolder

if TYPE_CHECKING:
    from lorebase.registry.base_changes import BaseChange
    from lorebase.registry.card_types import CardType
    from lorebase.registry.envelope import Envelope, NoData
    from lorebase.registry.service import KnowledgeBases
    from lorebase.registry.source_types import SourceType

kb_app = typer.Typer(help="The registry of knowledge bases.", no_args_is_help=True)
source_type_app = typer.Typer(help="Source types: kinds of documents, and how to tell them.", no_args_is_help=True)
card_type_app = typer.Typer(help="Card types: sections and fields of cards.", no_args_is_help=True)
kb_app.add_typer(source_type_app, name="source-type")
kb_app.add_typer(card_type_app, name="card-type")

BaseId = Annotated[str, typer.Argument(help="Id of the knowledge base.", show_default=False)]
TypeId = Annotated[str, typer.Argument(help="Id of the type.", show_default=False)]
Name = Annotated[str | None, typer.Option(help="Name for people, in any language.")]
Description = Annotated[str | None, typer.Option(help="Description.")]
RecipePath = Annotated[str | None, typer.Option(help="Recipe file; an empty text takes the reference away.")]
ParserRules = Annotated[
    list[str] | None, typer.Option("--parser", help="Engine for file types, such as `pdf,docx=docling`; repeatable.")
]
TopK = Annotated[int | None, typer.Option("--top-k", min=1, max=100, help="Results of a search that names no number.")]
Label = Annotated[str | None, typer.Option(help="Label for people, 1 to 40 characters.")]
Signals = Annotated[list[str] | None, typer.Option("--signal", help="Word that speaks for the type; repeatable.")]
Excludes = Annotated[list[str] | None, typer.Option("--exclude", help="Word that speaks against it; repeatable.")]
Sections = Annotated[list[str] | None, typer.Option("--section", help="`Title | hint | required`; repeatable.")]
Fields = Annotated[
    list[str] | None, typer.Option("--field", help="`key | label | type | required`; an empty text removes all.")
]
Examples = Annotated[list[str] | None, typer.Option("--example", help="Title of a card; repeatable.")]
Layer = Annotated[str | None, typer.Option(help="`type` or `instance`.")]
Enabled = Annotated[bool | None, typer.Option("--enabled/--disabled", help="Whether the type is used.")]
Force = Annotated[bool, typer.Option("--force", help="Delete it although it is used.")]


@kb_app.command()
def create(
    base_id: Annotated[str, typer.Argument(help="Its id; without one it is derived from the name.")] = "",
    name: Name = None,
    description: Description = None,
    recipe: RecipePath = None,
    parser: ParserRules = None,
    top_k: TopK = None,
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Make a knowledge base with the built-in types."""
    from apps.cli.envelopes import answer, base_lines  # noqa: PLC0415 (see the module's first sentence)

    change = _base_change(name=name, description=description, recipe=recipe, parsers=parser, top_k=top_k)
    answer(lambda: _opened(workspace).create(base_id, change), base_lines, as_json=as_json)


@kb_app.command("list")
def list_bases(as_json: AsJson = False, workspace: WorkspaceFolder = DEFAULT_WORKSPACE) -> None:
    """Every knowledge base, the default one first."""
    from apps.cli.envelopes import answer, list_lines  # noqa: PLC0415 (see the module's first sentence)

    answer(lambda: _opened(workspace).list(), list_lines, as_json=as_json)


@kb_app.command()
def show(base_id: BaseId, as_json: AsJson = False, workspace: WorkspaceFolder = DEFAULT_WORKSPACE) -> None:
    """One knowledge base with everything that is configured."""
    from apps.cli.envelopes import answer, base_lines  # noqa: PLC0415 (see the module's first sentence)

    answer(lambda: _opened(workspace).show(base_id), base_lines, as_json=as_json)


@kb_app.command()
def update(
    base_id: BaseId,
    name: Name = None,
    description: Description = None,
    recipe: RecipePath = None,
    parser: ParserRules = None,
    top_k: TopK = None,
    changes: Annotated[
        Path | None, typer.Option("--file", exists=True, dir_okay=False, help="JSON object with what is to change.")
    ] = None,
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Change what is given; everything else stays."""
    from apps.cli.envelopes import answer, base_lines  # noqa: PLC0415 (see the module's first sentence)

    change = _base_change(changes, name=name, description=description, recipe=recipe, parsers=parser, top_k=top_k)
    answer(lambda: _opened(workspace).update(base_id, change), base_lines, as_json=as_json)


@kb_app.command("reset-cards")
def reset_cards(base_id: BaseId, as_json: AsJson = False, workspace: WorkspaceFolder = DEFAULT_WORKSPACE) -> None:
    """Make the card types the built-in ones."""
    from apps.cli.envelopes import answer, base_lines  # noqa: PLC0415 (see the module's first sentence)

    answer(lambda: _opened(workspace).reset_card_types(base_id), base_lines, as_json=as_json)


@kb_app.command()
def delete(
    base_id: BaseId,
    purge: Annotated[bool, typer.Option("--purge", help="Delete its tree and its memory too.")] = False,
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Take a knowledge base out of the registry."""
    from apps.cli.envelopes import answer, deleted_lines  # noqa: PLC0415 (see the module's first sentence)

    answer(lambda: _opened(workspace).delete(base_id, purge=purge), deleted_lines(base_id), as_json=as_json)


@kb_app.command("import")
def import_bases(
    file: Annotated[
        Path | None,
        typer.Argument(help="A registry file; without one that of the workspace's folder, which is put aside then."),
    ] = None,
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Take over the bases of a registry file, as after the workspace was given a database."""
    from apps.cli.envelopes import answer, imported_lines  # noqa: PLC0415 (see the module's first sentence)
    from lorebase.workspace import Workspace  # noqa: PLC0415 (as above)

    answer(lambda: Workspace.load(workspace, os.environ).import_registry(file), imported_lines, as_json=as_json)


@kb_app.command()
def documents(base_id: BaseId, as_json: AsJson = False, workspace: WorkspaceFolder = DEFAULT_WORKSPACE) -> None:
    """The documents that are live, each with its source type, its tags and how many versions are kept."""
    from apps.cli.base_content import document_lines, listed_documents  # noqa: PLC0415 (see the module's first sentence)
    from apps.cli.envelopes import answer  # noqa: PLC0415 (as above)

    answer(lambda: listed_documents(base_id, workspace, os.environ), document_lines, as_json=as_json)


@kb_app.command()
def document(
    base_id: BaseId,
    name: Annotated[str, typer.Argument(metavar="DOC", help="Id of the document, or its name in its source.")],
    history: Annotated[bool, typer.Option("--history", help="Show which snapshots changed it, newest first.")] = False,
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """One document: its source type and why, what is said about it, and its history."""
    from apps.cli.base_content import detail_lines, shown_document  # noqa: PLC0415 (see the module's first sentence)
    from apps.cli.envelopes import answer  # noqa: PLC0415 (as above)

    lines = partial(detail_lines, history=history)
    answer(lambda: shown_document(base_id, name, workspace, os.environ), lines, as_json=as_json)


@kb_app.command()
def rebuild(
    base_id: BaseId,
    executor: Annotated[
        str, typer.Option(help="`prefect` rebuilds as a Prefect flow, `inline` without Prefect.")
    ] = "prefect",
    resume: Annotated[bool, typer.Option("--resume", help="Go on from what is finished.")] = False,
    wait: Annotated[float, typer.Option("--wait", min=0, help="Seconds to wait for another build to end.")] = 0.0,
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Derive everything again: source, classification, extraction, cards, compilation, each in its own layer."""
    from apps.cli.base_content import RebuildRequest, rebuild_lines, rebuilt  # noqa: PLC0415 (see the module's first sentence)
    from apps.cli.envelopes import answer  # noqa: PLC0415 (as above)

    request = RebuildRequest(base_id, workspace, resume, wait, os.environ.get("PREFECT_API_URL"))
    with_prefect = executor != "inline"
    answer(lambda: rebuilt(request, os.environ, with_prefect=with_prefect), rebuild_lines, as_json=as_json)


@source_type_app.command("update", help="Change what is given of a source type.")
@source_type_app.command("add", help="Add a source type; it needs label, description, signals and excludes.")
def put_source_type(
    context: typer.Context,
    base_id: BaseId,
    type_id: TypeId,
    *,
    label: Label = None,
    description: Description = None,
    signal: Signals = None,
    exclude: Excludes = None,
    field: Fields = None,
    enabled: Enabled = None,
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Add a type or change it, as the command's name says."""
    from apps.cli.envelopes import answer, type_lines  # noqa: PLC0415 (see the module's first sentence)
    from lorebase.registry.changes import SourceTypeChange  # noqa: PLC0415 (as above)

    given = _given(label=label, description=description, signals=signal, excludes=exclude, enabled=enabled)
    change = SourceTypeChange.from_json({**given, **_metadata_fields(field)}, type_id=type_id)

    def put() -> Envelope[SourceType | NoData]:
        types = _opened(workspace).source_types
        return types.add(base_id, change) if context.info_name == "add" else types.update(base_id, change)

    answer(put, type_lines, as_json=as_json)


@source_type_app.command("delete")
def delete_source_type(
    base_id: BaseId,
    type_id: TypeId,
    force: Force = False,
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Delete a custom source type."""
    from apps.cli.envelopes import answer, deleted_lines  # noqa: PLC0415 (see the module's first sentence)

    answer(
        lambda: _opened(workspace).source_types.delete(base_id, type_id, force=force),
        deleted_lines(type_id),
        as_json=as_json,
    )


@card_type_app.command("update", help="Change what is given of a card type; its template is derived again.")
@card_type_app.command("add", help="Add a card type; it needs label, description and sections.")
def put_card_type(
    context: typer.Context,
    base_id: BaseId,
    type_id: TypeId,
    *,
    label: Label = None,
    description: Description = None,
    layer: Layer = None,
    section: Sections = None,
    field: Fields = None,
    example: Examples = None,
    enabled: Enabled = None,
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Add a type or change it, as the command's name says."""
    from apps.cli.envelopes import answer, type_lines  # noqa: PLC0415 (see the module's first sentence)
    from lorebase.registry.changes import CardTypeChange  # noqa: PLC0415 (as above)

    given = _given(label=label, description=description, layer=layer, sections=section, fields=field)
    change = CardTypeChange.from_json({**given, **_given(examples=example, enabled=enabled)}, type_id=type_id)

    def put() -> Envelope[CardType | NoData]:
        types = _opened(workspace).card_types
        return types.add(base_id, change) if context.info_name == "add" else types.update(base_id, change)

    answer(put, type_lines, as_json=as_json)


@card_type_app.command("delete")
def delete_card_type(
    base_id: BaseId,
    type_id: TypeId,
    force: Force = False,
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Delete a custom card type."""
    from apps.cli.envelopes import answer, deleted_lines  # noqa: PLC0415 (see the module's first sentence)

    answer(
        lambda: _opened(workspace).card_types.delete(base_id, type_id, force=force),
        deleted_lines(type_id),
        as_json=as_json,
    )


def _opened(folder: Path) -> KnowledgeBases[None, None]:
    from lorebase.registered_bases import statistics_of  # noqa: PLC0415 (as above)
    from lorebase.registry.content import BaseFolders  # noqa: PLC0415 (see the module's first sentence)
    from lorebase.registry.service import KnowledgeBases  # noqa: PLC0415 (as above)
    from lorebase.workspace import Workspace  # noqa: PLC0415 (as above)

    workspace = Workspace.load(folder, os.environ)
    return KnowledgeBases(
        workspace.registry_store,
        clock=workspace.clock,
        statistics=statistics_of(workspace),
        folders=BaseFolders(workspace.folder.absolute()),
    )


def _base_change(
    changes: Path | None = None,
    *,
    name: str | None,
    description: str | None,
    recipe: str | None,
    parsers: list[str] | None,
    top_k: int | None,
) -> BaseChange:
    from apps.cli.envelopes import json_object_of  # noqa: PLC0415 (see the module's first sentence)
    from lorebase.registry.base_changes import BaseChange  # noqa: PLC0415 (as above)

    # Absolute, because a rebuild may run in another folder.
    given = _given(name=name, description=description, recipe=str(Path(recipe).absolute()) if recipe else recipe)
    if parsers is not None:
        given["parsers"] = [_parser_rule(text) for text in parsers if text]
    if top_k is not None:
        given["index"] = {"top_k": top_k}
    return BaseChange.from_json({**(json_object_of(changes) if changes else {}), **given})


def _parser_rule(text: str) -> dict[str, Any]:
    file_types, _, engine = text.partition("=")
    if not file_types.strip() or not engine.strip():
        raise typer.BadParameter(f"{text!r} is no parser rule: write it as `pdf,docx=docling`.")
    return {"file_types": file_types.split(","), "engine": engine}


def _metadata_fields(lines: list[str] | None) -> dict[str, Any]:
    from lorebase.registry.card_lines import field_of, lines_of  # noqa: PLC0415 (see the module's first sentence)

    if lines is None:
        return {}
    fields = {str(line): field_of(line) for line in lines_of(lines)}
    if bad := next((line for line, field in fields.items() if field is None), None):
        raise typer.BadParameter(f"{bad!r} is no field: write it as `key | label | type | required`.")
    return {"metadata_fields": list(fields.values())}


def _given(**options: object) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
