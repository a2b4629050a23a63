"""Services that answer a diagnosis as a test says."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from lorebase.diagnosis.ports import DatabaseAnswer, HttpAnswer
from lorebase.errors import UnavailableError


class ScriptedProbe:
    """Answers by the end of the address; whatever has no answer cannot be reached. Keeps the headers it was given."""

    def __init__(self, sent_at: datetime | None = None, **answers: tuple[int, str]) -> None:
        self._sent_at = sent_at
        self._answers = answers
        self.headers: list[Mapping[str, str]] = []

    async def fetch(self, url: str, headers: Mapping[str, str], timeout_seconds: float) -> HttpAnswer:
        self.headers.append(headers)
        name = url.rstrip("/").rsplit("/", 1)[-1].replace("-", "_")
        if name not in self._answers:
            raise UnavailableError(f"{url} cannot be reached.", remedy="Start it.")
        status, text = self._answers[name]
        return HttpAnswer(status=status, sent_at=self._sent_at, server="scripted", text=text)

    def try_database(self, url: str, table: str) -> DatabaseAnswer:
        raise UnavailableError(f"The database does not answer: {url}.", remedy="Start it.")

    async def milvus_version(self, uri: str, token: str) -> str:
        return "2.6.0"
