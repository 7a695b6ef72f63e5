"""What a person sees while a run goes on: on a terminal a line in place, elsewhere a line for each level."""

import io
from dataclasses import replace

from loadband.load.ladder import Ladder
from loadband.load.progress import Progress, Told, live_line, moment_of, step_line
from loadband.load.step import EndedBy, Phase, Sight, Step
from tests.load.climbing import plan

TOLD = Told(steps=5, in_flight=7.94, tokens_s=1843.4, ttft_p95_s=0.214, failed=3)
SIGHT = Sight(now=1012.0, users=8, in_flight=8, ok=50, ended=53)
HELD = Step(4, 1, 8, asked_at=1000.0, first=4, reached_at=1001.0, hold_from=1002.0)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def ladder(phase: Phase, step: Step | None = None, hold: str = "30s") -> Ladder:
    return Ladder(plan("1,2,4,8,16", hold), phase=phase, current=step)


def test_the_live_line_says_where_the_run_is() -> None:
    asked = replace(HELD, reached_at=None, hold_from=None)
    settling = replace(HELD, hold_from=None)
    assert live_line(ladder(Phase.WARMUP), SIGHT, TOLD) == "warming up with 8 users"
    assert live_line(ladder(Phase.CLIMB, asked), SIGHT, TOLD) == "8 users (4 of 5): 8 of 8 users are there"
    assert live_line(ladder(Phase.CLIMB, settling), SIGHT, TOLD) == "8 users (4 of 5): settling, 8 in flight"
    assert live_line(ladder(Phase.CLIMB, HELD), SIGHT, TOLD) == (
        "8 users (4 of 5): 7.9 in flight, about 1,843 tokens/s, TTFT p95 0.21 s, 3 failed, 20 s left"
    )
    assert live_line(ladder(Phase.CLIMB, HELD, "auto"), SIGHT, TOLD).endswith("590 s left at most")
    assert live_line(ladder(Phase.CLIMB, HELD, "99req"), SIGHT, TOLD).endswith("3 failed")
    assert live_line(ladder(Phase.DRAIN), SIGHT, TOLD) == "waiting for 8 requests in flight"
    assert live_line(ladder(Phase.DRAIN), replace(SIGHT, in_flight=None), TOLD) == "waiting for requests in flight"
    assert live_line(ladder(Phase.LEAVE), SIGHT, TOLD) == "8 users leave"
    assert live_line(ladder(Phase.DONE), SIGHT, TOLD) == "done"


def test_unknown_figures_are_left_out() -> None:
    nothing = replace(TOLD, tokens_s=None, ttft_p95_s=None, failed=0)
    assert (
        live_line(ladder(Phase.CLIMB, HELD), SIGHT, nothing) == "8 users (4 of 5): 7.9 in flight, 0 failed, 20 s left"
    )


def test_a_step_that_ended_says_what_came_of_it() -> None:
    ended = replace(HELD, hold_to=1032.0, ended_by=EndedBy.HOLD)
    assert step_line(ended, TOLD).endswith("3 failed, held 30 s")
    assert step_line(replace(ended, target=1), TOLD).startswith("1 user (4 of 5): ")
    never = replace(HELD, hold_from=None, ended_by=EndedBy.NOT_REACHED)
    assert step_line(never, TOLD) == "8 users (4 of 5): not measured, its users did not come"
    assert step_line(replace(never, ended_by=EndedBy.TARGET_LOST), TOLD).endswith("the target went away")
    assert step_line(replace(never, ended_by=EndedBy.WORKER_LOST), TOLD).endswith("a worker was lost")
    assert step_line(replace(never, ended_by=EndedBy.STOPPED), TOLD).endswith("not measured, stopped")


def test_a_terminal_shows_the_live_line_in_place() -> None:
    stream = Terminal()
    progress = Progress(stream)
    progress.live("one")
    progress.live("two")
    progress.say("level done")
    assert stream.getvalue() == "loadband: one\r\x1b[Kloadband: two\r\x1b[Kloadband: level done\n"


def test_elsewhere_only_lines_that_stay_are_written() -> None:
    stream = io.StringIO()
    progress = Progress(stream)
    progress.live("one")
    progress.say("level done")
    assert stream.getvalue() == "loadband: level done\n"


def test_a_log_tells_the_begin_of_what_takes_long() -> None:
    settling = replace(HELD, hold_from=None)
    log = io.StringIO()
    progress = Progress(log)
    for seen in (
        ladder(Phase.WARMUP), ladder(Phase.WARMUP), ladder(Phase.CLIMB, replace(settling, reached_at=None)),
        ladder(Phase.CLIMB, settling), ladder(Phase.CLIMB, settling), ladder(Phase.CLIMB, HELD),
        ladder(Phase.DRAIN), ladder(Phase.DRAIN), ladder(Phase.LEAVE),
    ):  # fmt: skip
        progress.live(live_line(seen, SIGHT, TOLD), moment_of(seen, SIGHT))
    progress.live("none is there yet", moment_of(ladder(Phase.WARMUP), replace(SIGHT, users=0)))
    assert log.getvalue().splitlines() == [
        "loadband: warming up with 8 users",
        "loadband: 8 users (4 of 5): settling, 8 in flight",
        "loadband: waiting for 8 requests in flight",
    ]
