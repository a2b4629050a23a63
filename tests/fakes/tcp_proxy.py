"""A loopback TCP proxy before a server that is taken away: refused, cut off, or cut at a chosen message."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from tests.fakes.loopback_proxy import LoopbackProxy


class TcpProxy(LoopbackProxy):
    """Serves in a thread of this process.

    Args:
        host: Address of the server.
        port: Its port.
        socket_path: Where the server listens on a socket of the file system instead.

    Attributes:
        is_down: While it is set, connections are closed as soon as they are made.
        cut_at: Asked for each piece of bytes that a client sends; where it says so, that client's connection is closed,
            and the server never sees the piece.
        cut_answer_at: As `cut_at`, but the server sees the piece and acts on it; its answer is lost.
        cuts: How many connections were closed because of these two.
    """

    def __init__(self, host: str = "", port: int = 0, *, socket_path: str = "") -> None:
        super().__init__()
        self._host, self._port, self._socket_path = host, port, socket_path
        self.is_down = False
        self.cut_at: Callable[[bytes], bool] = lambda _piece: False
        self.cut_answer_at: Callable[[bytes], bool] = lambda _piece: False
        self.cuts = 0
        self._writers: set[asyncio.StreamWriter] = set()

    def cut(self) -> None:
        """Close all connections, as a server that is restarted does."""

        async def close_all() -> None:
            for writer in list(self._writers):
                writer.transport.abort()

        asyncio.run_coroutine_threadsafe(close_all(), self._loop).result(10)

    def take_down(self) -> None:
        """Close all connections and take no new ones."""
        self.is_down = True
        self.cut()

    def bring_back(self) -> None:
        """Serve again."""
        self.is_down = False

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            if not self.is_down:
                await self._pass_on(reader, writer)
        finally:
            self._writers.discard(writer)
            writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._socket_path:
            server_reader, server_writer = await asyncio.open_unix_connection(self._socket_path)
        else:
            server_reader, server_writer = await asyncio.open_connection(self._host, self._port)
        unanswered = asyncio.Event()

        def is_cut(piece: bytes) -> bool:
            if self.cut_answer_at(piece):
                unanswered.set()
            return self._counted(self.cut_at(piece))

        to_server = self._copy(reader, server_writer, is_cut)
        to_client = self._copy(server_reader, writer, lambda _answer: self._counted(unanswered.is_set()))
        both = [asyncio.ensure_future(way) for way in (to_server, to_client)]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in both:
                one.cancel()
            server_writer.transport.abort()

    def _counted(self, cut: bool) -> bool:
        self.cuts += cut
        return cut

    @staticmethod
    async def _copy(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_cut: Callable[[bytes], bool]
    ) -> None:
        with suppress(ConnectionError):
            while piece := await reader.read(1 << 16):
                if is_cut(piece):
                    return
                writer.write(piece)
                await writer.drain()
