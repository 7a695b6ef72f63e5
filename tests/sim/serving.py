"""A simulated server in a thread of its own, for tests that speak to it over a socket."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from loadband.sim.profile import Profile
from loadband.sim.server import Server


class Serving:
    """The running server: its port, and its parts for a look."""

    def __init__(self) -> None:
        self.port = 0
        self.server: Server
        self.loop: asyncio.AbstractEventLoop
        self.up = threading.Event()


@contextmanager
def serving(profile: Profile) -> Iterator[Serving]:
    """Serve a profile on a free port of 127.0.0.1."""
    seen = Serving()
    over = asyncio.Event()

    async def main() -> None:
        seen.loop = asyncio.get_running_loop()
        seen.server = Server(profile)
        seen.port = await seen.server.listen("127.0.0.1", 0)
        seen.up.set()
        await over.wait()
        seen.server.close()
        await asyncio.sleep(0)

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    assert seen.up.wait(10)
    try:
        yield seen
    finally:
        seen.loop.call_soon_threadsafe(over.set)
        thread.join(10)
