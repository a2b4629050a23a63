"""`lorebase revision`: drafts, review, processing."""

from __future__ import annotations

import json
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from apps.cli.governed import (
    DEFAULT_ORGAN,
    Acting,
    Organ,
    PageNumber,
    PageSize,
    Reason,
    User,
    Version,
    acts,
    desk,
)
from apps.cli.options import DEFAULT_WORKSPACE, WorkspaceFolder
from lorebase.errors import NotFoundError, UsageError
from lorebase.governance.states import RevisionState

if TYPE_CHECKING:
    from lorebase.governance.model import FaqEntry

revision_app = typer.Typer(help="Revisions of governed topics.", no_args_is_help=True)

RevisionId = Annotated[int, typer.Argument(help="Id of the revision.", show_default=False)]
ItemId = Annotated[int, typer.Argument(help="Id of the item.", show_default=False)]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="Tag; repeatable.")]
Description = Annotated[str | None, typer.Option(help="Description.")]
SourceType = Annotated[str | None, typer.Option(help="Class of the document in its knowledge base.")]
Metadata = Annotated[str | None, typer.Option(help="Fields of the source type, as a JSON object.")]


class DuplicateChoice(StrEnum):
    """What to do with a file that the organisation holds already."""

    reuse_draft = "REUSE_DRAFT"
    new_revision = "NEW_REVISION"


class Work(StrEnum):
    """What a worker shall do."""

    process = "process"
    retry = "retry"
    reindex = "reindex"
    delete_index = "delete-index"


class Decision(StrEnum):
    """What becomes of a revision under review, or of a draft that is submitted."""

    submit = "submit"
    approve = "approve"
    reject = "reject"


@revision_app.command("list")
@acts
def list_revisions(
    item: Annotated[int | None, typer.Option(help="Only of this item.")] = None,
    status: Annotated[RevisionState | None, typer.Option(help="Only in this state.")] = None,
    page: PageNumber = 1,
    page_size: PageSize = 10,
    *,
    acting: Acting,
) -> None:
    """List revisions, newest first; `--status REVIEWING` is the reviewers' queue."""
    with acting.desk() as at:
        found = at.governance.revisions.list(
            at.caller, item_id=item, status=status, page_number=page, page_size=page_size
        )
    columns = ("id", "item_id", "revision_number", "status", "index_status", "version", "file_name")
    acting.show_page(found, columns)


@revision_app.command("show")
@acts
def show_revision(revision: RevisionId, *, acting: Acting) -> None:
    """Show a revision."""
    with acting.desk() as at:
        found = at.governance.revisions.get(at.caller, revision)
    acting.show(found)


