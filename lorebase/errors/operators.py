"""Errors that whoever runs Lorebase mends."""

from __future__ import annotations

from lorebase.errors.root import LorebaseError


class OperatorError(LorebaseError):
    """Who runs Lorebase has to change something."""

    code = "OPERATOR_ERROR"


class ConfigurationError(OperatorError):
    """The workspace or an endpoint is configured in a way that cannot work."""

    code = "CONFIGURATION_ERROR"


class ConflictError(OperatorError):
    """Somebody else holds or has changed the thing."""

    code = "CONFLICT"
    retryable = True


class BuildFailedError(OperatorError):
    """A step or a build came to an end without its result."""

    code = "BUILD_FAILED"


class MissingArtifactError(BuildFailedError):
    """A step needs an artifact that does not exist in this build."""

    code = "MISSING_ARTIFACT"


class BuildCancelledError(OperatorError):
    """The build was asked to stop; it goes on from here when it is started again."""

    code = "BUILD_CANCELLED"


class OperationCancelledError(OperatorError):
    """The caller of an operation no longer wants its result."""

    code = "OPERATION_CANCELLED"


class BudgetExceededError(OperatorError):
    """The next call to a model would pass the run's budget. `facts` holds the limit and what was spent."""

    code = "BUDGET_EXCEEDED"


class NewerFormatError(OperatorError):
    """A file or database was written by a newer program; it is neither read nor written."""

    code = "NEWER_FORMAT"


class CorruptObjectError(OperatorError):
    """An object of the store is not what its name or manifest says."""

    code = "CORRUPT_OBJECT"


class GateNotMetError(OperatorError):
    """An evaluation stayed below a floor of its gate; `facts["missed"]` names metric, value and floor."""

    code = "GATE_NOT_MET"


class MigrationError(OperatorError):
    """A move of a knowledge tree cannot be done or went wrong. `facts["reason"]` is an UPPER_SNAKE reason."""

    code = "MIGRATION_FAILED"


class GovernedWorkError(OperatorError):
    """A flow over governed knowledge failed. Only the code of the cause is named: causes quote documents."""

    code = "GOVERNED_WORK_FAILED"


class IndexMismatchError(OperatorError):
    """The index does not hold what the relational store says it holds; `facts` names the differences."""

    code = "INDEX_MISMATCH"
