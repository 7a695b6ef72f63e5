"""One request's life on the wire: connection, upload, reads, time-outs, and how it ended.

Knows: the order of these steps, and that every request ends as ok, failed, cut or abandoned.
Must not know: Locust, scenarios, files.

A *reused* connection that is closed or reset before the first byte of the answer is replaced once and the request
sent again: servers close kept connections without notice (llama.cpp after every streamed answer). The request is
flagged and timed from its first start. Nothing else is sent twice here: another attempt is another exchange.
"""

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import gevent
import gevent.socket

from loadband.load.answer import Answer
from loadband.load.connection import ConnectError, Connection
from loadband.load.dialects.dialect import Dialect
from loadband.load.nonblocking import send_at_once, send_wire
from loadband.load.read_thread import ThreadReader
from loadband.load.reader import LoopReader, reader_of
from loadband.load.reads import Reads
from loadband.load.says import ServerError
from loadband.load.tls_socket import TlsSocket
from loadband.load.token_clock import TokenClock
from loadband.record import FailureClass, Status

PARSE_WITHIN_S = 3.0
"""Bytes wait at most this long before they are parsed, and no longer than a silence may be."""

DONE_LINGER_S = 0.1
"""After `[DONE]`: how long to wait for the end of the HTTP message, so that the connection can be kept."""

FINISH_LINGER_S = 5.0
"""After a finish reason or an error without `[DONE]`: how long the silence before a usage event or the end may be."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Limits of one request, each in seconds.

    `idle_s` is silence after the first token; until then `first_token_s`, counted from the request's start, holds.
    """

    connect_s: float = 10.0
    first_token_s: float = 120.0
    idle_s: float = 60.0
    total_s: float = 600.0


class _StaleError(Exception):
    """A kept connection turned out to be closed before the answer began."""


