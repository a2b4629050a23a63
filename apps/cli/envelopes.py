"""Answering with an envelope: JSON alone on stdout, or text for people; the exit code says how it went."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import typer

from apps.cli import exit_codes
from apps.cli.output import console, print_json
from lorebase.errors import LorebaseError, UsageError
from lorebase.registry.card_types import CardType
from lorebase.registry.envelope import Envelope, NoData, failure_of
from lorebase.registry.former_file import ImportedBases
from lorebase.registry.source_types import SourceType
from lorebase.registry.views import BaseSummary, KnowledgeBaseView

_CONFLICTS = frozenset({"DUPLICATE_BASE_ID", "DUPLICATE_TYPE_ID", "TYPE_IN_USE"})
_SHOWN = 40

Data = TypeVar("Data")


def answer(act: Callable[[], Envelope[Data]], lines: Callable[[Data], Iterable[str]], *, as_json: bool) -> None:
    """Run a command and print its envelope; exit with another code than 0 where it is a failure.

    Args:
        act: The command.
        lines: Its data for people.
        as_json: Whether the envelope itself is printed, also for an error that the command raised.
    """
    try:
        envelope = act()
    except LorebaseError as raised:
        if not as_json:
            raise
        print_json(failure_of(NoData(), raised))
        sys.stderr.write(f"lorebase: {raised}\n")
        raise typer.Exit(exit_codes.exit_code_of(raised)) from raised
    if as_json:
        print_json(envelope)
    elif envelope.error is None:
        for line in lines(envelope.data):
            console().print(line, markup=False)
    for warning in envelope.warnings:
        sys.stderr.write(f"lorebase: {warning}\n")
    if envelope.error is not None:
        error = envelope.error
        sys.stderr.write(f"lorebase: {error.code}: {error.message} {error.suggestion}".rstrip() + "\n")
        raise typer.Exit(exit_codes.CONFLICT if error.code in _CONFLICTS else exit_codes.USAGE)


def list_lines(bases: tuple[BaseSummary, ...]) -> Iterator[str]:
    """The bases as a list."""
    if not bases:
        yield "No knowledge bases."
    for base in bases:
        mark = "*" if base.is_default else " "
        yield f"{mark} {base.id:<{_SHOWN}}  {base.source_count:>6} documents  {base.card_count:>6} cards  {base.name}"


def base_lines(base: KnowledgeBaseView) -> Iterator[str]:
    """One base with what is configured."""
    yield f"{base.id}: {base.name}{' (default)' if base.is_default else ''}"
    if base.description:
        yield f"  {base.description}"
    yield f"  tree          {base.root_dir}"
    if base.recipe is not None:
        yield f"  recipe        {base.recipe.path or 'inline'}"
    for rule in base.parsers:
        yield f"  parser        {', '.join(rule.file_types)} -> {rule.engine}"
    yield f"  results       {base.index.top_k}"
    yield f"  content       {base.source_count} documents, {base.card_count} cards, {base.note_count} notes"
    yield f"  source types  {_names(base.source_types)}"
    changed = " (customised)" if base.card_types_customised else ""
    yield f"  card types    {_names(base.card_types)}{changed}"


def type_lines(known: SourceType | CardType | NoData) -> Iterator[str]:
    """One type."""
    match known:
        case SourceType():
            yield f"{known.id}: {known.label}{'' if known.enabled else ' (disabled)'}"
            yield f"  {known.description}"
            yield f"  signals   {', '.join(known.signals)}"
            yield f"  excludes  {', '.join(known.excludes)}"
            for field in known.metadata_fields:
                yield f"  field     {field.key} ({field.type}{', required' if field.required else ''})"
        case CardType():
            yield f"{known.id}: {known.label}{'' if known.enabled else ' (disabled)'}"
            yield f"  {known.description}"
            yield from (f"  {line}".rstrip() for line in known.template.splitlines())
        case NoData():
            return


def deleted_lines(what: str) -> Callable[[object], Iterable[str]]:
    """That something was deleted."""
    return lambda _: [f"Deleted {what}."]


def imported_lines(done: ImportedBases) -> Iterator[str]:
    """What was taken over from a registry file."""
    yield f"{len(done.imported)} knowledge base(s) taken over, {len(done.there_already)} in the registry already."
    if done.put_aside is not None:
        yield f"The file is {done.put_aside} now."


def json_object_of(path: Path) -> dict[str, Any]:
    """The JSON object of a file.

    Raises:
        UsageError: It holds none.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no JSON: {error}.") from error
    if not isinstance(data, dict):
        raise UsageError(f"{path} holds no JSON object.", remedy='Write it as {"name": "..."}.')
    return data


def _names(types: Iterable[SourceType] | Iterable[CardType]) -> str:
    return ", ".join(known.id if known.enabled else f"{known.id} (disabled)" for known in types)
