"""One HTTP answer: from stamped bytes to pieces, token times and a verdict on how it ended.

Knows: which answers are streams, what makes a success.
Must not know: sockets, clocks, time-outs, Locust.

A success has a 2xx status, at least one generated token (one alone may be half a character, and so no text), and
`[DONE]` or a finish reason; of dialects without a last word, a whole HTTP message. Everything else fails with a class
and the server's own sentence. What comes after `[DONE]`, after an error or after the end of the HTTP message belongs to
no answer and is not looked at, so that any cut of the bytes into reads gives the same outcome.

A server that has given finish reasons and ends an answer with `[DONE]` and none broke it off (llama-cpp-python, when
another request comes): `truncated`. So is one whose finish reason says that it was aborted (vLLM, shutting down).
"""

import functools

from loadband.load.broken_off import given_up, how_lost
from loadband.load.dialects.dialect import Dialect
from loadband.load.event_parser import event_parser, only_event
from loadband.load.framing import Response
from loadband.load.plain_answer import WHOLE_BYTES, Body, begins_as_events, missing, no_stream, refusal
from loadband.load.reads import Reads
from loadband.load.says import Chunk, ProtocolError, ServerError, Usage, new_text
from loadband.load.sse import Event
from loadband.load.template import EventTemplate
from loadband.load.token_clock import TokenClock
from loadband.load.whole_reads import WholeReads
from loadband.record import FailureClass