@revision_app.command("original")
def original(
    revision: RevisionId,
    organ: Organ = DEFAULT_ORGAN,
    user: User = "",
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Write the original to stdout, byte for byte."""
    with desk(workspace, organ, user, dict(os.environ)) as at:
        content = at.governance.revisions.original(at.caller, revision)
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


@revision_app.command("draft")
@acts
def create_draft(
    item: Annotated[int | None, typer.Argument(help="Id of the item.")] = None,
    copy_of: Annotated[int | None, typer.Option("--from", help="Copy this revision instead.")] = None,
    tag: Tags = None,
    description: Description = None,
    source_type: SourceType = None,
    metadata: Metadata = None,
    reason: Reason = "",
    *,
    acting: Acting,
) -> None:
    """Make a draft: an empty one for an item, or a copy of a revision."""
    from lorebase.governance.drafts import DraftFields  # noqa: PLC0415 (commands import late)

    if (item is None) == (copy_of is None):
        raise UsageError("Give either an item or --from REVISION.")
    fields = DraftFields(tag, description, source_type, _metadata(metadata))
    with acting.desk() as at:
        drafts = at.governance.drafts
        found = (
            drafts.create(at.caller, item, fields, reason=reason)
            if item is not None
            else drafts.copy(at.caller, copy_of or 0, reason=reason)
        )
    acting.show(found)


@revision_app.command("edit")
@acts
def edit_draft(
    revision: RevisionId,
    version: Version,
    tag: Tags = None,
    description: Description = None,
    source_type: SourceType = None,
    metadata: Metadata = None,
    faq: Annotated[
        Path | None, typer.Option(help="JSON file: a list of {question, answer, similar_questions, enabled}.")
    ] = None,
    reason: Reason = "",
    *,
    acting: Acting,
) -> None:
    """Change a draft; what is not given stays as it is."""
    from lorebase.governance.drafts import DraftFields  # noqa: PLC0415 (commands import late)

    fields = DraftFields(tag, description, source_type, _metadata(metadata))
    entries = _faq_entries(faq) if faq else ()
    with acting.desk() as at:
        drafts = at.governance.drafts
        found = drafts.edit(at.caller, revision, fields, version=version, reason=reason)
        if entries:
            found = drafts.set_faq(at.caller, revision, entries, version=found.version, reason=reason)
    acting.show(found)


@revision_app.command("upload")
@acts
def upload_file(
    item: ItemId,
    file: Annotated[Path, typer.Argument(help="File to take in.", exists=True, dir_okay=False, show_default=False)],
    draft_version: Annotated[
        int | None, typer.Option(min=0, help="Version of the item's draft, if it has one.")
    ] = None,
    on_duplicate: Annotated[
        DuplicateChoice | None, typer.Option(help="What to do where the organisation holds the file already.")
    ] = None,
    reason: Reason = "",
    *,
    acting: Acting,
) -> None:
    """Make a file the content of the item's draft, or of a new one."""
    from lorebase.governance.file_checks import Upload  # noqa: PLC0415 (commands import late)
    from lorebase.governance.uploads import OnDuplicate  # noqa: PLC0415 (as above)

    choice = OnDuplicate(on_duplicate.value) if on_duplicate else None
    with acting.desk() as at, file.open("rb") as stream:
        found = at.governance.uploads.add_file(
            at.caller, item, Upload(file.name, stream), draft_version=draft_version, on_duplicate=choice, reason=reason
        )
    acting.show(found)


@revision_app.command("decide")
@acts
def decide(
    revision: RevisionId,
    decision: Annotated[Decision, typer.Argument(help="What to do.", show_default=False)],
    version: Version,
    reason: Reason = "",
    *,
    acting: Acting,
) -> None:
    """Submit a draft for review, approve a revision, or reject it with a reason."""
    with acting.desk() as at:
        review = at.governance.review
        act = {Decision.submit: review.submit, Decision.approve: review.approve, Decision.reject: review.reject}
        found = act[decision](at.caller, revision, version=version, reason=reason)
    acting.show(found)


@revision_app.command("request")
@acts
def request_work(
    revision: RevisionId,
    work: Annotated[Work, typer.Argument(help="What a worker shall do.", show_default=False)],
    version: Version,
    key: Annotated[str, typer.Option(help="Idempotency key; the same key is the same task.")] = "",
    reason: Reason = "",
    *,
    acting: Acting,
) -> None:
    """Make a task: process an approved revision, retry, build its index again, or free the index."""
    with acting.desk() as at:
        processing = at.governance.processing
        act = {
            Work.process: processing.start,
            Work.retry: processing.retry,
            Work.reindex: processing.reindex,
            Work.delete_index: processing.delete_index,
        }
        found = act[work](
            at.caller,
            revision,
            version=version,
            idempotency_key=key or f"{work}-{revision}-{version}",
            reason=reason,
        )
    acting.show(found)


@revision_app.command("delete")
@acts
def delete_revision(revision: RevisionId, version: Version, reason: Reason = "", *, acting: Acting) -> None:
    """Delete a revision logically; its original and its history stay."""
    with acting.desk() as at:
        found = at.governance.revisions.get(at.caller, revision)
        at.governance.revisions.delete(at.caller, revision, version=version, reason=reason)
    acting.show(found.model_copy(update={"is_deleted": True, "version": version + 1}))


def _metadata(text: str | None) -> dict[str, str | int | float | bool | None] | None:
    if text is None:
        return None
    try:
        fields = json.loads(text)
    except ValueError as error:
        raise UsageError(f"--metadata is no JSON: {error}.") from error
    if not isinstance(fields, dict):
        raise UsageError("--metadata must be a JSON object.")
    return fields


def _faq_entries(file: Path) -> tuple[FaqEntry, ...]:
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 (commands import late)

    from lorebase.governance.model import FaqEntry  # noqa: PLC0415 (as above)

    try:
        return TypeAdapter(tuple[FaqEntry, ...]).validate_json(file.read_bytes())
    except FileNotFoundError as error:
        raise NotFoundError(f"There is no file {file}.") from error
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise UsageError(f"{file} has {error.error_count()} fault(s): {faults}.") from error