class Exchange:
    """One request and its answer. `run` once; then read the attributes."""

    def __init__(
        self,
        connection: Connection,
        dialect: Dialect,
        timeouts: Timeouts,
        wall_offset: float = 0.0,
        *,
        clock: Callable[[], float] = time.perf_counter,
        first: float | None = None,
        leave_s: float | None = None,
        echo: str = "",
        reason_due: bool = False,
    ) -> None:
        """A request about to be made.

        `first`: stamp of its first attempt's start, where this is another one. `leave_s`: the user hangs up so many
        seconds after that start, unless the answer is complete.
        `echo`: what the server repeats before its answer; `reason_due`: it is known to give finish reasons.
        """
        self._connection = connection
        self._timeouts = timeouts
        self._clock = clock
        self.start = clock()
        """Stamp of the request's start."""
        self.first_start = self.start if first is None else first
        self.leave_at = math.inf if leave_s is None else self.first_start + leave_s
        """Stamp at which the user hangs up."""
        self._leaving = gevent.Timeout(None if leave_s is None else max(self.leave_at - self.start, 0.0))
        self.tokens = TokenClock(self.start, wall_offset)
        self.answer = Answer(dialect, self.tokens, echo, reason_due=reason_due)
        self._done_at: float | None = None
        self.status = Status.CUT
        """Cut until it ended otherwise: a user that is stopped in mid-request leaves it so."""
        self.failure: ServerError | None = None
        self.connect_s: float | None = None
        self.sent_s: float | None = None
        self.stale = False
        """A kept connection was found closed and was replaced."""
        self.end: float = self.start

    def run(self, request: bytes) -> None:
        """Send the request and read its answer. Raises only what stops the user (GreenletExit)."""
        self._leaving.start()
        try:
            try:
                self._attempt(request)
            except _StaleError:
                self.stale = True
                self._attempt(request)
            if self.status != Status.ABANDONED:
                self.status = Status.FAILED if self.failure else Status.OK
        except gevent.Timeout as timeout:
            if timeout is not self._leaving:
                raise
            self.status = Status.ABANDONED
        except ConnectError as error:
            self._fail(ServerError(error.failure_class, str(error)))
        except Exception as error:  # a fault of ours must end as a failure of the client, not as a cut request
            self._fail(ServerError(FailureClass.CLIENT, f"fault in the client: {type(error).__name__}: {error}"))
        finally:
            self._leaving.close()
            self.end = self._clock()

    def _attempt(self, request: bytes) -> None:
        sock, connect_s = self._connection.open(self._clock)
        reused = connect_s is None
        if connect_s is not None:
            self.connect_s = (self.connect_s or 0.0) + connect_s
        reader: LoopReader | ThreadReader | None = None
        reusable = False
        try:
            self._send(sock, request, reused=reused)
            reader = reader_of(sock, self._clock)
            self._read(reader, reused=reused)
            reusable = self.answer.reusable
        finally:
            more = reader is not None and reader.close()
            if reusable and not more:
                self._connection.keep(sock)
            else:
                self._connection.drop(sock)

    def _send(self, sock: gevent.socket.socket, request: bytes, *, reused: bool) -> None:
        try:
            wire = sock.sealed(request) if isinstance(sock, TlsSocket) else request
            sent = send_at_once(sock, wire)
            if sent < len(wire):
                sock.settimeout(max(self._first_token_deadline() - self._clock(), 0.001))
                send_wire(sock, wire[sent:])
        except TimeoutError:
            sentence = f"the request was not taken within {self._timeouts.first_token_s:g} s"
            raise ConnectError(FailureClass.TIMEOUT_FIRST_TOKEN, sentence) from None
        except OSError as error:
            if reused:
                raise _StaleError from error
            # The server may have answered before it closed (a refusal of a long body): its sentence is worth more.
        self.sent_s = self._clock() - self.start

    def _read(self, reader: LoopReader | ThreadReader, *, reused: bool) -> None:
        answer = self.answer
        self._leaving.close()  # from here on the reads end in time, and none of what came is lost
        while not (answer.complete or answer.broken):
            now = self._clock()
            if now >= self.leave_at and not answer.last_word:
                self.status = Status.ABANDONED
                return
            deadline, meaning = self._deadline(reader)
            if now >= deadline:
                if meaning is None:
                    break
                self._fail(ServerError(meaning, self._sentence(meaning)))
                return
            patience = math.inf if answer.last_word else self.leave_at
            reads = self._take(reader, min(deadline, patience, now + min(PARSE_WITHIN_S, self._timeouts.idle_s)))
            answer.feed_all(reads)
            reader.wake_at_each_read(not answer.is_stream or answer.done or answer.has_length)
            if reader.ended and not reads.stamps:
                break
        if answer.first_byte is None and reused:
            raise _StaleError
        answer.finish(reader.error)
        if told := answer.failure(reader.error):
            self._fail(told)

    def _take(self, reader: LoopReader | ThreadReader, until: float) -> Reads:
        try:
            return reader.take(until)
        except gevent.GreenletExit:  # the user is stopped; what came has come, and no fault of ours may keep it
            with contextlib.suppress(Exception):
                self.answer.feed_all(reader.rest())
            raise

    def _deadline(self, reader: LoopReader | ThreadReader) -> tuple[float, FailureClass | None]:
        """The next moment at which waiting ends, and the failure that it means; None after the server's last word."""
        last = self.start if reader.last is None else reader.last
        ends = self.start + self._timeouts.total_s
        if self.answer.done:
            self._done_at = self._done_at or self._clock()
            return self._done_at + DONE_LINGER_S, None
        if self.answer.last_word:
            return min(last + FINISH_LINGER_S, ends), None
        if self.tokens.first is None:
            deadline, meaning = self.start + self._timeouts.first_token_s, FailureClass.TIMEOUT_FIRST_TOKEN
        else:
            deadline, meaning = last + self._timeouts.idle_s, FailureClass.TIMEOUT_IDLE
        return (deadline, meaning) if deadline < ends else (ends, FailureClass.TIMEOUT_TOTAL)

    def _sentence(self, expired: FailureClass) -> str:
        limits = self._timeouts
        return {
            FailureClass.TIMEOUT_FIRST_TOKEN: f"no token within {limits.first_token_s:g} s",
            FailureClass.TIMEOUT_IDLE: f"silence of {limits.idle_s:g} s in mid-answer",
            FailureClass.TIMEOUT_TOTAL: f"the answer took longer than {limits.total_s:g} s",
        }[expired]

    def _first_token_deadline(self) -> float:
        return self.start + min(self._timeouts.first_token_s, self._timeouts.total_s)

    def _fail(self, failure: ServerError) -> None:
        self.failure = failure
        self.status = Status.FAILED
