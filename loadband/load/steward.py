"""One start of the program on the master: from its options to a conductor for each test, and the report at the end.

Knows: what is frozen from the command line, when a test begins and ends, what is refused.
Must not know: the wire, the ladder, what a report says.
"""

import argparse
import os
import re
import time
import uuid
from pathlib import Path
from typing import Any

import gevent
from locust import argument_parser
from locust.env import Environment
from locust.runners import Runner

from loadband import rundir
from loadband.errors import LoadbandError, complain
from loadband.load.aftermath import Aftermath
from loadband.load.agent import DATASET, WORK
from loadband.load.choice import check_settings, choose, install_users
from loadband.load.conductor import Conductor
from loadband.load.connection import parse_address
from loadband.load.dataset_file import dataset_of
from loadband.load.guard_post import GuardPost, pages_of
from loadband.load.lengths import kinds_of
from loadband.load.locust_patches import ask_again
from loadband.load.option_values import plan_of, quieten_locust, timeouts_of
from loadband.load.options import FROM_THE_PAGE, Frozen
from loadband.load.outcome import code_of
from loadband.load.prefix_cache import reset_prefix_cache
from loadband.load.probe import Found, Probe, Target
from loadband.load.progress import Progress
from loadband.load.prompt_options import parse_adapters
from loadband.load.refusals import refuse_slo_of_others, refuse_strangers, refuse_too_long
from loadband.load.resumption import Past, past_of
from loadband.load.roll import Roll
from loadband.load.run_json import words_of
from loadband.load.scenario_options import settings_of
from loadband.load.server_page import ServerPage
from loadband.load.session import Work
from loadband.load.shape import LadderShape
from loadband.load.surroundings import unknown, variables_of
from loadband.load.work import extra_bodies, work_of
from loadband.tuning.doctor.before_load import Preflight, needs_of, preflight

FORKED_WITHIN_S = 60.0
"""Workers of `--processes` are here within seconds, or they died."""


