"""Events that the simulated server sends per second of one core: `python -m benchmarks.simulator_events`.

The server is a process of its own with steps of a millisecond; clients here read and count `data:` lines. What counts
is the server's own processor time, so that it says the same on a busy machine.

Knows: how to start the simulator and read sockets. Must not know: what an event says.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROFILE = """
about = "as fast as it goes"
model = "fast"
max_model_len = 100000
[scheduler]
max_num_seqs = 1024
max_num_batched_tokens = 4096
[memory]
blocks = 1000000
[step]
base_ms = 1.0
[answers]
mean = 1000
"""


async def read(port: int, seconds: float) -> int:
    """One endless stream for so long; its events."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    asked = {"messages": [{"role": "user", "content": "go"}], "max_tokens": 90000, "ignore_eos": True, "stream": True}
    body = json.dumps(asked).encode()
    writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    events, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        events += (await reader.read(1 << 16)).count(b"data: ")
    writer.close()
    return events


async def load(port: int, streams: int, seconds: float) -> int:
    """Events of all streams."""
    return sum(await asyncio.gather(*(read(port, seconds) for _ in range(streams))))


def cpu_s(pid: int) -> float:
    """Processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure and print one line."""
    parser = argparse.ArgumentParser(description="events per second of one core")
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "fast.toml"
        profile.write_text(PROFILE, encoding="utf-8")
        server = subprocess.Popen(
            [sys.executable, "-m", "loadband", "simulate", "--profile", str(profile), "--port", "0"],
            cwd=ROOT, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            assert server.stdout
            port = int(server.stdout.readline().split()[1].rpartition(":")[2])
            before, began = cpu_s(server.pid), time.monotonic()
            events = asyncio.run(load(port, options.streams, options.seconds))
            used, took = cpu_s(server.pid) - before, time.monotonic() - began
        finally:
            server.terminate()
            server.wait()
    print(
        f"{options.streams} streams: {events:,} events in {took:.1f} s, {events / took:,.0f}/s; "
        f"{used:.1f} s of the server's core, {events / used:,.0f} events per second of it"
    )


if __name__ == "__main__":
    main()
