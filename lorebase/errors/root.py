"""What every error of Lorebase carries."""

from __future__ import annotations

from typing import Any, ClassVar, Self


class LorebaseError(Exception):
    """Facts and one sentence.

    Attributes:
        code: Stable UPPER_SNAKE identity of the kind of error.
        retryable: Whether the same call may succeed later without any change of its input. Retries ask nothing else.
        message: One sentence that names the thing and what happened to it.
        remedy: What to do next; empty where the message says it.
        facts: The values behind the sentence, JSON-like.
    """

    code: ClassVar[str] = "LOREBASE_ERROR"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, remedy: str = "", **facts: Any) -> None:  # noqa: ANN401 (facts are any JSON value)
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.facts = facts

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".rstrip()

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.message, self.remedy, self.facts))

    @classmethod
    def _from_parts(cls, message: str, remedy: str, facts: dict[str, Any]) -> Self:
        return cls(message, remedy=remedy, **facts)


def _rebuild(kind: type[LorebaseError], message: str, remedy: str, facts: dict[str, Any]) -> LorebaseError:
    return kind._from_parts(message, remedy, facts)  # noqa: SLF001 (same module, the pickle entry)
