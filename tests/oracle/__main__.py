"""The oracle's process: its server, and the channel on which a test commands it.

Knows: standard input and output, the process. Must not know: what the commands do.

Started by `handle.Oracle`, never by hand. Frames on the channel are a length and a pickle, between two processes of
the same code; when standard input ends, the process ends.
"""

import argparse
import asyncio
import gc
import itertools
import os
import pickle
import resource
import ssl
import struct

from tests.oracle.clock import FineSelector
from tests.oracle.server import Server


async def main(tls: ssl.SSLContext | None) -> None:
    """Serve until standard input ends."""
    server = Server(tls)
    await server.up()
    reader = asyncio.StreamReader()
    await server.loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(0, "rb"))
    _tell(server.port)
    parent = os.getppid()
    for _ in itertools.count():
        try:
            (length,) = struct.unpack("!I", await asyncio.wait_for(reader.readexactly(4), 1))
            command = pickle.loads(await reader.readexactly(length))
        except TimeoutError:
            # A fork of the test process may hold our standard input open after its death.
            if os.getppid() != parent:
                return
            continue
        except asyncio.IncompleteReadError:
            return
        _tell(await server.obey(*command))


def _tell(value: object) -> None:
    body = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    frame = memoryview(struct.pack("!I", len(body)) + body)
    while frame:
        frame = frame[os.write(1, frame) :]


def run() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--certificate")
    parser.add_argument("--key")
    options = parser.parse_args()
    tls = None
    if options.certificate:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(options.certificate, options.key)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    # A collection of a full log takes tens of milliseconds, just when a token is due.
    gc.disable()
    loop = asyncio.SelectorEventLoop(FineSelector())
    loop.run_until_complete(main(tls))


if __name__ == "__main__":
    run()