class Steward:
    """Serves the master's or the only process."""

    def __init__(self, environment: Environment, runner: Runner, roll: Roll | None) -> None:
        """`roll`: the master's roll of workers; None where there are none."""
        self._environment = environment
        self._runner = runner
        self._roll = roll
        options = environment.parsed_options
        assert options is not None
        self._given = argparse.Namespace(**vars(options))
        self.frozen = Frozen.of(options)
        self.headless = bool(options.headless)
        self.conductor: Conductor | None = None
        self.terminated = False
        """SIGTERM came: no time for a report."""
        self.leaving = False
        """The program ends: the last reports come after Locust's word that the test has stopped."""
        self._tests = 0
        self._gone_seen = 0
        self._progress = Progress()
        self._found: Found | None = None
        self._preflight = Preflight()
        self._run_id = ""
        self._past: Past | None = None
        """The run that is gone on with."""
        self._ramp: float | None = options.spawn_rate
        refuse_strangers(options)
        self.dataset = dataset_of(options)
        self._arrival: str = options.arrival
        self.plan = plan_of(options, self.dataset.moments if self.dataset else ())
        self._given.slo = options.slo  # those of --find are the run's
        self._at_rates = bool(self.plan and self.plan.rates)
        self.mix = choose(
            environment, self.frozen.user_classes, self.frozen.mix, at_rates=self._at_rates,
            recorded=self.dataset is not None,
        )  # fmt: skip
        refuse_slo_of_others(options.slo, self.mix)

    def prepare(self) -> None:
        """Refuse before load what can be known, and install the ladder. Raises LoadbandError."""
        check_settings(self._environment, self.mix, settings_of(self._options.set or ()))
        install_users(self._environment, self.mix, at_rates=self._at_rates)
        if self.plan is not None:
            self._environment.shape_class = LadderShape(self._runner, self.look)
            quieten_locust(self._environment.parsed_options)
        for sentence in unknown(os.environ, variables_of(argument_parser.get_parser(), self.frozen.api_key_env)):
            self._progress.say(sentence)
        if self.frozen.run_dir is not None and self._given.resume:
            self._past = past_of(Path(self.frozen.run_dir))
        elif self.frozen.run_dir is not None:
            rundir.check_usable(Path(self.frozen.run_dir))
        if self.headless:
            self._progress.say(f"asking {parse_address(self._environment.host).url}")
            self._found = self._probe()
            if self._roll is not None:
                within_s = self._options.expect_workers_max_wait or (FORKED_WITHIN_S if self._options.processes else 0)
                self._roll.wait_for(self._options.expect_workers, within_s, self._progress.say)

    def begin(self) -> None:
        """A test begins, unless it already did. Raises LoadbandError."""
        while self.under_way and self.conductor and self.conductor.stopping:
            gevent.sleep(0.1)
        if self.under_way:
            return
        found = self._found or self._probe()
        self._found = None
        self._tests += 1
        self._empty_cache()
        conductor = Conductor(
            self._environment, self._roll, self.plan, self._ramp, self._progress, between_passes=self._empty_cache,
            guards=self._guards(found), aftermath=Aftermath(self._metrics_pages()), past=self._past,
        )  # fmt: skip
        work = self._work(found)
        told = self._hand_out(found)
        conductor.begin(self._path(), work, found, words_of(self._options, work) | told | self._preflight.run_words)
        self.conductor = conductor

    def _hand_out(self, found: Found) -> dict[str, Any]:
        """Send the recorded requests to every process, before its work; what `run.json` says of them."""
        dataset, path = self.dataset, self.frozen.dataset
        if dataset is None or path is None:
            return {"dataset": None}
        for piece in dataset.pieces():
            self._runner.send_message(DATASET, piece)
        if dataset.bad:
            found.findings.append(f"{dataset.bad} bad lines of the data set were skipped: {'; '.join(dataset.skipped)}")
        named = {"file": Path(path).name, "requests": len(dataset), "digest": dataset.digest, "bad_lines": dataset.bad}
        return {"dataset": named}

    @property
    def _options(self) -> argparse.Namespace:
        """As given on the command line, but for what the form of Locust's page may change."""
        now = vars(self._environment.parsed_options)
        return argparse.Namespace(**{**vars(self._given), **{name: now[name] for name in FROM_THE_PAGE}})

    @property
    def under_way(self) -> bool:
        """Whether a test has begun and its files are not closed."""
        return self.conductor is not None and self.conductor.how is None

    def look(self) -> tuple[int, float] | None:
        """The ladder's answer to Locust's shape: users and users per second, None when the run is over."""
        try:
            self.begin()
        except LoadbandError as error:
            complain(error)
            self._environment.process_exit_code = int(error.code)
            return None
        assert self.conductor is not None
        action = self.conductor.look()
        if self.conductor.workers_gone != self._gone_seen:
            self._gone_seen = self.conductor.workers_gone
            ask_again(self._runner)
        return None if action.finished else (action.users, self.conductor.spawn_rate)

    def test_starts(self) -> None:
        """Locust starts a test. Where it cannot begin, it is stopped and the sentence shown."""
        try:
            self.begin()
        except LoadbandError as error:
            complain(error)
            self._runner.send_message(WORK, None)
            gevent.spawn_later(0.1, self._runner.stop)

    def test_stops(self) -> None:
        """Locust begins to stop the test."""
        if self.conductor is not None:
            self.conductor.call_the_roll()
            self.conductor.stopping = True

    def leaves(self) -> None:
        """The program begins to end."""
        self.leaving = True

    def test_stopped(self) -> None:
        """Locust stopped the test, and each process has told all of it; unless the program ends: then they will."""
        if self.conductor is not None and not self.headless and not self.leaving:
            self.conductor.finish("stopped")

    def absorb(self, report: dict[str, Any]) -> None:
        """A report of one process."""
        if self.conductor is not None:
            self.conductor.absorb(report)

    def quit(self) -> None:
        """The program ends: close the files, make the report, set the exit code."""
        conductor = self.conductor
        if conductor is None or conductor.path is None:
            return
        conductor.finish("terminated" if self.terminated else "interrupted")
        self._environment.process_exit_code = code_of(
            conductor,
            report=self.headless if self.frozen.report is None else self.frozen.report,
            has_slo=bool(self._given.slo),
            terminated=self.terminated,
            tokenizer=self.frozen.tokenizer,
            say=self._progress.say,
        )

    def _probe(self) -> Found:
        """Look at the target, and with `--doctor` at what a run on it would meet. Raises LoadbandError."""
        self._run_id = uuid.uuid4().hex[:12]
        target = Target(
            host=self._environment.host,
            model=self._options.model or None,
            key=os.environ.get(self._key_variable() or ""),
            key_variable=self.frozen.api_key_env,
            temperature=self._options.temperature,
            ignore_eos=self._options.ignore_eos,
            timeouts=timeouts_of(self._options),
            run_id=self._run_id,
            api=self._options.api,
            path=self.frozen.path,
            stream=self._options.stream,
            kinds=kinds_of(self.mix, int(self._options.shared_prefix)),
            tokenizer=self.frozen.tokenizer,
            extra_bodies=extra_bodies(self._options, self.mix),
            adapters=tuple(parse_adapters(self._options.adapters) if self._options.adapters else ()),
        )
        look = Probe(target)
        try:
            found = look.run()
            refuse_too_long(self._options, self.mix, settings_of(self._options.set or ()), found.context_limit)
            if self._options.doctor:
                self._preflight = preflight(look, target, needs_of(self._options, self.plan, self.mix, self.dataset))
        finally:
            look.close()
        for sentence in self._preflight.findings:
            self._progress.say(f"found: {sentence}")
        found.findings += self._preflight.findings
        return found

    def _guards(self, found: Found) -> GuardPost:
        """The guards of the plan; those that are blind are told."""
        plan = self.plan
        guards = GuardPost(
            plan.stop_when if plan else None, self._metrics_pages(),
            shedding_fails=plan is None or plan.shedding_fails,
        )  # fmt: skip
        for sentence in guards.blind():
            self._progress.say(sentence)
            found.findings.append(sentence)
        return guards

    def _metrics_pages(self) -> list[ServerPage]:
        """Where the server may tell of itself."""
        key = os.environ.get(self._key_variable() or "")
        return pages_of(self.frozen.server_metrics, self._environment.host, key)

    def _empty_cache(self) -> None:
        """Empty the server's prefix cache, where that is asked for. Raises UsageError."""
        if self.frozen.reset_cache:
            key = os.environ.get(self._key_variable() or "")
            reset_prefix_cache(parse_address(self._environment.host), key)

    def _key_variable(self) -> str | None:
        """A key goes to the host of the command line alone: the form of the web UI can name any."""
        return self.frozen.api_key_env if self._environment.host == self.frozen.host else None

    def _work(self, found: Found) -> Work:
        return work_of(
            self._options, found, self.mix,
            host=self._environment.host or "",
            run_id=self._run_id,
            path=self.frozen.path,
            arrival=self._arrival,
            dataset=self.dataset.digest if self.dataset else None,
            workers=max(self._roll.enlist(), 1) if self._roll is not None else 1,
            key_variable=self._key_variable(),
            first_request=self._past.first_request if self._past else 1,
        )  # fmt: skip

    def _path(self) -> Path:
        """Directory of the n-th test of this program: the asked one, then `-2`, `-3`; unasked, one of its own."""
        if self.frozen.run_dir is not None:
            path = Path(self.frozen.run_dir)
            return path if self._tests == 1 else path.with_name(f"{path.name}-{self._tests}")
        target = re.sub(r"[^\w.]+", "-", parse_address(self._environment.host).host_header)
        return rundir.make_own(Path("runs") / f"{time.strftime('%Y%m%d-%H%M%S')}-{target}")
