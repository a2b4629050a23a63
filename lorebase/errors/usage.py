"""Errors of a call, a command line or a definition of an application."""

from __future__ import annotations

from lorebase.errors.operators import OperatorError


class UsageError(OperatorError):
    """A call or command line is not of the form it must have."""

    code = "USAGE_ERROR"


class NotFoundError(UsageError):
    """The named thing does not exist."""

    code = "NOT_FOUND"


class UnknownIdError(NotFoundError):
    """A catalog was asked for an id that is not registered in it."""

    code = "UNKNOWN_ID"


class InvalidDataSetError(UsageError):
    """A data set has faults, or does not fit the base it evaluates; `facts["faults"]` names each with its place."""

    code = "INVALID_DATA_SET"


class InvalidDefinitionError(UsageError):
    """A definition of an application cannot be registered: blank or repeated ids, references that lead nowhere."""

    code = "INVALID_DEFINITION"


class InvalidSelectionError(UsageError):
    """A reading of a knowledge document selects nothing, or something twice."""

    code = "INVALID_SELECTION"


class OverlappingSelectionError(InvalidSelectionError):
    """A reading selects a section and one inside it, so that the same paragraph would be evidence twice."""

    code = "OVERLAPPING_SELECTION"


class SelectionTooLongError(InvalidSelectionError):
    """A reading is longer than the catalog's limit. Evidence is never cut. `facts` holds length and limit."""

    code = "SELECTION_TOO_LONG"


class CardNotConfirmedError(UsageError):
    """A card with faults is to be accepted, and nobody has confirmed it; `facts["faults_of_card"]` lists them."""

    code = "CARD_NOT_CONFIRMED"


class SchemaError(UsageError):
    """A value does not fit its schema; `facts["issues"]` says where and why."""

    code = "SCHEMA_MISMATCH"


class MissingFieldError(UsageError):
    """A text master was rendered without a value for one of its fields; `facts["field"]` names it."""

    code = "MISSING_FIELD"


class OutputNotPassedError(UsageError):
    """An output was to be composed from an input that its check does not pass; `facts["issues"]` says what is wrong."""

    code = "OUTPUT_NOT_PASSED"


class ContractError(UsageError):
    """A function that the application registered gave what it must not give."""

    code = "CONTRACT_BROKEN"


class AnswerContractError(ContractError):
    """A run of an answer flow was asked for, or one of its handlers answered, in a form that it must not have."""

    code = "ANSWER_CONTRACT_BROKEN"
