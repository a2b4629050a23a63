"""How the HTTP interface behaves, read from the environment once, when it starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from lorebase.errors import ConfigurationError

MIN_SECRET_CHARS: Final = 16
MIN_HS256_KEY_BYTES: Final = 32
"""RFC 7518, 3.2: a key as long as the digest."""

_PREFIX: Final = "LOREBASE_API_"
_NUMBERS: Final = (
    "max_body_bytes", "threads", "searches_at_once", "search_seconds", "ask_seconds", "max_connections"
)  # fmt: skip


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class JwtSettings(_Frozen):
    """Whose tokens are believed."""

    key: SecretStr = Field(description="Secret of HS256, or the public key of RS256 as PEM.")
    algorithm: Literal["HS256", "RS256"] = "HS256"
    audience: str = Field(min_length=1, description="A token must name it in `aud`.")
    issuer: str = Field("", description="A token must have it as `iss`; empty for any.")


class ApiSettings(_Frozen):
    """Rules of the HTTP interface.

    One of `secrets`, `jwt` and `insecure_development` says who may call; more than one may be set but the last.
    """

    secrets: tuple[SecretStr, ...] = Field((), description="Shared with the gateway; several while one is replaced.")
    jwt: JwtSettings | None = None
    insecure_development: bool = Field(
        default=False, description="Believe headers without any proof; for one person on loopback."
    )
    base_organ_ids: frozenset[int] = Field(
        frozenset({1}), description="Organisations that the workspace's bases without governance belong to."
    )
    max_body_bytes: int = Field(4 << 20, ge=1024, description="Largest JSON body.")
    threads: int = Field(15, ge=1, le=1000, description="Commands at once, and as many steps of searches.")
    searches_at_once: int = Field(
        8, ge=1, le=1000, description="Searches at once; others wait, so that those under way end within their budget."
    )
    max_connections: int = Field(500, ge=1, description="Connections at once; further ones are answered with 503.")
    search_seconds: float = Field(30.0, gt=0, description="Longest search, the wait for its turn included.")
    ask_seconds: float = Field(120.0, gt=0, description="Longest answer to a question.")

    @classmethod
    def from_environment(cls, variables: Mapping[str, str], *, insecure_development: bool = False) -> Self:
        """The settings that variables named `LOREBASE_API_...` give.

        Args:
            variables: The environment.
            insecure_development: Whether callers need no proof; then neither secret nor key may be set.

        Raises:
            ConfigurationError: A value is out of range, too short, or there is no way to know callers.
        """
        given: dict[str, Any] = {
            name: variables[_PREFIX + name.upper()] for name in _NUMBERS if variables.get(_PREFIX + name.upper())
        }
        given["secrets"] = _secrets(variables)
        given["jwt"] = _jwt(variables)
        given["insecure_development"] = insecure_development
        if organs := variables.get(_PREFIX + "BASE_ORGANS"):
            given["base_organ_ids"] = [organ.strip() for organ in organs.split(",") if organ.strip()]
        try:
            settings = cls.model_validate(given)
        except ValidationError as error:
            faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
            raise ConfigurationError(
                f"The settings of the HTTP interface have {error.error_count()} fault(s): {faults}.",
                remedy=f"Mend the variables {_PREFIX}...",
            ) from None  # the cause would print the values
        settings._require_callers_known()  # noqa: SLF001 (the same class)
        return settings

    def _require_callers_known(self) -> None:
        proven = bool(self.secrets or self.jwt)
        if not proven and not self.insecure_development:
            raise ConfigurationError(
                "Nothing says how callers prove who they are.",
                remedy="Set LOREBASE_API_SECRET, or LOREBASE_API_JWT_KEY and LOREBASE_API_JWT_AUDIENCE; for a try on "
                "this machine alone use --insecure-development.",
            )
        if proven and self.insecure_development:
            raise ConfigurationError(
                "--insecure-development goes with neither LOREBASE_API_SECRET nor LOREBASE_API_JWT_KEY.",
                remedy="Leave the option away, or unset the variable.",
            )


def _secrets(variables: Mapping[str, str]) -> list[str]:
    names = ("LOREBASE_API_SECRET", "LOREBASE_API_PREVIOUS_SECRET")
    found = {name: variables[name] for name in names if variables.get(name)}
    for name, secret in found.items():
        if len(secret) < MIN_SECRET_CHARS:
            raise ConfigurationError(
                f"{name} has {len(secret)} characters.", remedy=f"Use at least {MIN_SECRET_CHARS}, made by chance."
            )
    return list(found.values())


def _jwt(variables: Mapping[str, str]) -> dict[str, str] | None:
    key = variables.get("LOREBASE_API_JWT_KEY", "")
    if not key:
        return None
    algorithm = variables.get("LOREBASE_API_JWT_ALGORITHM") or "HS256"
    if algorithm == "HS256" and len(key.encode()) < MIN_HS256_KEY_BYTES:
        raise ConfigurationError(
            f"LOREBASE_API_JWT_KEY has {len(key.encode())} bytes.", remedy=f"HS256 needs {MIN_HS256_KEY_BYTES}."
        )
    if algorithm == "RS256" and "PUBLIC KEY" not in key:
        raise ConfigurationError("LOREBASE_API_JWT_KEY is no public key.", remedy="RS256 needs one as PEM.")
    return {
        "key": key,
        "algorithm": algorithm,
        "audience": variables.get("LOREBASE_API_JWT_AUDIENCE", ""),
        "issuer": variables.get("LOREBASE_API_JWT_ISSUER", ""),
    }
