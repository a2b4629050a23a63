"""The block through which Prefect keeps its results in a workspace's own object store."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Self

from prefect.filesystems import WritableFileSystem
from pydantic import Field, HttpUrl, PrivateAttr, SecretStr

from lorebase.adapters.object_stores import LocalObjectStore, S3ObjectStore, open_object_store
from lorebase.workspace_config import ObjectStoreConfig

RESULTS_PREFIX = "prefect-results"
"""Folder of the object store that Prefect's results lie in."""

_DOCUMENTATION_URL = HttpUrl("https://docs.prefect.io/v3/advanced/results")


class LorebaseObjectStore(WritableFileSystem):
    """Result storage in a folder or an S3 bucket, by the same code that keeps artifacts.

    Examples:
        Load a saved object store:
        ```python
        from blocks import LorebaseObjectStore

        store = LorebaseObjectStore.load("BLOCK_NAME")
        ```
    """

    _block_type_name = "Lorebase Object Store"
    _block_type_slug = "lorebase-object-store"
    _documentation_url = _DOCUMENTATION_URL
    _store: LocalObjectStore | S3ObjectStore | None = PrivateAttr(default=None)

    url: str = Field(default=..., description="A folder, or an address such as s3://bucket/prefix.")
    prefix: str = Field(default=RESULTS_PREFIX, description="Folder of the store below which everything lies.")
    endpoint_url: str | None = Field(default=None, description="Address of an S3 store other than AWS.")
    key: SecretStr | None = Field(
        default=None, description="Access key; without one the machine's own credentials are used."
    )
    secret: SecretStr | None = Field(default=None, description="Secret of the access key.")
    region: str | None = Field(default=None, description="Region of the bucket.")

    @classmethod
    def of(cls, config: ObjectStoreConfig | None, folder: Path) -> Self:
        """The block for a workspace's object store; without a configuration it is the embedded one in `folder`."""
        if config is None:
            return cls(url=str((folder / "objects").resolve()))
        url = config.url if "://" in config.url else str(Path(config.url).resolve())
        return cls(
            url=url, endpoint_url=config.endpoint_url, key=config.key, secret=config.secret, region=config.region
        )

    def get_store(self) -> LocalObjectStore | S3ObjectStore:
        """The object store, opened when first asked for."""
        if self._store is None:
            self._store = open_object_store(
                self.url,
                endpoint_url=self.endpoint_url,
                key=self.key.get_secret_value() if self.key else None,
                secret=self.secret.get_secret_value() if self.secret else None,
                region=self.region,
            )
        return self._store

    def close(self) -> None:
        """Give the store's connections back; a later call opens them anew."""
        if self._store is not None:
            self._store.close()

    # Prefect's result store calls the plain methods with `_sync=True`, and refuses blocks without the parameter.
    def read_path(self, path: str, *, _sync: bool | None = None) -> bytes:  # type: ignore[override]  # declared async, called as plain
        """The content at a path.

        Raises:
            NotFoundError: There is nothing.
        """
        del _sync
        return self.get_store().get(self._resolve_path(path))

    def write_path(self, path: str, content: bytes, *, _sync: bool | None = None) -> None:  # type: ignore[override]  # declared async, called as plain
        """Write the content at a path, whole or not at all."""
        del _sync
        self.get_store().put(self._resolve_path(path), content)

    async def aread_path(self, path: str) -> bytes:
        """The content at a path, read in a thread."""
        return await asyncio.to_thread(self.read_path, path)

    async def awrite_path(self, path: str, content: bytes) -> None:
        """Write the content at a path, in a thread."""
        await asyncio.to_thread(self.write_path, path, content)

    def _resolve_path(self, path: str) -> str:
        """The key of a path. Prefect asks for it too, for blocks that are not saved, and later reads by the answer."""
        root = self.prefix.strip("/")
        if not root or path == root or path.startswith(f"{root}/"):
            return path
        return f"{root}/{path.lstrip('/')}" if path else root
