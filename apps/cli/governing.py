"""`lorebase item`, `revision`, `release`, `task` and `feedback`: governed knowledge from the command line."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from apps.cli.governed import (
    DEFAULT_ORGAN,
    Acting,
    PageNumber,
    PageSize,
    Reason,
    User,
    Version,
    acts,
    service_desk,
)
from apps.cli.governing_releases import release_app
from apps.cli.governing_retrieval import citation, retrieve
from apps.cli.governing_revisions import revision_app
from apps.cli.options import DEFAULT_WORKSPACE, AsJson, BaseName, WorkspaceFolder
from lorebase.governance.kinds import FeedbackKind, FeedbackStatus, TaskStatus

if TYPE_CHECKING:
    from lorebase.governance.model import Task

item_app = typer.Typer(help="Governed topics.", no_args_is_help=True)
task_app = typer.Typer(help="Work on revisions.", no_args_is_help=True)
feedback_app = typer.Typer(help="Remarks about answers.", no_args_is_help=True)

ItemId = Annotated[int, typer.Argument(help="Id of the item.", show_default=False)]
TaskId = Annotated[int, typer.Argument(help="Id of the task.", show_default=False)]


def register_governance(app: typer.Typer) -> None:
    """Add the sub-commands to the command line."""
    app.add_typer(item_app, name="item")
    app.add_typer(revision_app, name="revision")
    app.add_typer(release_app, name="release")
    app.add_typer(task_app, name="task")
    app.add_typer(feedback_app, name="feedback")
    app.command()(retrieve)
    app.command()(citation)


@item_app.command("create")
@acts
def create_item(
    base: BaseName,
    key: Annotated[str, typer.Argument(help="Stable key in the organisation.", show_default=False)],
    title: Annotated[str, typer.Argument(help="Title.", show_default=False)],
    description: Annotated[str, typer.Option(help="Description.")] = "",
    reason: Reason = "",
    *,
    acting: Acting,
) -> None:
    """Make a topic."""
    with acting.desk() as at:
        item = at.governance.items.create(
            at.caller, base_id=base, knowledge_key=key, title=title, description=description, reason=reason
        )
    acting.show(item)


@item_app.command("list")
@acts
def list_items(
    base: Annotated[str | None, typer.Option(help="Only of this knowledge base.")] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="The deleted ones instead.")] = False,
    page: PageNumber = 1,
    page_size: PageSize = 10,
    *,
    acting: Acting,
) -> None:
    """List topics, oldest first."""
    with acting.desk() as at:
        found = at.governance.items.list(
            at.caller, base_id=base, deleted=deleted, page_number=page, page_size=page_size
        )
    acting.show_page(found, ("id", "base_id", "knowledge_key", "title"))


@item_app.command("show")
@acts
def show_item(item: ItemId, *, acting: Acting) -> None:
    """Show a topic."""
    with acting.desk() as at:
        found = at.governance.items.get(at.caller, item)
    acting.show(found)


@item_app.command("history")
@acts
def item_history(item: ItemId, page: PageNumber = 1, page_size: PageSize = 10, *, acting: Acting) -> None:
    """Every command on a topic and its revisions, newest first: who, when, why."""
    with acting.desk() as at:
        found = at.governance.revisions.history(at.caller, item, page_number=page, page_size=page_size)
    columns = ("created_at", "operator", "command", "revision_id", "state_before", "state_after", "reason")
    acting.show_page(found, columns)


@item_app.command("delete")
@acts
def delete_item(item: ItemId, version: Version, reason: Reason = "", *, acting: Acting) -> None:
    """Delete a topic logically; its history and its key stay."""
    with acting.desk() as at:
        found = at.governance.items.get(at.caller, item)
        at.governance.items.delete(at.caller, item, version=version, reason=reason)
    acting.show(found.model_copy(update={"is_deleted": True, "version": version + 1}))


@item_app.command("restore")
@acts
def restore_item(item: ItemId, version: Version, reason: Reason = "", *, acting: Acting) -> None:
    """Take back the deletion of a topic."""
    with acting.desk() as at:
        found = at.governance.items.restore(at.caller, item, version=version, reason=reason)
    acting.show(found)


@item_app.command("import")
def import_items(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="A workspace's lorebase.db; without one that of the workspace's folder, which is put aside then."
        ),
    ] = None,
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Take over everything governed of a database file, as after the workspace was given a database."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (commands import late)
    from lorebase.governance_import import import_governance  # noqa: PLC0415 (as above)
    from lorebase.workspace import Workspace  # noqa: PLC0415 (as above)

    opened = Workspace.load(workspace, os.environ)
    try:
        done = import_governance(opened, file)
    finally:
        opened.database.close()
    if as_json:
        print_json(done)
        return
    screen = console()
    rows = ", ".join(f"{count} {table.removeprefix('knowledge_')}" for table, count in done.imported.items() if count)
    screen.print(f"{rows or 'Nothing'} taken over, {done.there_already} row(s) in the database already.", markup=False)
    if done.put_aside:
        screen.print(f"The file is {done.put_aside} now.", markup=False)
    elif file is None:
        screen.print("The file stayed: another process has it open. End that, and repeat the command.", markup=False)


@task_app.command("list")
@acts
def list_tasks(
    status: Annotated[TaskStatus | None, typer.Option(help="Only in this status.")] = None,
    revision: Annotated[int | None, typer.Option(help="Only of this revision.")] = None,
    page: PageNumber = 1,
    page_size: PageSize = 10,
    *,
    acting: Acting,
) -> None:
    """List tasks, newest first."""
    with acting.desk() as at:
        found = at.governance.processing.list(
            at.caller, status=status, revision_id=revision, page_number=page, page_size=page_size
        )
    columns = ("id", "kind", "revision_id", "status", "attempts", "error_code", "error_message")
    acting.show_page(found, columns)


@task_app.command("run")
def run_tasks(
    max_tasks: Annotated[int, typer.Option(min=1, help="Most tasks to work on.")] = 1000,
    user: User = "",
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Work on the due tasks of all organisations, here and now."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (commands import late)

    async def run() -> list[Task]:
        async with service_desk(workspace, DEFAULT_ORGAN, user, dict(os.environ)) as at:
            return await at.knowledge.worker(f"cli-{os.getpid()}").run_due(max_tasks)

    ended = asyncio.run(run())
    if as_json:
        print_json(ended)
        return
    for task in ended:
        text = f"{task.id}  {task.kind}  {task.revision_id}  {task.status}  {task.error_code}".rstrip()
        console().print(text, markup=False)
    console().print("1 task." if len(ended) == 1 else f"{len(ended)} tasks.")


@task_app.command("show")
@acts
def show_task(task: TaskId, *, acting: Acting) -> None:
    """Show a task."""
    with acting.desk() as at:
        found = at.governance.processing.get(at.caller, task)
    acting.show(found)


@task_app.command("cancel")
@acts
def cancel_task(task: TaskId, reason: Reason = "", *, acting: Acting) -> None:
    """Take back a task that waits."""
    with acting.desk() as at:
        found = at.governance.tasks.cancel(at.caller, task, reason=reason)
    acting.show(found)


@feedback_app.command("report")
@acts
def report_feedback(
    revision: Annotated[int, typer.Argument(help="Id of the cited revision.", show_default=False)],
    kind: Annotated[FeedbackKind, typer.Argument(help="What was wrong.", show_default=False)],
    chunk: Annotated[int | None, typer.Option(help="Id of the cited chunk.")] = None,
    note: Annotated[str, typer.Option(help="Short remark or correction, never the conversation.")] = "",
    *,
    acting: Acting,
) -> None:
    """Report what was wrong with an answer."""
    with acting.desk() as at:
        found = at.governance.feedback.report(at.caller, revision, kind, chunk_id=chunk, note=note)
    acting.show(found)


@feedback_app.command("list")
@acts
def list_feedback(
    status: Annotated[FeedbackStatus, typer.Option(help="Only in this status.")] = FeedbackStatus.OPEN,
    page: PageNumber = 1,
    page_size: PageSize = 10,
    *,
    acting: Acting,
) -> None:
    """List feedback, oldest first."""
    with acting.desk() as at:
        found = at.governance.feedback.list(at.caller, status=status, page_number=page, page_size=page_size)
    acting.show_page(found, ("id", "kind", "revision_id", "reported_by", "note"))


@feedback_app.command("close")
@acts
def close_feedback(
    feedback: Annotated[int, typer.Argument(help="Id of the feedback.", show_default=False)],
    version: Version,
    status: Annotated[FeedbackStatus, typer.Option(help="RESOLVED or DISMISSED.")] = FeedbackStatus.RESOLVED,
    answered_by: Annotated[int | None, typer.Option(help="Revision that mends it.")] = None,
    reason: Reason = "",
    *,
    acting: Acting,
) -> None:
    """Take a feedback off the queue."""
    with acting.desk() as at:
        found = at.governance.feedback.close(
            at.caller, feedback, status, version=version, answered_by_revision_id=answered_by, reason=reason
        )
    acting.show(found)
