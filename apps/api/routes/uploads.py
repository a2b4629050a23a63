"""Files that become the content of a draft: the body is the file, taken in piece by piece."""

from __future__ import annotations

import asyncio
import tempfile
from functools import partial
from typing import IO, Annotated, BinaryIO, Final, cast

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from apps.api.inputs import PathId, QueryReason
from apps.api.services import Caller, ServicesOf
from lorebase.errors import FileTooLargeError
from lorebase.governance.context import Capability
from lorebase.governance.file_checks import Upload
from lorebase.governance.model import Revision
from lorebase.governance.uploads import OnDuplicate

router = APIRouter(prefix="/v1/items", tags=["revisions"])

_IN_MEMORY_BYTES: Final = 1 << 20


@router.post(
    "/{item_id}/file",
    status_code=201,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def upload_file(
    request: Request,
    item_id: PathId,
    file_name: Annotated[str, Query(min_length=1, max_length=1024, examples=["差旅费报销制度.docx"])],
    caller: Caller,
    services: ServicesOf,
    draft_version: Annotated[
        int | None, Query(ge=0, le=(1 << 31) - 1, description="Version of the item's draft; none where there is none.")
    ] = None,
    on_duplicate: Annotated[OnDuplicate | None, Query(description="Where the organisation holds the file.")] = None,
    reason: QueryReason = "",
) -> Revision:
    """Make a file the content of the item's draft, or of a new draft. The body is the file, `Content-Type` its type."""
    caller.require(Capability.EDIT)
    await run_in_threadpool(services.governance.items.get, caller, item_id)
    max_bytes = services.workspace.config.governance.max_file_bytes
    with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as file:
        await _receive(request, file, max_bytes)
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        add = partial(
            services.governance.uploads.add_file,
            caller,
            item_id,
            Upload(file_name, cast("BinaryIO", file), media_type),
            draft_version=draft_version,
            on_duplicate=on_duplicate,
            reason=reason,
        )
        return await run_in_threadpool(add)


async def _receive(request: Request, file: IO[bytes], max_bytes: int) -> None:
    """Write the body to `file`, and stand at its beginning.

    Raises:
        FileTooLargeError: It is larger than allowed; said before it is read where its length was announced.
    """
    announced = request.headers.get("content-length", "")
    taken = int(announced[:20]) if announced.isdecimal() else 0
    if taken <= max_bytes:
        taken = 0
        async for piece in request.stream():
            taken += len(piece)
            if taken > max_bytes:
                break
            await asyncio.to_thread(file.write, piece)
    if taken > max_bytes:
        raise FileTooLargeError(
            f"The file has more than {max_bytes} bytes.", remedy="Send a smaller one.", max_bytes=max_bytes
        )
    file.seek(0)
