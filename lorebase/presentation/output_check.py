"""What is wrong with what a model wrote for an output, and what of it is right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lorebase.errors import SchemaError
from lorebase.operation import Issue, refuse_awaitable, schema_issues
from lorebase.operation.issues import PathPart
from lorebase.presentation.output_schema import CHILDREN, OUTPUT_ID, VALUE
from lorebase.presentation.outputs import GroupOutput, ModelField, OutputDefinition, SemanticField, model_fields_of

_Path = tuple[PathPart, ...]


@dataclass(slots=True)
class CheckedOutput:
    """The outcome of looking at one value.

    Attributes:
        values: What is right, parsed, by field; for a group the children that are wholly right.
        issues: What is wrong, in the order of the definition; all of it another answer of the model can mend.
    """

    values: dict[str, object] = field(default_factory=dict)
    issues: list[Issue] = field(default_factory=list)


def checked_output(
    definition: OutputDefinition, value: object, require: Callable[[str], OutputDefinition], path: _Path = ()
) -> CheckedOutput:
    """Look at a value as the model wrote it: an object with a value for each field of the model, and nothing more.

    Args:
        definition: The output.
        value: Anything.
        require: Finds the outputs that a group allows.
        path: Where the value stands in the whole.

    Raises:
        ContractError: A schema gave something to await.
        Exception: Whatever a schema raises that is no SchemaError: time-outs, cancellation, faults of the program.
    """
    if isinstance(definition, GroupOutput):
        return _checked_group(definition, value, require, path)
    fields = model_fields_of(definition)
    checked, given = _opened(value, [field.id for field in fields], path)
    for model_field in fields:
        if model_field.id in given:
            _check_field(checked, definition, model_field, given[model_field.id], (*path, model_field.id))
    return checked


def _opened(value: object, names: Sequence[str], path: _Path) -> tuple[CheckedOutput, Mapping[object, object]]:
    """The value as an object, with the issues of missing and unexpected fields."""
    checked = CheckedOutput()
    if not isinstance(value, Mapping):
        message = f"There should be an object here, not {type(value).__name__}."
        checked.issues.append(Issue(code="NOT_AN_OBJECT", message=message, path=path))
        return checked, {}
    for name in names:
        if name not in value:
            message = f"The field {name!r} is missing."
            checked.issues.append(Issue(code="MISSING_FIELD", message=message, path=(*path, name)))
    for name in value:
        if name not in names:
            message = f"The field {name!r} is not one to be written here."
            checked.issues.append(Issue(code="UNEXPECTED_FIELD", message=message, path=(*path, str(name))))
    return checked, value


def _check_field(
    checked: CheckedOutput, definition: OutputDefinition, model_field: ModelField, value: object, path: _Path
) -> None:
    if isinstance(model_field, SemanticField):
        if isinstance(value, str) and value in model_field.semantic_keys:
            checked.values[model_field.id] = value
        else:
            message = f"The key should be one of these: {', '.join(model_field.semantic_keys)}."
            checked.issues.append(Issue(code="UNKNOWN_KEY", message=message, path=path))
        return
    giver = f"The schema of the field {model_field.id!r} of the output {definition.id!r}"
    try:
        checked.values[model_field.id] = refuse_awaitable(model_field.value_schema.parse(value), giver)
    except SchemaError as error:
        found = schema_issues(error) or (Issue(code="INVALID_VALUE", message=error.message),)
        checked.issues += [_at(issue, path) for issue in found]


def _checked_group(
    definition: GroupOutput, value: object, require: Callable[[str], OutputDefinition], path: _Path
) -> CheckedOutput:
    checked, given = _opened(value, (CHILDREN,), path)
    if CHILDREN not in given:
        return checked
    children, path = given[CHILDREN], (*path, CHILDREN)
    if not isinstance(children, Sequence) or isinstance(children, str | bytes):
        message = f"There should be a list here, not {type(children).__name__}."
        checked.issues.append(Issue(code="NOT_A_LIST", message=message, path=path))
        return checked
    if not children:
        checked.issues.append(Issue(code="EMPTY_GROUP", message="There should be at least one child.", path=path))
    kept: list[object] = []
    for at, child in enumerate(children):
        checked_child = _checked_child(definition, child, require, (*path, at))
        checked.issues += checked_child.issues
        if not checked_child.issues:
            kept.append(checked_child.values)
    checked.values[CHILDREN] = tuple(kept)
    return checked


def _checked_child(
    group: GroupOutput, child: object, require: Callable[[str], OutputDefinition], path: _Path
) -> CheckedOutput:
    checked, given = _opened(child, (OUTPUT_ID, VALUE), path)
    if OUTPUT_ID not in given:
        return checked
    output_id = given[OUTPUT_ID]
    if not isinstance(output_id, str) or output_id not in group.allowed_output_ids:
        message = f"The output should be one of these: {', '.join(group.allowed_output_ids)}."
        checked.issues.append(Issue(code="UNKNOWN_OUTPUT", message=message, path=(*path, OUTPUT_ID)))
        return checked
    if VALUE in given:
        inner = checked_output(require(output_id), given[VALUE], require, (*path, VALUE))
        checked.issues += inner.issues
        checked.values = {OUTPUT_ID: output_id, VALUE: inner.values}
    return checked


def _at(issue: Issue, path: _Path) -> Issue:
    return issue.model_copy(update={"path": (*path, *issue.path)})
