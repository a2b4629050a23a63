"""The source types of the registry as rules for drafts."""

from __future__ import annotations

from collections.abc import Mapping

from lorebase.clock import Clock
from lorebase.errors import InvalidInputError
from lorebase.governance.model import Scalar
from lorebase.registry.declared_fields import metadata_issues
from lorebase.registry.record import read_record
from lorebase.registry.stores import RegistryStore


class RegistrySourceTypes:
    """What the registry says of a base's source types. A base that is not in the registry declares nothing."""

    def __init__(self, registry: RegistryStore, clock: Clock) -> None:
        self._registry = registry
        self._clock = clock

    def check(self, base_id: str, source_type: str, metadata: Mapping[str, Scalar]) -> None:
        """Pass where a document of this type may carry these fields; missing and undeclared fields are for reviewers.

        Raises:
            InvalidInputError: The base has no such type in use, or a field has a value of another type than declared.
        """
        stored = self._registry.read_one(base_id).by_id.get(base_id)
        if stored is None or not source_type:
            return
        types = {known.id: known for known in read_record(stored, base_id, self._clock.now()).record.source_types}
        found = types.get(source_type)
        if found is None or not found.enabled:
            usable = ", ".join(known.id for known in types.values() if known.enabled)
            raise InvalidInputError(
                f"The knowledge base {base_id!r} has no source type {source_type!r} in use.",
                remedy=f"Use one of {usable}.",
                field="source_type",
            )
        problems = [issue for issue in metadata_issues(metadata, found.metadata_fields) if issue.severity == "error"]
        if problems:
            raise InvalidInputError(
                " ".join(problem.message for problem in problems),
                remedy=f"Give the fields that the source type {source_type!r} declares.",
                field="metadata",
            )
