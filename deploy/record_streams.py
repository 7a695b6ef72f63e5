"""Record what an engine sends, byte for byte and read by read, as a fixture for tests.

    python deploy/engines/llamacpp.py --port 8080 &
    python deploy/record_streams.py http://127.0.0.1:8080 tests/fixtures/wire/llamacpp.jsonl --pid $!

One line a recording: `what` was done, the `path` and `body` asked, how it `ended` (`close`, `reset`, `whole`: the
server kept the connection, `left`: we hung up), and `reads`, pairs of milliseconds since the request was sent and
bytes (UTF-8; other bytes as surrogate escapes). With `--pid` that process is killed in the middle of a last stream.
Long streams keep their first and last reads; what lies between is left out as whole reads and counted in `left_out`.

Knows: sockets, HTTP as far as its end. Must not know: what an answer says.
"""

import argparse
import json
import os
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

SILENCE_S = 20.0
"""A server that says nothing for so long has nothing more to say."""
KEPT_READS = 12
"""Of the beginning and of the end of a long answer."""
ENDINGS = (b"\r\n0\r\n\r\n",)
WORDS = "Tell me about the river, the mill and the people who meet there."
CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"

Recording = dict[str, Any]


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="record what an engine sends, as a fixture for tests")
    parser.add_argument("url", help="the engine: http://HOST:PORT")
    parser.add_argument("file", type=Path, help="where the recordings go, one a line")
    parser.add_argument("--pid", type=int, help="the engine's process, to be killed in mid-stream at the end")
    parser.add_argument("--model", help="its name, of an engine that does not tell")
    parser.add_argument("--crowd", type=int, default=40, help="requests at once, to overload it")
    parser.add_argument("--context", type=int, default=20_000, help="words of a prompt that is too long")
    return parser.parse_args()


class Recorder:
    """Asks one server and keeps what it sends."""

    def __init__(self, url: str, model: str | None, crowd: int, context: int) -> None:
        parts = urlsplit(url)
        self.place = (parts.hostname or "127.0.0.1", parts.port or 80)
        self.crowd = crowd
        self.context = context
        self.model = model or ""
        self.on: dict[str, Any] = {}
        """What keeps answers going, where the engine takes it."""

    def record(self, what: str, path: str, body: Any = None, *, leave_after: int | None = None) -> Recording:
        """One request. `leave_after`: so many reads, and we hang up."""
        sent = body.encode() if isinstance(body, str) else json.dumps(body).encode() if body is not None else b""
        method = "GET" if body is None else "POST"
        head = f"{method} {path} HTTP/1.1\r\nHost: {self.place[0]}:{self.place[1]}\r\nAccept-Encoding: identity\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n"
        reads: list[tuple[float, bytes]] = []
        with socket.create_connection(self.place, SILENCE_S) as sock:
            begin = time.monotonic()
            sock.sendall(head.encode() + sent)
            ended = "left"
            while leave_after is None or len(reads) < leave_after:
                try:
                    data = sock.recv(65536)
                except ConnectionResetError:
                    ended = "reset"
                    break
                except TimeoutError:
                    ended = "silence"
                    break
                if not data:
                    ended = "close"
                    break
                reads.append((round((time.monotonic() - begin) * 1e3, 2), data))
                if is_whole(b"".join(each for _, each in reads)):
                    ended = "whole"
                    break
        left_out = max(0, len(reads) - 2 * KEPT_READS)
        if left_out:
            reads = reads[:KEPT_READS] + reads[-KEPT_READS:]
        shown = body if body is None or len(sent) < 1000 else "(long)"
        texts = [(ms, data.decode("utf-8", errors="surrogateescape")) for ms, data in reads]
        return {"what": what, "path": path, "body": shown, "ended": ended, "left_out": left_out, "reads": texts}

    def chat(self, words: str = WORDS, max_tokens: int = 8, **more: Any) -> Recording:
        """The body of a chat request."""
        messages = [{"role": "user", "content": words}]
        return {"model": self.model, "messages": messages, "max_tokens": max_tokens, "stream": True, **more}

    def all(self) -> list[Recording]:
        """What every engine is asked, but for its death."""
        models = self.record("models", "/v1/models")
        text = "".join(data for _, data in models["reads"])
        self.model = self.model or json.loads(text[text.index("\r\n\r\n") + 4 :])["data"][0]["id"]
        asked = self.record("ignore_eos", CHAT, self.chat(ignore_eos=True))
        self.on = {"ignore_eos": True} if asked["reads"][0][1].split()[1] == "200" else {}
        counted: dict[str, Any] = {"stream_options": {"include_usage": True}}
        prompt = {"model": self.model, "prompt": WORDS, "max_tokens": 8, "stream": True, **counted}
        return [
            models,
            asked,
            self.record("chat", CHAT, self.chat(**counted)),
            self.record("chat without usage", CHAT, self.chat()),
            self.record("chat, usage with each token", CHAT, self.chat(
                stream_options={"include_usage": True, "continuous_usage_stats": True})),
            self.record("chat of one token", CHAT, self.chat(max_tokens=1, **counted)),
            self.record("chat in one piece", CHAT, self.chat() | {"stream": False}),
            self.record("completions", COMPLETIONS, prompt),
            self.record("two choices", CHAT, self.chat(max_tokens=4, n=2, **counted)),
            self.record("no such model", CHAT, self.chat() | {"model": "no-such-model"}),
            self.record("no JSON", CHAT, '{"model":'),
            self.record("no messages", CHAT, {"model": self.model, "stream": True}),
            self.record("no such path", "/v1/nothing", {}),
            self.overload(),
            self.record("left in mid-answer", CHAT, self.chat(max_tokens=400, **self.on), leave_after=6),
            self.record("prompt too long", CHAT, self.chat("river " * self.context)),
        ]  # fmt: skip

    def overload(self) -> Recording:
        """Many at once: the first that was refused, else the last."""
        got: list[Recording] = []

        def ask(number: int) -> None:
            got.append(self.record("overload", CHAT, self.chat(f"{number} {WORDS}", 24, **self.on)))

        crowd = [threading.Thread(target=ask, args=(number,)) for number in range(self.crowd)]
        for one in crowd:
            one.start()
        for one in crowd:
            one.join()
        refused = [one for one in got if '"error"' in "".join(data for _, data in one["reads"])]
        return (refused or got)[-1]

    def death(self, pid: int) -> Recording:
        """The engine is killed while it streams."""
        timer = threading.Timer(0.3, os.kill, (pid, signal.SIGKILL))
        timer.start()
        try:
            return self.record("killed in mid-answer", CHAT, self.chat(max_tokens=1500, **self.on))
        finally:
            timer.cancel()


def is_whole(data: bytes) -> bool:
    """Whether an answer has ended by its own framing."""
    head, blank, body = data.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return bool(blank) and (len(body) >= int(lengths[0]) if lengths else data.endswith(ENDINGS))


def main() -> None:
    """Record, write, say where."""
    chosen = options()
    recorder = Recorder(chosen.url, chosen.model, chosen.crowd, chosen.context)
    recordings = recorder.all()
    if chosen.pid:
        recordings.append(recorder.death(chosen.pid))
    chosen.file.parent.mkdir(parents=True, exist_ok=True)
    chosen.file.write_text("".join(json.dumps(each) + "\n" for each in recordings), encoding="utf-8")
    print(f"{len(recordings)} recordings in {chosen.file}")


if __name__ == "__main__":
    main()
