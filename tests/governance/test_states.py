"""The state machine, against the list of transitions written down independently of the code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorebase.errors import InvalidStateError, RevisionInUseError
from lorebase.governance.states import TRANSITIONS, Command, RevisionState, next_state

MOVES = """
    DRAFT SUBMIT REVIEWING
    REVIEWING REJECT DRAFT
    REVIEWING APPROVE APPROVED
    APPROVED START_PROCESSING PROCESSING
    PROCESSING FINISH_PROCESSING READY_TO_PUBLISH
    PROCESSING FAIL_PROCESSING PROCESS_FAILED
    PROCESS_FAILED RETRY_PROCESSING PROCESSING
    READY_TO_PUBLISH PUBLISH PUBLISHED
    PUBLISHED REPLACE DEPRECATED
    PUBLISHED WITHDRAW DEPRECATED
    DEPRECATED ROLL_BACK PUBLISHED
    DRAFT EDIT DRAFT
    DRAFT DELETE DRAFT
    APPROVED DELETE APPROVED
    PROCESS_FAILED DELETE PROCESS_FAILED
    READY_TO_PUBLISH DELETE READY_TO_PUBLISH
    DEPRECATED DELETE DEPRECATED
    READY_TO_PUBLISH REINDEX READY_TO_PUBLISH
    PUBLISHED REINDEX PUBLISHED
    DEPRECATED REINDEX DEPRECATED
    READY_TO_PUBLISH DELETE_INDEX READY_TO_PUBLISH
    PROCESS_FAILED DELETE_INDEX PROCESS_FAILED
    DEPRECATED DELETE_INDEX DEPRECATED
"""
EXPECTED = {(before, command): after for before, command, after in map(str.split, MOVES.strip().splitlines())}


@pytest.mark.parametrize("state", RevisionState)
@pytest.mark.parametrize("command", Command)
def test_every_pair_of_state_and_command_leads_where_the_list_says_or_is_refused(
    state: RevisionState, command: Command
) -> None:
    """K-004 to K-014, KQ-01, KQ-04."""
    expected = EXPECTED.get((state.value, command.value))

    if expected is None:
        with pytest.raises((InvalidStateError, RevisionInUseError)) as refused:
            next_state(state, command)
        assert refused.value.facts == {"state": state.value, "command": command.value}
    else:
        assert next_state(state, command).value == expected


@pytest.mark.parametrize("state", [RevisionState.REVIEWING, RevisionState.PROCESSING, RevisionState.PUBLISHED])
def test_deleting_a_revision_in_use_says_that_it_is_in_use(state: RevisionState) -> None:
    """KQ-04."""
    with pytest.raises(RevisionInUseError) as refused:
        next_state(state, Command.DELETE)

    assert refused.value.code == "REVISION_IN_USE"


@given(st.lists(st.sampled_from(Command), max_size=40))
def test_no_sequence_of_commands_publishes_what_was_not_approved_and_processed(commands: list[Command]) -> None:
    """K-021, K-022, K-025."""
    state, taken = RevisionState.DRAFT, []
    for command in commands:
        try:
            state = next_state(state, command)
        except (InvalidStateError, RevisionInUseError):
            continue
        taken.append(command)

    if state is RevisionState.PUBLISHED:
        order = [Command.SUBMIT, Command.APPROVE, Command.START_PROCESSING, Command.FINISH_PROCESSING, Command.PUBLISH]
        places = [taken.index(command) for command in order]
        assert places == sorted(places)
    assert state in RevisionState


def test_every_state_but_the_first_is_reached_and_every_state_is_left() -> None:
    reached = set(TRANSITIONS.values())
    left = {before for before, _command in TRANSITIONS}

    assert reached == set(RevisionState)
    assert left == set(RevisionState)
