"""Memory of a user who reads stream after stream: `python -m benchmarks.stream_memory`.

3,000 streams of 20 kB, then 50 of 2 MB, one after the other over one kept connection. What a process holds after a
tenth of each kind is compared with what it holds at the end: anything kept of an answer would show.

Knows: how a request is made and read. Must not know: Locust, records, files.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

from loadband.load.connection import Connection, parse_address
from loadband.load.dialects import dialect_of
from loadband.load.exchange import Exchange, Timeouts
from loadband.load.request import request_head, whole_request
from loadband.load.says import Sampling
from loadband.record import Status

SMALL, LARGE = 20_000, 2_000_000
"""Bytes of a stream."""
STREAMS, LARGE_STREAMS = 3_000, 50
ALLOWED_MB = 8.0
"""Growth above this is a leak: the allocator's own arenas move by a few."""
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def body(size: int) -> bytes:
    """An answer of so many bytes; each event has a text of its own."""
    events: list[bytes] = []
    length = 0
    while length < size:
        choice = {"index": 0, "delta": {"content": f" word{len(events)}"}, "finish_reason": None}
        event = b"data: %b\n\n" % json.dumps({"id": "s", "model": "m", "choices": [choice]}).encode()
        events.append(b"%x\r\n%b\r\n" % (len(event), event))
        length += len(event)
    end = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    return b"".join(events) + b"%x\r\n%b\r\n0\r\n\r\n" % (len(end), end)


def serve() -> None:
    """Answer every request with as many bytes as its `max_tokens` says, until standard input ends."""
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)

    def answer_all() -> None:
        answers = {size: HEAD + body(size) for size in (SMALL, LARGE)}
        while True:
            user, _ = listener.accept()
            with user:
                while asked := user.recv(65536):
                    user.sendall(answers[json.loads(asked.partition(b"\r\n\r\n")[2])["max_tokens"]])

    threading.Thread(target=answer_all, daemon=True).start()
    sys.stdin.read()


def resident_mb() -> float:
    """Memory that this process holds."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def read_all(port: int, size: int, count: int) -> tuple[float, float]:
    """Read so many streams of that size; MB held after a tenth of them, and at the end."""
    address, limits, dialect = parse_address(f"http://127.0.0.1:{port}"), Timeouts(), dialect_of("openai-chat")
    connection = Connection(address, limits.connect_s)
    asked = dialect.body(Sampling("m"), [{"role": "user", "content": "hello"}], size)
    request = whole_request(request_head(dialect.path("m"), address, None), asked)
    early = 0.0
    for number in range(1, count + 1):
        exchange = Exchange(connection, dialect, limits)
        exchange.run(request)
        if exchange.status != Status.OK:
            raise SystemExit(f"stream_memory: a stream failed: {exchange.failure}")
        if number == max(1, count // 10):
            early = resident_mb()
    connection.close()
    return early, resident_mb()


def main() -> int:
    """Read, say what is held, and exit 1 when it grew."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stream_memory", description=__doc__)
    parser.add_argument("--streams", type=int, default=STREAMS, help="of 20 kB")
    parser.add_argument("--large", type=int, default=LARGE_STREAMS, help="of 2 MB")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        serve()
        return 0
    lines, grown = table(chosen.streams, chosen.large)
    print(*lines, sep="\n")
    return int(grown)


def table(streams: int, large: int) -> tuple[list[str], bool]:
    """A line for each kind of stream, and whether memory grew."""
    lines, grown = [], False
    command = [sys.executable, "-m", "benchmarks.stream_memory", "--serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        port = int(server.stdout.readline()) if server.stdout else 0
        for size, count in ((SMALL, streams), (LARGE, large)):
            early, late = read_all(port, size, count)
            grown = grown or late - early > ALLOWED_MB
            kind = f"{count:,} streams of {size / 1000:,.0f} kB"
            lines.append(f"{kind}: {early:.1f} MB after a tenth, {late:.1f} MB at the end")
        server.communicate()
    return lines, grown


if __name__ == "__main__":
    sys.exit(main())
