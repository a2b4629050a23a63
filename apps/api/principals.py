"""Who calls: read from headers that a gateway proves with a secret, or from a signed token. Never from a body."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any, Final

import jwt
from pydantic import ValidationError
from starlette.datastructures import Headers

from apps.api.settings import ApiSettings, JwtSettings
from lorebase.errors import UnauthenticatedError
from lorebase.governance.context import ALL_CAPABILITIES, Capability, PrincipalContext

SECRET_HEADER: Final = "X-API-SECRET"  # noqa: S105 (the name of a header)
ORGAN_HEADER: Final = "X-ORGAN-ID"
USER_HEADER: Final = "X-USER-ID"
CAPABILITIES_HEADER: Final = "X-CAPABILITIES"

_LEEWAY_SECONDS: Final = 10
_KNOWN: Final = {capability.value: capability for capability in Capability}
_REMEDY: Final = "Call through the gateway, or with a valid token."


class Authenticator:
    """Tells who calls.

    Args:
        settings: Whose word is believed.
    """

    def __init__(self, settings: ApiSettings) -> None:
        self._settings = settings
        self._secrets = [secret.get_secret_value().encode() for secret in settings.secrets]

    def principal_of(self, headers: Headers, *, request_id: str, trace_id: str) -> PrincipalContext:
        """The caller.

        Args:
            headers: Of the request.
            request_id: Identity of the request, for the record.
            trace_id: Trace that it belongs to.

        Raises:
            UnauthenticatedError: Nobody trusted says who calls. The message does not tell which proof was missing.
        """
        if self._settings.jwt is not None and (token := _bearer_of(headers)):
            return _principal(_claims(token, self._settings.jwt), request_id=request_id, trace_id=trace_id)
        if self._settings.insecure_development:
            defaults = {ORGAN_HEADER: "1", USER_HEADER: "developer", CAPABILITIES_HEADER: " ".join(ALL_CAPABILITIES)}
        elif self._is_gateway(headers):
            defaults = {}
        else:
            raise _unauthenticated()
        facts = {
            "organ_id": _single(headers, ORGAN_HEADER, defaults),
            "sub": _single(headers, USER_HEADER, defaults),
            "capabilities": _single(headers, CAPABILITIES_HEADER, defaults),
        }
        return _principal(facts, request_id=request_id, trace_id=trace_id)

    def _is_gateway(self, headers: Headers) -> bool:
        given = _single(headers, SECRET_HEADER, {}).encode()
        # Each is compared in constant time, and all of them are, whichever fits.
        fits = [hmac.compare_digest(given, secret) for secret in self._secrets]
        return any(fits)


def _bearer_of(headers: Headers) -> str:
    scheme, _, token = _single(headers, "Authorization", {}).partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _claims(token: str, settings: JwtSettings) -> Mapping[str, Any]:
    try:
        claims: Mapping[str, Any] = jwt.decode(
            token,
            settings.key.get_secret_value(),
            algorithms=[settings.algorithm],
            audience=settings.audience,
            issuer=settings.issuer or None,
            leeway=_LEEWAY_SECONDS,
            options={"require": ["exp", "aud", "sub"]},
        )
    except jwt.InvalidTokenError as error:
        raise _unauthenticated() from error
    return claims


def _principal(facts: Mapping[str, Any], *, request_id: str, trace_id: str) -> PrincipalContext:
    """The caller of headers or claims; capabilities that are not known here are passed over."""
    granted = facts.get("capabilities", "")
    names = granted.replace(",", " ").split() if isinstance(granted, str) else granted
    try:
        return PrincipalContext(
            organ_id=facts.get("organ_id", 0),
            user_id=facts.get("sub", ""),
            capabilities=frozenset(_KNOWN[name] for name in names if name in _KNOWN),
            trace_id=trace_id,
            request_id=request_id,
        )
    except (ValidationError, TypeError) as error:
        raise _unauthenticated() from error


def _single(headers: Headers, name: str, defaults: Mapping[str, str]) -> str:
    """The one value of a header, UTF-8.

    Raises:
        UnauthenticatedError: It stands there twice: one of them is not the gateway's. Or it is no UTF-8.
    """
    values = headers.getlist(name)
    if len(values) > 1:
        raise _unauthenticated()
    if not values:
        return defaults.get(name, "")
    try:
        return values[0].encode("latin-1").decode()
    except UnicodeDecodeError as error:
        raise _unauthenticated() from error


def _unauthenticated() -> UnauthenticatedError:
    return UnauthenticatedError("Nobody trusted says who calls.", remedy=_REMEDY)
