"""Who calls: the trusted context that every service of governed knowledge asks for."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from lorebase.errors import ForbiddenError


class Capability(StrEnum):
    """What a caller may do."""

    READ = "knowledge.read"
    EDIT = "knowledge.edit"
    REVIEW = "knowledge.review"
    PROCESS = "knowledge.process"
    PUBLISH = "knowledge.publish"
    FEEDBACK = "knowledge.feedback"


ALL_CAPABILITIES = frozenset(Capability)


class PrincipalContext(BaseModel):
    """The caller as something trusted knows it: a gateway, a token, the operator's own machine. Never request input.

    The service checks organisation and capability itself; where a call comes from is no authorisation.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    organ_id: int = Field(ge=1, lt=1 << 63, description="Organisation; everything outside it does not exist.")
    user_id: str = Field(min_length=1, max_length=64, description="The operator, as the record names them.")
    capabilities: frozenset[Capability] = Field(default=frozenset(), description="What the caller may do.")
    trace_id: str = Field("", max_length=64, description="Trace that the record of each command points to.")
    request_id: str = Field("", max_length=64, description="Identity of this one command; repeats of it share it.")

    def require(self, capability: Capability) -> None:
        """Go on only with a capability.

        Raises:
            ForbiddenError: The caller lacks it.
        """
        if capability not in self.capabilities:
            raise ForbiddenError(
                f"User {self.user_id!r} lacks the capability {capability}.",
                remedy="Ask an administrator of the organisation for it.",
                capability=capability.value,
            )
