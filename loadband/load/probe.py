"""Is the target there, and what does it take? Asked once, on the master, before load.

Knows: how to find the model's name, whether a real request is answered, what `ignore_eos` and a character cost.
Must not know: Locust, files, users.

Whatever would fail every request of the run is said here, in one line with the next step, before any load.
"""

import functools
import json
from dataclasses import dataclass, field, replace
from enum import StrEnum
from http.client import HTTPException
from typing import Any

from geventhttpclient.response import HTTPSocketResponse

from loadband.errors import LoadbandError, UnreachableError, UsageError
from loadband.load.connection import ConnectError, Connection, parse_address
from loadband.load.dialects import dialect_of
from loadband.load.exchange import Exchange, Timeouts
from loadband.load.length_check import check
from loadband.load.lengths import Lengths, lengths
from loadband.load.prompts import PromptBook
from loadband.load.request import get_request, request_head, whole_request
from loadband.load.says import Sampling, ServerError
from loadband.load.token_server import TokenServer
from loadband.load.told import asked_patiently, few, limit_of, names, next_step, refused, sentence_of
from loadband.record import FailureClass
from loadband.rundir import one_line

ANSWER_TOKENS = 8
"""Asked of each probe: one token alone may be half a character and so no text."""


class Stage(StrEnum):
    """What the probe was about when it ended: where it raised, what it could not get past."""

    MODELS = "models"
    KEY = "key"
    ANSWER = "answer"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Target:
    """What the probe was asked to look at."""

    host: str | None
    model: str | None
    key: str | None
    key_variable: str
    temperature: float
    ignore_eos: bool | None
    timeouts: Timeouts
    run_id: str
    api: str = "openai-chat"
    path: str | None = None
    stream: bool = True
    kinds: tuple[str, ...] = ("chat",)
    """Kinds of text whose length the run asks for."""
    extra_bodies: tuple[dict[str, Any], ...] = ({},)
    """Fields that requests are asked with; the first are those of all."""
    adapters: tuple[str, ...] = ()
    """Names that requests are asked of in place of the model."""
    tokenizer: str | None = None
    """File, folder or hub name."""


@dataclass(slots=True)
class Found:
    """What the probe found."""

    model: str = ""
    ignore_eos: bool = False
    include_usage: bool = True
    """The server takes `stream_options`."""
    lengths: Lengths = field(default_factory=Lengths)
    """What the texts of a prompt cost."""
    template_tokens: int | None = None
    """What the server adds to a prompt."""
    context_limit: int | None = None
    """Tokens of prompt and answer together, where the server tells."""
    server: dict[str, Any] = field(default_factory=dict)
    """What the server tells of itself."""
    findings: list[str] = field(default_factory=list)
    """Sentences for the report."""
    exchanges: list[Exchange] = field(default_factory=list)
    """The requests that were sent, in order, over one kept connection: what they tell need not be asked again."""
    requests: int = 0
    """Requests sent before load, and their tokens: the server counted them too."""
    prompt_tokens: int = 0
    output_tokens: int = 0


