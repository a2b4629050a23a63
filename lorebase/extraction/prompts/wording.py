"""A prompt in both languages, its version, and the frame around text that is not to be obeyed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lorebase.extraction.languages import Language
from lorebase.fingerprint import fingerprint


@dataclass(frozen=True, slots=True)
class PromptWording:
    """Instructions of a task, by language; `{name}` places in them are filled in.

    Attributes:
        task: What it is for.
        system: Instructions.
        any_type: What stands for the list of types where a recipe names none.
    """

    task: str
    system: Mapping[Language, str]
    any_type: Mapping[Language, str]

    @property
    def version(self) -> str:
        """Digest of all its words: another wording is another prompt, and gives other results."""
        return fingerprint("prompt", self.task, dict(self.system), dict(self.any_type))

    def instructions(self, language: Language, *, types: tuple[str, ...], most: int) -> str:
        """The instructions of a language for those types and that limit."""
        listed = ", ".join(types) if types else self.any_type[language]
        return self.system[language].replace("{types}", listed).replace("{most}", str(most))


def framed(text: str) -> str:
    """Text between marks that it cannot hold itself, because they are made of its digest."""
    mark = fingerprint("frame", text)[:12]
    return f"<text-{mark}>\n{text}\n</text-{mark}>"