class Answer:
    """Fed with reads until `complete` or `finish`."""

    def __init__(self, dialect: Dialect, clock: TokenClock, echo: str = "", *, reason_due: bool = False) -> None:
        """`echo`: what the server repeats before its answer; `reason_due`: it is known to give finish reasons."""
        self._reason_due = reason_due
        self._dialect = dialect
        self._clock = clock
        self._response = Response()
        self._parser = event_parser(dialect)
        self._so_far = echo
        self._template = EventTemplate(functools.partial(only_event, dialect))
        self._whole = WholeReads(self._template)
        self._is_stream: bool | None = None
        self._body = Body()
        self._error: ServerError | None = None
        self.first_byte: float | None = None
        """Stamp of the first read."""
        self.size = 0
        """Bytes read, with HTTP's own."""
        self.text: list[str] = []
        """Pieces of the visible answer."""
        self.thoughts: list[str] = []
        """Pieces of the reasoning."""
        self.finish_reason: str | None = None
        self.usage = Usage()
        self.model: str | None = None
        self.tool_calls = 0
        self.done = False
        """`[DONE]` was seen."""

    def feed_all(self, reads: Reads) -> None:
        """These reads, in order: as `feed` of each one, and faster."""
        at = begin = 0
        while at < len(reads.sizes):
            if not (taken := self._hear(reads, at, begin)):
                self.feed(reads.stamps[at], reads.data[begin : begin + reads.sizes[at]])
                taken = 1
            begin += sum(reads.sizes[at : at + taken])
            at += taken

    def feed(self, stamp: float, data: bytes) -> None:
        """One read. Faults of the server are kept for `failure`, never raised."""
        if self.first_byte is None:
            self.first_byte = stamp
        self.size += len(data)
        broken = self._response.parse(data)
        pieces = self._response.take()
        for piece in pieces:
            self._take(stamp, piece)
        if broken is not None and not self.done:
            shown = data[:60].decode("utf-8", errors="replace")
            self._fail(FailureClass.PROTOCOL, f"the answer is not HTTP ({broken}): {shown}")
        self._whole.resting = False
        over = self._error is not None or self.done or self.complete
        if self._is_stream and not over and self._parser.idle and not self.has_length:
            self._whole.settle(data, pieces, chunked=self._response.chunked)

    def finish(self, lost: OSError | None = None) -> None:
        """The answer ended: by its framing, or because the connection did. `lost`: how that broke, if it did."""
        self._response.end(lost)
        if self._is_stream:
            self._read(self._parser.finish(), torn=True)
        elif self._one_piece and self.complete:
            self._read_whole()

    @property
    def ended_well(self) -> bool:
        """Whether the answer is whole: by `[DONE]`, by a finish reason, or by its framing where nothing is said."""
        return self.done or self.finish_reason is not None or (not self._dialect.last_word and self.complete)

    @property
    def no_done(self) -> bool:
        """Whether a last word was due and none came."""
        return self.is_stream and self._dialect.last_word and not self.done

    @property
    def last_word(self) -> bool:
        """Whether the server said its last word: that the answer is whole, or an error."""
        return self.ended_well or self._error is not None

    @property
    def is_stream(self) -> bool:
        """Whether the answer is a stream of events, as far as is known."""
        return bool(self._is_stream)

    @property
    def has_length(self) -> bool:
        """Whether it ends where no bytes tell and no connection ends: look at each read."""
        return self._response.has_length

    @property
    def complete(self) -> bool:
        """Whether the HTTP message ended by its own framing."""
        return self._response.over

    @property
    def reusable(self) -> bool:
        """Whether the connection can serve another request."""
        return self.complete and not self._response.more and not self._response.should_close()

    @property
    def broken(self) -> bool:
        """Whether reading on is of no use: the bytes are not what they should be, or all that is kept of them came."""
        return self._body.full or (self._error is not None and self._error.failure_class == FailureClass.PROTOCOL)

    @property
    def http_status(self) -> int | None:
        """Status code, None before it was read."""
        return self._response.status

    def header(self, name: str) -> str:
        """A header's value; empty when there is none."""
        return self._response.header(name).strip() if name in self._response else ""

    def failure(self, lost: OSError | None = None) -> ServerError | None:
        """Why the finished answer is no success, None when it is one. `lost`: how the connection broke, if it did."""
        if self._error is not None:
            return self._error
        status = self.http_status
        if status is None:
            return ServerError(FailureClass.RESET, how_lost(lost, "before it sent a whole header"))
        if not 200 <= status < 300:
            return refusal(status, b"" if self._response.coding else self._body.data(), self._response.status_message)
        streamed = self._is_stream or self._says_stream()
        return (self._stream_failure(lost) if streamed else self._piece_failure(lost)) or given_up(self.finish_reason)

    def _piece_failure(self, lost: OSError | None) -> ServerError | None:
        """Of a 2xx that is no stream."""
        if lost is not None and not self.complete:
            return ServerError(FailureClass.RESET, how_lost(lost, "in mid-answer"))
        body = self._body.data()
        if self._dialect.stream:
            return no_stream(body, self._response.header("content-type"))
        return missing(body, whole=self.complete, tokens=bool(self.text or self.usage.output_tokens))

    def _stream_failure(self, lost: OSError | None) -> ServerError | None:
        if not self.is_stream and self.complete:
            return ServerError(FailureClass.EMPTY, "the answer has no body")
        if self.done and self._reason_due and self.finish_reason is None:
            return ServerError(FailureClass.TRUNCATED, "broken off: [DONE] without the finish reason usual here")
        if not self.ended_well:
            if lost is not None:
                return ServerError(FailureClass.RESET, how_lost(lost, "in mid-answer"))
            return ServerError(FailureClass.TRUNCATED, "the stream ended without [DONE] and without a finish reason")
        if not self._clock.events and not self.usage.output_tokens:
            return ServerError(FailureClass.EMPTY, "the stream ended well but held no token")
        return None

    def _take(self, stamp: float, piece: bytes) -> None:
        if self._is_stream is None:
            # Held back until it is clear what it is: at most a few bytes, too few for an event.
            piece = self._body.data() + piece
            self._body = Body()
            if self._response.coding and 200 <= (self.http_status or 0) < 300:
                self._fail(
                    FailureClass.PROTOCOL,
                    f"the answer is compressed ({self._response.coding}) though nobody asked for it",
                )
            self._is_stream = self._looks_like_stream(piece)
        if self._is_stream:
            self._read_piece(stamp, piece)
        elif self._body.keep(stamp, piece, whole=self._one_piece):
            self._fail(FailureClass.PROTOCOL, f"the answer in one piece is longer than {WHOLE_BYTES >> 20} MB")

    @property
    def _one_piece(self) -> bool:
        """Whether this is the answer, and asked for in one piece."""
        return not self._dialect.stream and 200 <= (self.http_status or 0) < 300

    def _says_stream(self) -> bool:
        return "text/event-stream" in self._response.header("content-type").lower()

    def _looks_like_stream(self, body: bytes) -> bool | None:
        """None while too little of the body has come to tell."""
        if not 200 <= (self.http_status or 0) < 300:
            return False
        if self._says_stream() or (self._dialect.json_lines and self._dialect.stream):
            return True
        return begins_as_events(body)

    def _read_piece(self, stamp: float, piece: bytes) -> None:
        """Bytes of the stream as they came: as a rule one event, of which only the text is new."""
        parser = self._parser
        was_idle = parser.idle
        if was_idle and (text := self._template.text_of(piece)) is not None:
            if self._error is None and not self.done:
                self._clock.generated(stamp, answer=self._template.visible)
                (self.text if self._template.visible else self.thoughts).append(text)
                self.model = self._template.model or self.model
            return
        try:
            events = parser.feed(stamp, piece)
        except ProtocolError as error:
            self._fail(FailureClass.PROTOCOL, str(error))
            return
        chunk = self._read(events)
        if chunk is not None and was_idle and parser.idle:
            self._template.learn(piece, chunk)

    def _read(self, events: list[Event], *, torn: bool = False) -> Chunk | None:
        """Take these events; what an only one says.

        `torn`: the last event was ended by the end of the stream, and may be half an event.
        """
        chunk = None
        for event in events:
            if self._error is not None or self.done:
                return None
            try:
                chunk = self._dialect.read(event.name, event.data)
            except ProtocolError as error:
                if not torn:
                    self._fail(FailureClass.PROTOCOL, str(error))
                continue
            self._say(event.stamp, chunk)
        return chunk if len(events) == 1 else None

    def _hear(self, reads: Reads, at: int, begin: int) -> int:
        """Take the reads from `at` on that are text and nothing else, without parsing them. How many."""
        texts, counts = self._whole.hear(reads, at, begin)
        if not (taken := len(counts)):
            return 0
        stamps, visible = reads.stamps[at : at + taken], self._template.visible
        if len(texts) == taken:
            self._clock.generated_apart(stamps, answer=visible)
        else:
            for stamp, count in zip(stamps, counts, strict=True):
                for _ in range(count):
                    self._clock.generated(stamp, answer=visible)
        (self.text if visible else self.thoughts).extend(texts)
        self.model = self._template.model or self.model
        self.size += sum(reads.sizes[at : at + taken])
        return taken

    def _say(self, stamp: float, chunk: Chunk) -> None:
        if chunk.error is not None:
            self._error = chunk.error
            return
        if chunk.so_far is not None:
            known, self._so_far = self._so_far, chunk.so_far
            chunk = chunk._replace(text=new_text(known, chunk.so_far))
        if chunk.generated:
            self._clock.generated(stamp, answer=bool(chunk.text))
            if chunk.text:
                self.text.append(chunk.text)
            if chunk.reasoning:
                self.thoughts.append(chunk.reasoning)
        self.done = self.done or chunk.done
        self.finish_reason = chunk.finish_reason or self.finish_reason
        self.usage = self.usage.then(chunk.usage)
        self.model = chunk.model or self.model
        self.tool_calls += chunk.tool_calls

    def _read_whole(self) -> None:
        """An answer in one piece, as it was asked for. Its tokens have no times but its end."""
        try:
            chunk = self._dialect.whole(self._body.data())
        except ProtocolError as error:
            self._fail(FailureClass.PROTOCOL, str(error))
            return
        self._error = chunk.error
        self.text, self.thoughts = [chunk.text] if chunk.text else [], [chunk.reasoning] if chunk.reasoning else []
        self.usage = chunk.usage or self.usage
        self.finish_reason, self.model, self.tool_calls = chunk.finish_reason, chunk.model, chunk.tool_calls
        self._clock.ended(self._body.last)

    def _fail(self, failure_class: str, sentence: str) -> None:
        self._error = self._error or ServerError(failure_class, sentence)
