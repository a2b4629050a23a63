"""Run by `milvus_server` as the first process of its namespaces: starts Milvus, and passes connections on to it.

Arguments: the descriptor of the listening socket, that of a pipe which gets `ready`, and the folder of the server.
"""

import asyncio
import fcntl
import os
import socket
import struct
import sys
import threading

from milvus import MilvusServer, MilvusServerConfig

SET_FLAGS = 0x8914
UP_AND_RUNNING = 0x41


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sh14x", b"lo", UP_AND_RUNNING))


def end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)  # and with the first process of the namespace all others


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(1 << 16):
            writer.write(piece)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def serve(listening: socket.socket, port: int, ready: int) -> None:
    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            to_server = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionError:
            writer.close()
            return
        await asyncio.gather(pump(reader, to_server[1]), pump(to_server[0], writer))

    server = await asyncio.start_server(pass_on, sock=listening)
    os.write(ready, b"ready")
    os.close(ready)
    await server.serve_forever()


def main() -> None:
    listening, ready, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    threading.Thread(target=end_with_parent, daemon=True).start()
    raise_loopback()
    config = MilvusServerConfig(data_dir=folder)
    config.set("proxy.timeTickInterval", 50)  # a strong read waits for the next tick
    config.set("common.session.ttl", 5)  # so long a killed server's parts count as alive, and keep their collections
    server = MilvusServer(config)
    server.start()
    asyncio.run(serve(socket.socket(fileno=listening), server.listen_port, ready))


if __name__ == "__main__":
    main()
