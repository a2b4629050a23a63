"""The states of a revision and of its index, and which command leads where: one table."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from lorebase.errors import InvalidStateError, RevisionInUseError


class RevisionState(StrEnum):
    """Where a revision stands between being written and being replaced."""

    DRAFT = "DRAFT"
    REVIEWING = "REVIEWING"
    APPROVED = "APPROVED"
    PROCESSING = "PROCESSING"
    READY_TO_PUBLISH = "READY_TO_PUBLISH"
    PROCESS_FAILED = "PROCESS_FAILED"
    PUBLISHED = "PUBLISHED"
    DEPRECATED = "DEPRECATED"


class IndexStatus(StrEnum):
    """What the search indexes hold of a revision."""

    NOT_INDEXED = "NOT_INDEXED"
    INDEXING = "INDEXING"
    INDEXED = "INDEXED"
    INDEX_FAILED = "INDEX_FAILED"
    INDEX_DELETED = "INDEX_DELETED"


class Command(StrEnum):
    """What can be done to a revision."""

    EDIT = "EDIT"
    SUBMIT = "SUBMIT"
    REJECT = "REJECT"
    APPROVE = "APPROVE"
    START_PROCESSING = "START_PROCESSING"
    RETRY_PROCESSING = "RETRY_PROCESSING"
    FINISH_PROCESSING = "FINISH_PROCESSING"
    FAIL_PROCESSING = "FAIL_PROCESSING"
    PUBLISH = "PUBLISH"
    REPLACE = "REPLACE"
    WITHDRAW = "WITHDRAW"
    ROLL_BACK = "ROLL_BACK"
    REINDEX = "REINDEX"
    DELETE_INDEX = "DELETE_INDEX"
    DELETE = "DELETE"


TRANSITIONS: Mapping[tuple[RevisionState, Command], RevisionState] = {
    (RevisionState.DRAFT, Command.SUBMIT): RevisionState.REVIEWING,
    (RevisionState.REVIEWING, Command.REJECT): RevisionState.DRAFT,
    (RevisionState.REVIEWING, Command.APPROVE): RevisionState.APPROVED,
    (RevisionState.APPROVED, Command.START_PROCESSING): RevisionState.PROCESSING,
    (RevisionState.PROCESSING, Command.FINISH_PROCESSING): RevisionState.READY_TO_PUBLISH,
    (RevisionState.PROCESSING, Command.FAIL_PROCESSING): RevisionState.PROCESS_FAILED,
    # The approval stays valid: what was reviewed has not changed.
    (RevisionState.PROCESS_FAILED, Command.RETRY_PROCESSING): RevisionState.PROCESSING,
    (RevisionState.READY_TO_PUBLISH, Command.PUBLISH): RevisionState.PUBLISHED,
    (RevisionState.PUBLISHED, Command.REPLACE): RevisionState.DEPRECATED,
    (RevisionState.PUBLISHED, Command.WITHDRAW): RevisionState.DEPRECATED,
    (RevisionState.DEPRECATED, Command.ROLL_BACK): RevisionState.PUBLISHED,
}
"""Every change of state there is."""

KEEPS_STATE: Mapping[Command, frozenset[RevisionState]] = {
    Command.EDIT: frozenset({RevisionState.DRAFT}),
    Command.REINDEX: frozenset({RevisionState.READY_TO_PUBLISH, RevisionState.PUBLISHED, RevisionState.DEPRECATED}),
    Command.DELETE_INDEX: frozenset(
        {RevisionState.READY_TO_PUBLISH, RevisionState.PROCESS_FAILED, RevisionState.DEPRECATED}
    ),
    Command.DELETE: frozenset(
        {
            RevisionState.DRAFT,
            RevisionState.APPROVED,
            RevisionState.PROCESS_FAILED,
            RevisionState.READY_TO_PUBLISH,
            RevisionState.DEPRECATED,
        }
    ),
}
"""The states in which a command is allowed that leaves the state as it is."""

_IN_USE = {RevisionState.REVIEWING, RevisionState.PROCESSING, RevisionState.PUBLISHED}
_NEEDS_A_REVISION_AT_REST = {Command.DELETE, Command.DELETE_INDEX}


def next_state(state: RevisionState, command: Command) -> RevisionState:
    """The state after a command.

    Raises:
        RevisionInUseError: Deleting, of the revision or of its index, while it is live, under review or processed.
        InvalidStateError: The state has no such command.
    """
    after = TRANSITIONS.get((state, command))
    if after is not None:
        return after
    if state in KEEPS_STATE.get(command, frozenset()):
        return state
    if command in _NEEDS_A_REVISION_AT_REST and state in _IN_USE:
        raise RevisionInUseError(
            f"A revision that is {state} cannot take {command}.",
            remedy="Decide the review, wait for the processing, or take it offline first.",
            state=state.value,
            command=command.value,
        )
    allowed = sorted(known.value for known in RevisionState if _allows(known, command))
    raise InvalidStateError(
        f"A revision that is {state} cannot take {command}.",
        remedy=f"It is allowed in {', '.join(allowed)}.",
        state=state.value,
        command=command.value,
    )


def _allows(state: RevisionState, command: Command) -> bool:
    return (state, command) in TRANSITIONS or state in KEEPS_STATE.get(command, frozenset())
