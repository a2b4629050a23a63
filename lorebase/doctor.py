"""The diagnosis of a workspace, for library users and the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, SecretStr

from lorebase.diagnosis.checks import examine
from lorebase.diagnosis.model import Diagnosis
from lorebase.diagnosis.ports import Places, PrefectAddress
from lorebase.diagnosis.running import DEADLINE_SECONDS
from lorebase.recipes.model import KnowledgeRecipe
from lorebase.workspace import Workspace
from lorebase.workspace_config import WorkspaceConfig

_PROBE_BITS = 48
_AWS = "https://s3.{region}.amazonaws.com"


async def diagnose_workspace(
    workspace: Workspace,
    *,
    recipe: KnowledgeRecipe | None = None,
    prefect: PrefectAddress | None = None,
    deadline_seconds: float = DEADLINE_SECONDS,
) -> Diagnosis:
    """Whether everything that a workspace needs is there, with what to do next where it is not.

    Probe objects, tables and collections are written and removed again.

    Args:
        workspace: The workspace.
        recipe: Whose models are asked one short question each.
        prefect: Prefect's API; None where builds start their own server.
        deadline_seconds: Longest time of one check.
    """
    return await examine(
        workspace,
        places_of(workspace),
        probe_id=f"{workspace.random.getrandbits(_PROBE_BITS):012x}",
        recipe=recipe,
        prefect=prefect,
        deadline_seconds=deadline_seconds,
    )


def places_of(workspace: Workspace) -> Places:
    """Where the parts of a workspace are, and every secret of its configuration."""
    config, folder = workspace.config, workspace.folder
    objects, vectors = config.object_store, config.vector_store
    object_folder = folder / "objects" if objects is None else _local(objects.url)
    index_folder = folder / "indexes" if vectors is None else _local(vectors.uri)
    folders = {"workspace": folder, "object store": object_folder, "indexes": index_folder}
    object_url = ""
    if objects is not None and object_folder is None:
        object_url = objects.endpoint_url or _AWS.format(region=objects.region or "us-east-1")
    return Places(
        folder=folder,
        local_folders={name: place for name, place in folders.items() if place is not None},
        object_folder=object_folder,
        object_store_url=object_url,
        vector_store_uri=vectors.uri if vectors is not None and index_folder is None else "",
        vector_store_token=vectors.token.get_secret_value() if vectors is not None and vectors.token else "",
        database_url=config.database.url.get_secret_value() if config.database else "",
        docling_url=config.docling.base_url if config.docling else "",
        endpoints=config.endpoints,
        secrets=tuple(secrets_of(config)),
    )


def secrets_of(config: WorkspaceConfig) -> Iterator[str]:
    """Every secret text, and the passwords that stand inside addresses."""
    for text in _secret_texts(config):
        yield text
        password = urlsplit(text).password if "://" in text else None
        if password:
            yield password
            yield unquote(password)
        elif ":" in text and "://" not in text:  # user:password of a Milvus server
            yield text.partition(":")[2]


def _secret_texts(value: object) -> Iterator[str]:
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _secret_texts(getattr(value, name))
    elif isinstance(value, dict):
        for member in value.values():
            yield from _secret_texts(member)


def _local(address: str) -> Path | None:
    """The folder that an address names; None for the address of a service."""
    if "://" in address and not address.startswith("file://"):
        return None
    return Path(address.removeprefix("file://"))
