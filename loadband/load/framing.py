"""HTTP/1.1 framing of one answer, by geventhttpclient's parser.

Knows: status, headers, where the body begins and ends. Must not know: sockets, stamps, what the body says.

Interim answers (100, 103) are passed over. What follows the end of the final answer belongs to nobody and is not
looked at, whether it comes in the same read or in a later one; the connection is then not for reuse. Headers and
trailers are bounded, for some never end.
"""

from geventhttpclient.response import HTTPParseError, HTTPResponse

HEADER_CHARACTERS = 65536
"""Of all names and values of an answer together, those of interim answers and trailers among them."""


class Response(HTTPResponse):
    """Fed with bytes; hands over body bytes as they come."""

    def __init__(self) -> None:
        super().__init__(method="POST")
        self.over = False
        """The final answer's message ended by its own framing, or by `end`."""
        self.chunked = False
        """The body comes in chunks. Known when all headers were read."""
        self.has_length = False
        """Neither chunks nor the connection's end say where the body ends. Known when all headers were read."""
        self.more = False
        """Something came in a later read than the answer's end."""
        self._pieces: list[bytes] = []
        self._header_characters = 0

    @property
    def status(self) -> int | None:
        """The final status, None before all headers were read."""
        code: int = self.get_code()
        return code if self.headers_complete and code >= 200 else None

    def header(self, name: str) -> str:
        """A header's value, of several the first; empty when there is none."""
        value = self.get(name) or ""
        return value if isinstance(value, str) else value[0]

    @property
    def coding(self) -> str:
        """Name of a compression; empty of plain bytes."""
        coding = self.header("content-encoding").strip().lower()
        return "" if coding == "identity" else coding

    def parse(self, data: bytes) -> str | None:
        """Take these bytes. What makes them no HTTP, or None."""
        if self.over:
            self.more = self.more or bool(data)
            return None
        try:
            self.feed(data)
        except (HTTPParseError, UnicodeDecodeError) as error:
            return None if self.over else str(error.args[0])
        return None

    def end(self, lost: OSError | None = None) -> None:
        """The connection ended: so does a body that only its close delimits, unless it was `lost`."""
        if self.headers_complete and lost is None:
            self.parse(b"")

    def take(self) -> list[bytes]:
        """The pieces of the body that came since the last take."""
        pieces, self._pieces = self._pieces, []
        return pieces

    def _on_header_field(self, string: str) -> None:
        self._bound(string)
        super()._on_header_field(string)

    def _on_header_value(self, string: str) -> None:
        self._bound(string)
        super()._on_header_value(string)

    def _bound(self, string: str) -> None:
        self._header_characters += len(string)
        if self._header_characters > HEADER_CHARACTERS:
            raise HTTPParseError(f"its header is longer than {HEADER_CHARACTERS:,} bytes")

    def _on_headers_complete(self) -> int | bool | None:
        skipped = super()._on_headers_complete()
        self.chunked = self.header("transfer-encoding").strip().lower() == "chunked"
        self.has_length = not self.chunked and ("content-length" in self or "transfer-encoding" in self)
        return skipped

    def _on_body(self, buf: bytearray) -> None:
        self._pieces.append(bytes(buf))

    def _on_message_begin(self) -> None:
        if self.over:
            raise HTTPParseError("bytes after the end of the answer")
        super()._on_message_begin()

    def _on_message_complete(self) -> None:
        super()._on_message_complete()
        self.over = self.get_code() >= 200
