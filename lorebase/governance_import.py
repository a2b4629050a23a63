"""Taking governed knowledge along when a workspace that had its own database file is given a database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lorebase.adapters.databases import open_database
from lorebase.database import Database
from lorebase.errors import ConfigurationError
from lorebase.governance.former_database import (
    ImportedKnowledge,
    LeftBehind,
    count_left_behind,
    put_aside,
    require_database_file,
    take_over,
)
from lorebase.workspace import DATABASE_FILE, Workspace


def topics_left_behind(workspace: Workspace) -> LeftBehind | None:
    """What the database file in the folder holds and the database, which is another one, does not.

    Nothing is made for the question.

    Raises:
        UnavailableError: The database does not answer.
    """
    file = workspace.folder.absolute() / DATABASE_FILE
    if not file.is_file() or _is_database_of(workspace, file):
        return None
    with _opened(file) as former:
        topics = count_left_behind(former, workspace.database)
    return LeftBehind(file, topics) if topics else None


def import_governance(workspace: Workspace, file: Path | None = None) -> ImportedKnowledge:
    """Take over the governed knowledge of a database file that the workspace's database does not have.

    Args:
        workspace: The workspace.
        file: The file, which stays as it is; without one that of the workspace's folder, which is put aside unless
            another process has it open.

    Raises:
        ConfigurationError: The file is the database.
        NotFoundError: There is no such file, or it holds no governed knowledge.
        ConflictError: Topics of both have the same key.
        UnavailableError: The database does not answer.
    """
    given = (file if file is not None else workspace.folder / DATABASE_FILE).absolute()
    if _is_database_of(workspace, given):
        raise ConfigurationError(
            f"{given} is the database of this workspace.",
            remedy="There is nothing to take over; name another file, or a database in the workspace file.",
        )
    require_database_file(given)
    with _opened(given) as former:
        done = take_over(former, workspace.database)
    aside = put_aside(given) if file is None else None
    return done.model_copy(update={"put_aside": str(aside) if aside else None})


def _is_database_of(workspace: Workspace, file: Path) -> bool:
    address = workspace.database.engine.url
    return address.get_backend_name() == "sqlite" and Path(address.database or "").resolve() == file.resolve()


@contextmanager
def _opened(file: Path) -> Iterator[Database]:
    database = open_database(f"sqlite:///{file}")
    try:
        yield database
    finally:
        database.close()
