"""Who acts in governed knowledge from the command line, and how its records are printed."""

from __future__ import annotations

import getpass
import inspect
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from apps.cli.options import DEFAULT_WORKSPACE, AsJson, WorkspaceFolder

if TYPE_CHECKING:
    from pydantic import BaseModel

    from lorebase.governance.context import PrincipalContext
    from lorebase.governance.model import Page
    from lorebase.governance.service import Governance
    from lorebase.governed_knowledge import GovernedKnowledge

DEFAULT_ORGAN = 1

Organ = Annotated[int, typer.Option(envvar="LOREBASE_ORGAN_ID", min=1, help="Organisation to act in.")]
User = Annotated[str, typer.Option(envvar="LOREBASE_USER", help="Who acts; the login name where none is given.")]
Reason = Annotated[str, typer.Option(help="Why, for the record.")]
Version = Annotated[int, typer.Option("--version", min=0, help="Version that `show` printed.", show_default=False)]
PageNumber = Annotated[int, typer.Option("--page", min=1, help="Page, from 1.")]
PageSize = Annotated[int, typer.Option("--page-size", min=1, max=100, help="Records on a page.")]


def operator(organ: int, user: str, request_id: str = "") -> PrincipalContext:
    """Who acts on this machine: an operator who may do everything.

    Args:
        organ: Organisation.
        user: Who acts; empty for the login name.
        request_id: Identity of the command; the same again is a repeat.
    """
    from lorebase.governance.context import ALL_CAPABILITIES, PrincipalContext  # noqa: PLC0415 (commands import late)

    return PrincipalContext(
        organ_id=organ, user_id=user or getpass.getuser(), capabilities=ALL_CAPABILITIES, request_id=request_id
    )


@dataclass(frozen=True, slots=True)
class Desk:
    """The operator's place: the services, and who acts. On their own machine an operator may do everything."""

    governance: Governance
    caller: PrincipalContext


@contextmanager
def desk(workspace: Path, organ: int, user: str, variables: dict[str, str]) -> Iterator[Desk]:
    """The services of a workspace, for a caller of an organisation.

    Args:
        workspace: Folder of the workspace.
        organ: Organisation.
        user: Who acts; empty for the login name.
        variables: Values for `${NAME}` in the workspace file.
    """
    from lorebase.workspace import Workspace  # noqa: PLC0415 (commands import late)

    governance = Workspace.load(workspace, variables).open_governance()
    try:
        yield Desk(governance, operator(organ, user))
    finally:
        governance.close()


@dataclass(frozen=True, slots=True)
class ServiceDesk:
    """As `Desk`, with everything that searches and publishes."""

    knowledge: GovernedKnowledge
    caller: PrincipalContext


@asynccontextmanager
async def service_desk(
    workspace: Path, organ: int, user: str, variables: dict[str, str], *, request_id: str = ""
) -> AsyncIterator[ServiceDesk]:
    """As `desk`, with index and models.

    Args:
        workspace: Folder of the workspace.
        organ: Organisation.
        user: Who acts; empty for the login name.
        variables: Values for `${NAME}` in the workspace file.
        request_id: Identity of the command; the same again is a repeat.
    """
    from lorebase.governed_knowledge import GovernedKnowledge  # noqa: PLC0415 (commands import late)
    from lorebase.workspace import Workspace  # noqa: PLC0415 (as above)

    caller = operator(organ, user, request_id)
    async with await GovernedKnowledge.open(Workspace.load(workspace, variables)) as knowledge:
        yield ServiceDesk(knowledge, caller)


@dataclass(frozen=True, slots=True)
class Acting:
    """What the commands of governed knowledge are told alike: where and as whom they act, and how they answer."""

    organ: int
    user: str
    as_json: bool
    workspace: Path

    def desk(self) -> AbstractContextManager[Desk]:
        """As `desk`, with the environment's values in the workspace file."""
        return desk(self.workspace, self.organ, self.user, dict(os.environ))

    def service_desk(self, request_id: str = "") -> AbstractAsyncContextManager[ServiceDesk]:
        """As `service_desk`, with the environment's values in the workspace file."""
        return service_desk(self.workspace, self.organ, self.user, dict(os.environ), request_id=request_id)

    def show(self, record: BaseModel) -> None:
        """One record, as `show`."""
        show(record, as_json=self.as_json)

    def show_page(self, page: Page[Any], columns: Sequence[str]) -> None:
        """A page of records, as `show_page`."""
        show_page(page, columns, as_json=self.as_json)


def acts(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options --organ, --user, --json and --workspace, which reach it as its argument `acting`."""

    @wraps(command)
    def run(*, organ: int, user: str, as_json: bool, workspace: Path, **own: object) -> None:
        command(**own, acting=Acting(organ, user, as_json, workspace))

    told = inspect.signature(command, eval_str=True)
    own = [parameter for name, parameter in told.parameters.items() if name != "acting"]
    # Typer reads a command's options off its signature.
    run.__signature__ = told.replace(parameters=[*own, *_acting_options()])  # type: ignore[attr-defined]
    return run


def _acting_options() -> Iterator[inspect.Parameter]:
    rows: tuple[tuple[str, Any, object], ...] = (
        ("organ", Organ, DEFAULT_ORGAN),
        ("user", User, ""),
        ("as_json", AsJson, False),
        ("workspace", WorkspaceFolder, DEFAULT_WORKSPACE),
    )
    for name, annotation, default in rows:
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def show(record: BaseModel, *, as_json: bool) -> None:
    """One record: JSON, or a line a field that says something."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (commands import late)

    if as_json:
        print_json(record)
        return
    screen = console()
    for name, value in record.model_dump(mode="json").items():
        if value is not False and value not in ("", [], {}):
            screen.print(f"{name:>24}  {'-' if value is None else value}", markup=False)


def show_page(page: Page[Any], columns: Sequence[str], *, as_json: bool) -> None:
    """A page of records: JSON, or a line a record."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (commands import late)

    if as_json:
        print_json(page)
        return
    screen = console()
    if page.records:
        screen.print("  ".join(columns), style="dim")
    for record in page.records:
        values = record.model_dump(mode="json")
        screen.print("  ".join(str(values[name]) for name in columns), markup=False)
    pages = f"page {page.page_number} of {max(page.total_pages, 1)}"
    screen.print(f"{len(page.records)} of {page.total}, {pages}.", markup=False)
