"""Callers of the HTTP interface in tests: who they are, as a gateway would say it."""

from __future__ import annotations

from collections.abc import Mapping

SECRET = "a-secret-of-the-gateway"

ALL = "knowledge.read knowledge.edit knowledge.review knowledge.process knowledge.publish knowledge.feedback"


def gateway(organ_id: int = 1, user_id: str = "author", capabilities: str = ALL) -> Mapping[str, str]:
    """Headers of a caller whom the gateway knows."""
    return {
        "X-API-SECRET": SECRET,
        "X-ORGAN-ID": str(organ_id),
        "X-USER-ID": user_id,
        "X-CAPABILITIES": capabilities,
    }


OWN, STRANGER = gateway(), gateway(organ_id=8, user_id="stranger")
REVIEWER = gateway(user_id="reviewer")
