"""The whole examination, in order: the way to the target, the probe, the server, its answers, this machine.

Knows: which check needs which question, what is cheap enough before load. Must not know: how a check judges.

Before load the probe has asked already; then only that is asked which takes a moment: no waiting for idle
connections, no prompt twice, no whole answer of the plan's length.
"""

from urllib.parse import urlsplit

import gevent

from loadband.errors import ExitCode, LoadbandError, UsageError
from loadband.load.connection import parse_address
from loadband.load.probe import Probe, Target
from loadband.record import FailureClass
from loadband.tuning.doctor.ask_answers import Questions, closes_after_answers
from loadband.tuning.doctor.ask_client import announced_keep_alive_s, ask_limits
from loadband.tuning.doctor.ask_link import ask_connects, ask_names, ask_tls
from loadband.tuning.doctor.ask_pages import SMALLEST, Page, Pages, ask_pages, ask_trips
from loadband.tuning.doctor.check import Check, Examination, Mark, bad, cleaned, good
from loadband.tuning.doctor.judge_answers import (
    judge_context,
    judge_ignore_eos,
    judge_prefix_cache,
    judge_prompt_length,
    judge_usage,
)
from loadband.tuning.doctor.judge_client import judge_descriptors, judge_keep_alive, judge_ports
from loadband.tuning.doctor.judge_link import judge_link, judge_names, judge_tls
from loadband.tuning.doctor.judge_server import (
    judge_key,
    judge_models,
    judge_parallel,
    judge_refusal,
    judge_version,
)
from loadband.tuning.doctor.judge_streams import FEWEST_EVENTS, judge_streams
from loadband.tuning.doctor.needs import Needs, largest, mean
from loadband.tuning.doctor.seen import Idle, Link, Prompted, Seen
from loadband.tuning.doctor.told import PAGES, Told, told_of

PAGE_S = 10.0
"""A plain page that takes longer is none ..."""

PAGE_BEFORE_LOAD_S = 2.0
"""... nor one that takes longer than this before load."""

LOOKS = 3
"""Answers that are looked at before one is said not to stream."""

IDLE_S = 10.0
"""The longest that an idle connection is watched."""


