"""Holds of a simulated server in virtual time, tallied as those of a run are.

Knows: virtual users, the tally. Must not know: the ladder, any test.
"""

from dataclasses import replace

from loadband.load.course import Held
from loadband.load.hold_tally import HoldTally
from loadband.record import Record, Status
from loadband.sim.profile import Profile
from loadband.sim.virtual import Asked, Load, VirtualRun
from loadband.slo import Limit

SETTLE_S = 15.0


def hold(profile: Profile, users: int, seed: int, limits: tuple[Limit, ...] = (), measured_s: float = 60.0) -> Held:
    """What one hold comes to; one in which the engine died was not held."""
    tally = HoldTally(limits)

    def watch(asked: Asked) -> None:
        ended = asked.stamps[-1]
        record = Record(
            id="1", worker="w0", scenario="interactive", kind="chat", step=1, step_end=1, repeat=1, user=asked.user,
            conversation=1, turn=1,
            started_at=asked.asked_at, status=Status.OK, ttft_s=asked.stamps[0] - asked.asked_at,
            e2e_s=ended - asked.asked_at, duration_s=ended - asked.asked_at, output_tokens=len(asked.stamps),
        )  # fmt: skip
        tally.add(record.values())

    run = VirtualRun(profile, Load(), seed, watch)
    tally.begin(SETTLE_S)
    outcome = run.closed(users, SETTLE_S, measured_s)
    held = tally.held(SETTLE_S + measured_s)
    assert held is not None
    return replace(held, users=users) if outcome.died_at_s is None else Held(users)
