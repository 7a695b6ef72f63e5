"""Is the target there, and what does it take? Asked once, on the master, before load.

Knows: how to find the model's name, whether a real request is answered, what `ignore_eos` and a character cost.
Must not know: Locust, files, users.

Whatever would fail every request of the run is said here, in one line with the next step, before any load.
"""

import json
from dataclasses import dataclass, field
from enum import StrEnum
from http.client import HTTPException
from typing import Any

from geventhttpclient.response import HTTPSocketResponse

from loadband.errors import LoadbandError, UnreachableError, UsageError
from loadband.load.connection import ConnectError, Connection, parse_address
from loadband.load.dialects import dialect_of
from loadband.load.exchange import Exchange, Timeouts
from loadband.load.prompts import KINDS, USUAL_TOKENS_PER_CHARACTER, PromptBook, passage
from loadband.load.request import get_request, request_head, whole_request
from loadband.load.says import Sampling, ServerError
from loadband.load.server_json import error_of
from loadband.record import FailureClass
from loadband.rundir import one_line

ANSWER_TOKENS = 8
"""Asked of each probe: one token alone may be half a character and so no text."""

CALIBRATION_CHARACTERS = 600
"""Length of the text that tells what a character costs."""


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


@dataclass(slots=True)
class Found:
    """What the probe found."""

    model: str = ""
    ignore_eos: bool = False
    include_usage: bool = True
    """The server takes `stream_options`."""
    tokens_per_character: dict[str, float] = field(default_factory=lambda: dict(USUAL_TOKENS_PER_CHARACTER))
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
        self._calibrate(self._try_request())
        self.stage = Stage.DONE
        return self.found

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _offered_models(self) -> list[str] | None:
        """Names of `/v1/models`; None when the server has no such list."""
        status, body = self._get("/v1/models")
        if status in (401, 403):
            raise self._key_error(status, _sentence_of(body))
        if status in (502, 503, 504):
            raise UnreachableError(
                f"{self._address.url} is not ready ({status}: {self._clean(_sentence_of(body))}); wait until it is"
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
                self.found.findings.append(f"the server does not list the model {asked}; it lists {_few(offered)}")
            return asked
        if not offered and not self._dialect.needs_model:
            return self._dialect.name
        if not offered:
            raise UsageError(f"{self._address.url} does not tell its models: name one with --model")
        if len(offered) > 1:
            raise UsageError(f"{self._address.url} offers several models: choose one with --model ({_few(offered)})")
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
        if _refused(exchange) and _names(exchange, "stream_options", "include_usage"):
            self.found.include_usage = False
            self.found.findings.append("the server does not take stream_options: tokens are counted events")
            exchange = self.ask("")
        if _refused(exchange) and wanted is None and self.found.ignore_eos:
            self.found.ignore_eos = False
            exchange = self.ask("")
        if exchange.failure is None and wanted is not False and not self.found.ignore_eos:
            self.found.findings.append("the server does not take ignore_eos: answers may be shorter than asked")
        if exchange.failure is not None:
            raise self._refusal(exchange.failure, exchange.answer.http_status)
        return exchange.answer.usage.prompt_tokens

    def _calibrate(self, bare: int | None) -> None:
        """Tokens per character of a kind, by the server's own counts: `bare` of a bare prompt, one long one a kind."""
        if bare is None:
            self.found.findings.append("the server does not count prompt tokens: prompt lengths are estimated")
            return
        for number, kind in enumerate(KINDS):
            text = passage(kind, CALIBRATION_CHARACTERS, self._book.source(0, number))
            counted = self.ask(text).answer.usage.prompt_tokens
            if counted is not None and counted > bare:
                self.found.tokens_per_character[kind] = (counted - bare) / len(text)

    def ask(self, text: str, max_tokens: int = ANSWER_TOKENS) -> Exchange:
        """One request of the run's kind, behind a mark that no other begins with; however it ends, it is counted."""
        return self.ask_again(f"{self.nonce()} {text}".strip(), max_tokens)

    def nonce(self) -> str:
        """A mark that no other request begins with."""
        return self._book.nonce(0, 0, self.found.requests + 1)

    def ask_again(self, content: str, max_tokens: int, *, ignore_eos: bool | None = None) -> Exchange:
        """One request with exactly this content; `ignore_eos` None: as the run will ask."""
        messages = [{"role": "user", "content": content}]
        sampling = Sampling(
            self.found.model, self._target.temperature, include_usage=self.found.include_usage,
            ignore_eos=self.found.ignore_eos if ignore_eos is None else ignore_eos,
        )  # fmt: skip
        head = request_head(self._dialect.path(self.found.model), self._address, self._target.key)
        body = self._dialect.body(sampling, messages, max_tokens)
        echo = self._dialect.echo(messages)
        exchange = Exchange(self._connection, self._dialect, self._target.timeouts, echo=echo)
        self.found.requests += 1
        self.found.exchanges.append(exchange)
        exchange.run(whole_request(head, body))
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
                f"{url} refuses the request ({status}: {sentence}): change --model, --max-tokens or --prompt-tokens"
            )
        return UnreachableError(
            f"{url} gave no answer to a first request ({failure.failure_class}: {sentence}): look at the server's log"
        )

    def _key_error(self, status: int, sentence: str) -> UsageError:
        self.stage = Stage.KEY
        has = "refuses the key in" if self._target.key else "wants a key: set"
        return UsageError(f"{self._address.url} {has} {self._target.key_variable} ({status}: {self._clean(sentence)})")

    def _clean(self, sentence: str) -> str:
        return one_line(sentence, [self._target.key or ""]).rstrip(".")


def probe(target: Target) -> Found:
    """Look at the target once."""
    look = Probe(target)
    try:
        return look.run()
    finally:
        look.close()


def limit_of(model: dict[str, Any]) -> int | None:
    """Context limit that an entry of `/v1/models` tells: vLLM and SGLang `max_model_len`, llama.cpp `meta.n_ctx`."""
    meta = model.get("meta")
    told = model.get("max_model_len") or (meta.get("n_ctx") if isinstance(meta, dict) else None)
    return told if isinstance(told, int) and told > 0 else None


def _refused(exchange: Exchange) -> bool:
    return exchange.failure is not None and exchange.answer.http_status in (400, 422)


def _names(exchange: Exchange, *fields: str) -> bool:
    return exchange.failure is not None and any(field in exchange.failure.message for field in fields)


def _sentence_of(body: str) -> str:
    try:
        told = error_of(json.loads(body))
    except (ValueError, AttributeError):
        told = None
    return told.message if told else body[:300]


def _few(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