class Doctor:
    """One examination of one target."""

    def __init__(self, target: Target, needs: Needs, probe: Probe | None = None) -> None:
        """`probe`: one that has looked already; then only what is cheap is asked."""
        self._target = target
        self._needs = needs
        self._deep = probe is None
        self._address = parse_address(target.host)
        self._probe = probe or Probe(target)
        limits = target.timeouts
        self._page_s = min(PAGE_S if self._deep else PAGE_BEFORE_LOAD_S, limits.first_token_s)
        self._pages = Pages(self._address, target.key, limits.connect_s, self._page_s)
        self._health = Page()
        self._checks: list[Check] = []
        self._told = Told()
        self.link = Link()

    def examine(self) -> Examination:
        """All that can be asked. Raises nothing that the target does."""
        try:
            ended_by = self._way() or (self._first_answers() if self._deep else None)
            if ended_by is None:
                self._server()
                self._answers()
                self._machine()
        finally:
            self._pages.close()
            if self._deep:
                self._probe.close()
        return Examination(self._address.url, cleaned(self._checks, [self._target.key or ""]), ended_by)

    def _way(self) -> ExitCode | None:
        """Names, addresses, TLS, round trips; the code to end with where there is no way."""
        timeout_s = self._target.timeouts.connect_s
        names = ask_names(self._address, timeout_s)
        self._checks.append(judge_names(names, self._address.url))
        if all(each.connect_s is None for each in names.addresses):
            return ExitCode.UNREACHABLE
        if self._address.tls:
            secured = ask_tls(self._address, timeout_s)
            self._checks.append(judge_tls(secured))
            if secured.fault:
                return ExitCode.UNREACHABLE
        trips, self._health = ask_trips(self._pages)
        if not trips:
            said = f"what answers at {self._address.url} is no model server ({self._health.fault})"
            self._checks.append(bad("http", said, "is it the right port, and does the server speak http or https?"))
            return ExitCode.UNREACHABLE
        if (elsewhere := self._redirected()) is not None:
            self._checks.append(bad("http", f"the server sends everyone to {elsewhere}", "give that address"))
            return ExitCode.UNANSWERED
        self.link = Link(ask_connects(names, self._address.port, timeout_s), trips)
        self._checks.append(judge_link(self.link))
        return None

    def _redirected(self) -> str | None:
        """Another host or scheme that the server names in place of an answer."""
        status, where = self._health.status or 0, self._health.headers.get("location", "")
        parts = urlsplit(where)
        if not 300 <= status < 400 or not parts.hostname:
            return None
        same = parts.hostname == self._address.host and (parts.scheme == "https") == self._address.tls
        return None if same else f"{parts.scheme}://{parts.netloc}"

    def _first_answers(self) -> ExitCode | None:
        """The probe, as before a run."""
        try:
            self._probe.run()
        except LoadbandError as error:
            self._checks.append(judge_refusal(self._probe.stage, str(error)))
            return error.code
        return None

    def _server(self) -> None:
        """What the server tells of itself."""
        found, target = self._probe.found, self._target
        pages = ask_pages(PAGES, self._address, target.key, target.timeouts.connect_s, self._page_s)
        self._told = told_of({p: page.body for p, page in pages.items() if page.status == 200}, self._health_server())
        answered = next((each.answer.model for each in found.exchanges if each.answer.model), None)
        self._checks += [
            judge_key(target.key_variable, given=bool(target.key), needed=self._key_needed()),
            judge_models(found.model, found.server.get("models"), answered),
            judge_version(self._told),
            judge_parallel(self._told, self._needs),
        ]

    def _health_server(self) -> str | None:
        told = self._health.headers.get("server") or self._probe.found.server.get("header")
        return told if isinstance(told, str) else None

    def _key_needed(self) -> bool | None:
        """Whether the list of models is refused without a key."""
        if not (self._deep and self._target.key):
            return None
        models = "/v1/models"
        status = ask_pages([models], self._address, None, self._target.timeouts.connect_s, self._page_s)[models].status
        return None if status is None else status in (401, 403)

    def _answers(self) -> None:
        """What the model's answers tell."""
        questions, found, floor = Questions(self._probe, self._needs), self._probe.found, self.link.floor_s
        terse, streams, long = self._looks(questions)
        if terse.failure_class is not None:  # what else is asked would fail, too, each after its time-out
            self._checks.append(streams)
            return
        free = questions.terse_freely(terse.asked_tokens) if self._deep and found.ignore_eos else None
        prompted = questions.longest_prompt()
        self._refuse_hopeless(questions, prompted)
        overhead, largest_request = prompted.overhead_tokens, None
        need = self._needs.longest_prompt + (overhead or 0) + self._needs.longest_answer
        if self._deep and prompted.seen.failure_class is None and need <= (found.context_limit or need):
            largest_request = questions.largest_request()
        pairs = questions.pairs(found.context_limit) if self._deep else []
        self._checks += [
            streams,
            judge_usage(long),
            judge_ignore_eos(_overlong([*questions.small, terse]) or terse, free, wanted=self._target.ignore_eos),
            judge_prompt_length(prompted),
            judge_context(found.context_limit, overhead, self._needs, largest_request),
            judge_prefix_cache(pairs, self._told.prefix_cache, floor),
        ]

    def _looks(self, questions: Questions) -> tuple[Seen, Check, Seen]:
        """An answer that wants to be short; whether a longer one streams, and that one. One answer may be both.

        A busy client reads late and sees lumps where there are none, but not each time; a buffer is there each time.
        """
        terse = long = questions.terse()
        if not self._target.stream:
            return terse, good("streams", "not asked for: TTFT and TPOT of the run will be unknown"), terse
        for last in (False,) * (LOOKS - 1) + (True,):
            if long.failure_class is None and long.events < FEWEST_EVENTS:
                long = questions.talkative(terse.asked_tokens)
            streams = judge_streams(long, self.link.floor_s)
            if last or streams.mark != Mark.BAD or long.failure_class is not None:
                break
            long = questions.talkative(terse.asked_tokens)
        return terse, streams, long

    def _refuse_hopeless(self, questions: Questions, longest: Prompted) -> None:
        """Before load: raise UsageError where even the plan's shortest prompt does not fit."""
        if self._deep or longest.seen.failure_class != FailureClass.CONTEXT_LENGTH:
            return
        shortest = questions.shortest_prompt()
        if shortest.seen.failure_class == FailureClass.CONTEXT_LENGTH:
            (said,) = cleaned([judge_prompt_length(shortest)], [self._target.key or ""])
            raise UsageError(f"{self._address.url}: {said.sentence}")

    def _machine(self) -> None:
        """This machine, and connections during a pause."""
        exchanges, needs, limits = self._probe.found.exchanges, self._needs, ask_limits()
        closes = closes_after_answers(exchanges)
        connect_s = self.link.values["connect_median_s"]
        self._checks += [
            judge_keep_alive(self._idle(closes), needs, connect_s),
            judge_descriptors(limits, needs),
            judge_ports(limits, needs, closes=closes, answer_s=self._answer_s()),
        ]

    def _idle(self, closes: bool | None) -> Idle:
        """How long the server keeps a connection: by its word, and by waiting through a pause where there is time."""
        announced = announced_keep_alive_s(self._health.headers.get("keep-alive", ""))
        if not self._deep or closes:
            return Idle(closes, announced)
        wait_s = min(largest(self._needs.think), IDLE_S)
        self._pages.get(SMALLEST)
        waited = 0.0
        while self._pages.kept() and waited < wait_s:
            gevent.sleep(min(0.1, wait_s - waited))
            waited += 0.1
        if self._pages.kept():
            return Idle(closes, announced, outlived_s=wait_s)
        return Idle(closes, announced, died_within_s=waited)

    def _answer_s(self) -> float | None:
        """About how long an answer of the plan takes, by the look's speed."""
        speeds = [
            (e.tokens.last - e.tokens.first) / (e.tokens.events - 1)
            for e in self._probe.found.exchanges
            if e.tokens.first is not None and e.tokens.last is not None and e.tokens.events > 1
        ]
        return max(speeds) * mean(self._needs.answer) if speeds else None


def _overlong(answers: list[Seen]) -> Seen | None:
    """The first that is longer than it was asked to be."""
    return next((seen for seen in answers if (seen.output_tokens or 0) > seen.asked_tokens), None)


def examine(target: Target, needs: Needs) -> Examination:
    """Everything that can be asked of a target. Raises UsageError for an address that is none."""
    return Doctor(target, needs).examine()
