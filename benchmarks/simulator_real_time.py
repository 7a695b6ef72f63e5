"""One profile in virtual and in real time: `python -m benchmarks.simulator_real_time [--users 8,32,56] [--seconds 30]`.

The same users ask the same kind of questions twice: virtual ones the engine itself, for twenty minutes that take
seconds; real ones the server, a process of its own, over sockets. Throughput and mean TTFT should agree within 5 %.
They do on a quiet machine only: how late this process's own timers fire stands in the last column (99 of 100 are less
late), and what it is late a TTFT is too long. Under three minutes as it is.

Knows: how to start the simulator, read its streams, ask the virtual engine. Must not know: anything of the analysis.
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from loadband.sim.profile import load, shipped
from loadband.sim.request import MESSAGE_TOKENS, TOKEN_BYTES
from loadband.sim.virtual import Load, closed_loop

ROOT = Path(__file__).resolve().parents[1]
WITHIN = 0.05
PROMPT_TOKENS = (50, 200)
MAX_TOKENS = 512
VIRTUAL_S = 1200.0
TICK_S = 0.05


@dataclass
class Seen:
    """What real clients saw in the measured time."""

    tokens: int = 0
    ttfts: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    """How late timers fired, seconds."""

    @property
    def late_p99_s(self) -> float:
        """99 of 100 timers were less late."""
        return sorted(self.late)[int(0.99 * len(self.late))]


@contextmanager
def served(name: str) -> Iterator[int]:
    """The port of a simulator in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "loadband", "simulate", "--profile", name, "--port", "0", "--die-with-parent"],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline().split()[1].rpartition(":")[2])
    finally:
        process.terminate()
        process.communicate()


def question(draw: random.Random) -> bytes:
    """A request whose prompt has 50 to 200 tokens."""
    tokens = draw.randint(*PROMPT_TOKENS) - MESSAGE_TOKENS
    message = {"role": "user", "content": "x" * (TOKEN_BYTES * tokens)}
    body = json.dumps({"messages": [message], "max_tokens": MAX_TOKENS, "stream": True}).encode()
    return b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


async def user(port: int, number: int, begin: float, end: float, seen: Seen) -> None:
    """Ask without a pause until `end`; what comes from `begin` on counts."""
    draw = random.Random(number)
    await asyncio.sleep(draw.random())
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while True:
        asked_at, first = time.monotonic(), None
        writer.write(question(draw))
        while True:
            data = await reader.read(1 << 16)
            now = time.monotonic()
            if now > end:
                writer.close()
                return
            if not data:
                raise ConnectionError("the simulator hung up")
            words = data.count(b'"content":') - data.count(b'"content":""')
            seen.tokens += words if now >= begin else 0
            if words and first is None:
                first = now
            if b"[DONE]" in data:
                break
        if first is not None and now >= begin:
            seen.ttfts.append(first - asked_at)


async def watch_timers(begin: float, end: float, seen: Seen) -> None:
    """How late this process is."""
    while (now := time.monotonic()) < end:
        await asyncio.sleep(TICK_S)
        if now >= begin:
            seen.late.append(time.monotonic() - now - TICK_S)


async def in_real_time(name: str, users: int, settle_s: float, measured_s: float) -> Seen:
    """What so many real users see of a server of its own."""
    seen = Seen()
    with served(name) as port:
        begin = time.monotonic() + settle_s
        end = begin + measured_s
        asking = [user(port, number, begin, end, seen) for number in range(users)]
        await asyncio.gather(watch_timers(begin, end, seen), *asking)
    return seen


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="a profile in virtual and in real time")
    parser.add_argument("--profile", choices=shipped(), default="a100-qwen2.5-32b-q4")
    parser.add_argument("--users", default="8,32,56")
    parser.add_argument("--seconds", type=float, default=40.0, help="measured at each number of users")
    options = parser.parse_args()
    print("users  tokens/s: virtual    real          TTFT, ms: virtual    real          timers late p99, ms")
    for users in map(int, options.users.split(",")):
        virtual = closed_loop(load(options.profile), users, Load(PROMPT_TOKENS), measured_s=VIRTUAL_S)
        seen = asyncio.run(in_real_time(options.profile, users, 5.0, options.seconds))
        if virtual.ttft_mean_s is None or not seen.ttfts:
            sys.exit(f"{users} users: no answer in {options.seconds:g} s: measure longer, or ask fewer users")
        rate, ttft = seen.tokens / options.seconds, fmean(seen.ttfts)
        ratios = (rate / virtual.output_tok_s - 1, ttft / virtual.ttft_mean_s - 1)
        told = ["" if abs(ratio) <= WITHIN else "!" for ratio in ratios]
        print(
            f"{users:>5} {virtual.output_tok_s:>18.1f} {rate:>7.1f} {ratios[0]:>+7.1%} {told[0]:<1}"
            f"{virtual.ttft_mean_s * 1e3:>21.2f} {ttft * 1e3:>7.2f} {ratios[1]:>+7.1%} {told[1]:<1}"
            f"{seen.late_p99_s * 1e3:>21.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
