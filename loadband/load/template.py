"""Events of a stream that differ from an earlier one only in their text, read without parsing them.

Knows: JSON strings. Must not know: what the other fields of an event mean, sockets, stamps.

Servers write the same bytes around each token: only one string changes. When a piece of a stream was parsed as one
event with nothing but text, the bytes before and after that string become the template. It is tried out at once: with
another string in its place the same event must be read with that string as its text, whatever the fields are called.
From then on a piece that begins and ends alike and holds one JSON string between is such an event again, since
neither a line's end nor an unescaped quote can stand in a JSON string: the grammar says so, no guess does.
"""

import json
import re
from collections.abc import Callable
from itertools import takewhile

import orjson

from loadband.load.says import Chunk

IN_VAIN = 8
"""So many templates in a row that served no event, and a stream is known to change more than its text."""

_ODD = re.compile(rb'["\\\x00-\x1f]')
"""What stands in no JSON string as it is."""

_STRINGS = re.compile(rb'(?:[^"\\\x00-\x1f]|\\[^\n]|\n)*+')
"""Lines between which quotes can be set: no quote ends one early, and none ends with half an escape."""


def _as_it_is(text: str) -> bytes:
    try:
        return orjson.dumps(text)
    except orjson.JSONEncodeError:  # half a surrogate pair
        return json.dumps(text, ensure_ascii=False).encode(errors="replace")


def _in_ascii(text: str) -> bytes:
    return json.dumps(text).encode()


WAYS = (_as_it_is, _in_ascii)
"""How servers write a text as JSON."""

PROBE = "another text, to see what becomes of it"


class EventTemplate:
    """The bytes around the text in one stream's events; none at first."""

    __slots__ = ("_after", "_before", "_in_vain", "_read", "model", "visible")

    def __init__(self, read: Callable[[bytes], Chunk | None]) -> None:
        """`read`: what a piece says that is one whole event; None of any other."""
        self._read = read
        self._before = self._after = b""
        self._in_vain = 0
        self.visible = True
        """The text is answer text, else reasoning."""
        self.model: str | None = None
        """The model that these events name."""

    @property
    def around(self) -> tuple[bytes, bytes]:
        """The bytes before and after the text; both empty as long as none are known."""
        return self._before, self._after

    def text_of(self, data: bytes) -> str | None:
        """The text of an event of this shape, never empty; None of any other piece."""
        if not self._before or not data.startswith(self._before) or not data.endswith(self._after):
            return None
        if len(data) <= len(self._before) + len(self._after):
            return None
        return self.read(data[len(self._before) : -len(self._after)])

    def read(self, literal: bytes) -> str | None:
        """The text that these bytes between the quotes are, never empty; None when they are no JSON string."""
        try:
            text = literal.decode()
            if _ODD.search(literal):
                text = orjson.loads(b'"%b"' % literal)  # fails unless the quotes around it are the string's own
        except ValueError:
            return None
        self._in_vain = 0
        return text or None

    def read_all(self, lines: bytes) -> list[str]:
        """As `read` of each of these lines, none of them empty, up to the first that is None."""
        risky = b'"' in lines or b"\\\n" in lines
        if not risky or _STRINGS.fullmatch(lines):
            try:
                texts: list[str] = orjson.loads(b'["%b"]' % lines[:-1].replace(b"\n", b'","'))
            except ValueError:
                pass
            else:
                self._in_vain = 0
                return texts
        return list(takewhile(bool, map(self.read, lines.split(b"\n")[:-1])))  # type: ignore[arg-type]

    def learn(self, data: bytes, chunk: Chunk) -> None:
        """Take the shape of a piece that is one event, read as `chunk`, if it holds text and nothing else."""
        if self._in_vain >= IN_VAIN:
            return
        visible = bool(chunk.text)
        said = chunk.text or chunk.reasoning
        if not said or chunk != _saying(said, chunk.model, visible=visible):
            return
        for written in WAYS:
            around = data.split(written(said))
            if len(around) == 2:
                self._try(around[0] + b'"', b'"' + around[1], chunk.model, visible=visible)
                return

    def _try(self, before: bytes, after: bytes, model: str | None, *, visible: bool) -> None:
        self._in_vain += 1
        if self._read(before + PROBE.encode() + after) == _saying(PROBE, model, visible=visible):
            self._before, self._after, self.visible, self.model = before, after, visible, model


def _saying(text: str, model: str | None, *, visible: bool) -> Chunk:
    """An event that says this and nothing else."""
    return Chunk(text=text, model=model) if visible else Chunk(reasoning=text, model=model)