class Probe:
    """One look at the target, over one kept connection. Whoever makes it closes it."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._address = parse_address(target.host)
        self._dialect = dialect_of(target.api, stream=target.stream, path=target.path)
        self._book = PromptBook(0, f"{target.run_id}/probe")
        self._connection = Connection(self._address, target.timeouts.connect_s)
        self._limits: dict[str, int | None] = {}
        self.found = Found()
        self.stage = Stage.MODELS

    def run(self) -> Found:
        """Ask. Raises UsageError for what a person can mend, UnreachableError for a target that is not there."""
        self.found.model = self._choose_model(self._offered_models())
        self.found.context_limit = self._limits.get(self.found.model)
        self.stage = Stage.ANSWER
        bare = self._try_request()
        self._try_others()
        self._measure(bare)
        self.stage = Stage.DONE
        return self.found

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _offered_models(self) -> list[str] | None:
        """Names of `/v1/models`; None when the server has no such list."""
        status, body = self._get("/v1/models")
        if status in (401, 403):
            raise self._key_error(status, sentence_of(body))
        if status in (502, 503, 504):
            raise UnreachableError(
                f"{self._address.url} is not ready ({status}: {self._clean(sentence_of(body))}); wait until it is"
            )
        try:
            models = {model["id"]: model for model in json.loads(body)["data"] if isinstance(model["id"], str)}
        except (ValueError, KeyError, TypeError):
            return None
        self.found.server["models"] = list(models)
        self._limits = {name: limit_of(model) for name, model in models.items()}
        return list(models)

    def _get(self, path: str) -> tuple[int, str]:
        """Status and body of a plain GET. Raises UnreachableError."""
        url = self._address.url
        head = get_request(path, self._address, self._target.key)
        try:
            sock, _ = self._connection.open()
        except ConnectError as error:
            raise UnreachableError(
                f"cannot reach {url} ({error}): is the server running, and are host and port right?"
            ) from None
        try:
            sock.settimeout(self._target.timeouts.first_token_s)
            sock.sendall(head)
            response = HTTPSocketResponse(sock)
            body = response.read().decode("utf-8", errors="replace")
        except TimeoutError:
            raise UnreachableError(f"{url} takes connections but does not answer: is it the right port?") from None
        except (OSError, HTTPException, UnicodeDecodeError) as error:
            raise UnreachableError(
                f"what answers at {url} does not speak HTTP ({self._clean(str(error))}): is it the right port?"
            ) from None
        finally:
            self._connection.drop(sock)
        self.found.server["header"] = response.get("server")
        return response.get_code(), body

    def _choose_model(self, offered: list[str] | None) -> str:
        asked = self._target.model
        if asked is not None:
            if offered and asked not in offered:
                self.found.findings.append(f"the server does not list the model {asked}; it lists {few(offered)}")
            return asked
        if not offered and not self._dialect.needs_model:
            return self._dialect.name
        if not offered:
            raise UsageError(f"{self._address.url} does not tell its models: name one with --model")
        if len(offered) > 1:
            raise UsageError(f"{self._address.url} offers several models: choose one with --model ({few(offered)})")
        return offered[0]

    def _try_request(self) -> int | None:
        """One bare request as the run will send it; `ignore_eos` is dropped where the server refuses it.

        Returns the prompt tokens that the server counted.
        """
        wanted = self._target.ignore_eos
        self.found.ignore_eos = wanted is not False and self._dialect.takes_ignore_eos
        if wanted and not self._dialect.takes_ignore_eos:
            raise UsageError(f"{self._dialect.name} has no ignore_eos: leave out --ignore-eos")
        exchange = self.ask("")
        if refused(exchange) and names(exchange, "stream_options", "include_usage"):
            self.found.include_usage = False
            self.found.findings.append("the server does not take stream_options: tokens are counted events")
            exchange = self.ask("")
        if refused(exchange) and wanted is None and self.found.ignore_eos:
            self.found.ignore_eos = False
            exchange = self.ask("")
        if exchange.failure is None and wanted is not False and not self.found.ignore_eos:
            self.found.findings.append("the server does not take ignore_eos: answers may be shorter than asked")
        if exchange.failure is not None:
            raise self._refusal(exchange.failure, exchange.answer.http_status)
        return exchange.answer.usage.prompt_tokens

    def _try_others(self) -> None:
        """One request of each further kind: other fields, each adapter."""
        first, *others = self._target.extra_bodies
        asked = [(fields, self.found.model, f"the fields {fields}: change --set") for fields in others]
        asked += [(first, name, f"the adapter {name}: change --adapters") for name in self._target.adapters]
        for fields, model, what in asked:
            failure = self._exchange(self.nonce(), ANSWER_TOKENS, self._sampling(fields, model)).failure
            if failure is not None:
                sentence = self._clean(failure.message)
                raise UsageError(f"{self._address.url} refuses ({sentence}) a request with {what}")

    def _measure(self, bare: int | None) -> None:
        """What every text costs, and whether the server counts a prompt so: `bare` are the tokens of a nonce alone."""
        target, found = self._target, self.found
        server = TokenServer(self._address, target.key, target.timeouts, self._dialect, self._sampling())
        try:
            found.lengths = lengths(
                target.kinds, target.tokenizer, server.tokenizer, server.usage if bare is not None else None
            )
        finally:
            found.requests += server.requests
            found.prompt_tokens += server.prompt_tokens
            found.output_tokens += server.output_tokens
        found.findings += found.lengths.findings
        if bare is not None and target.kinds:
            book = PromptBook(0, f"{target.run_id}/check", found.lengths.table)
            found.template_tokens, finding = check(book, target.kinds, found.lengths.counted_by, self._prompt_tokens)
            found.findings += [finding] if finding else []

    def _prompt_tokens(self, text: str) -> int | None:
        return self.ask_again(text, ANSWER_TOKENS).answer.usage.prompt_tokens

    def _sampling(self, fields: dict[str, Any] | None = None, model: str | None = None) -> Sampling:
        """What a request asks for: as the run will ask, but for other fields or of another model."""
        return Sampling(
            model or self.found.model,
            self._target.temperature,
            ignore_eos=self.found.ignore_eos,
            extra_body=self._target.extra_bodies[0] if fields is None else fields,
            include_usage=self.found.include_usage,
        )

    def ask(self, text: str = "", max_tokens: int = ANSWER_TOKENS) -> Exchange:
        """One request of the run's kind, behind a mark that no other begins with; however it ends, it is counted."""
        return self.ask_again(f"{self.nonce()} {text}".strip(), max_tokens)

    def nonce(self) -> str:
        """A mark that no other request begins with."""
        return self._book.nonce(0, 0, self.found.requests + 1).text

    def ask_again(self, content: str, max_tokens: int, *, ignore_eos: bool | None = None) -> Exchange:
        """One request with exactly this content; `ignore_eos` None: as the run will ask."""
        sampling = self._sampling()
        if ignore_eos is not None:
            sampling = replace(sampling, ignore_eos=ignore_eos)
        return self._exchange(content, max_tokens, sampling)

    def _exchange(self, content: str, max_tokens: int, sampling: Sampling) -> Exchange:
        messages = [{"role": "user", "content": content}]
        head = request_head(self._dialect.path(sampling.model), self._address, self._target.key)
        body = self._dialect.body(sampling, messages, max_tokens)
        echo = self._dialect.echo(messages)
        made = functools.partial(Exchange, self._connection, self._dialect, self._target.timeouts, echo=echo)
        attempts = asked_patiently(made, whole_request(head, body))
        exchange = attempts[-1]
        self.found.requests += len(attempts)
        self.found.exchanges.append(exchange)
        usage = exchange.answer.usage
        self.found.prompt_tokens += usage.prompt_tokens or 0
        self.found.output_tokens += usage.output_tokens or 0
        return exchange

    def _refusal(self, failure: ServerError, status: int | None) -> LoadbandError:
        url, sentence = self._address.url, self._clean(failure.message)
        if status in (401, 403):
            return self._key_error(status, failure.message)
        if status == 404:
            where = f"{url}{self._dialect.path(self.found.model)}"
            return UsageError(
                f"{where} answers 404 ({sentence}): check the path of the address and --model {self.found.model}"
            )
        if status is not None and 400 <= status < 500 and failure.failure_class != FailureClass.THROTTLED:
            return UsageError(
                f"{url} refuses the request ({status}: {sentence}): change --model, --max-tokens, "
                "--prompt-tokens or --extra-body"
            )
        return UnreachableError(
            f"{url} gave no answer to a first request ({failure.failure_class}: {sentence}): {next_step(failure)}"
        )

    def _key_error(self, status: int, sentence: str) -> UsageError:
        self.stage = Stage.KEY
        has = "refuses the key in" if self._target.key else "wants a key: set"
        return UsageError(f"{self._address.url} {has} {self._target.key_variable} ({status}: {self._clean(sentence)})")

    def _clean(self, sentence: str) -> str:
        return one_line(sentence, [self._target.key or ""]).rstrip(".")
