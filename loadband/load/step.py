"""What the ladder sees, what it does, and the step it keeps: plain values.

Knows: the columns of `steps.csv`. Must not know: when a step begins or ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from loadband.load.course import Held, Part


class EndedBy(StrEnum):
    """Why a step ended."""

    HOLD = "hold"
    MAX_HOLD = "max_hold"
    NOT_REACHED = "not_reached"
    TARGET_LOST = "target_lost"
    FAILURE = "failure"
    """Its hold is whole, and with it a failure is confirmed: `--until-failure` climbs no further."""
    WORKER_LOST = "worker_lost"
    """A process died or left, and its users with it: the level is no longer what was asked for."""
    GUARD = "guard"
    """A guard of `--stop-when` fired: the run ends."""
    STOPPED = "stopped"
    CUT_OFF = "cut_off"
    """The run was cut off before the level was whole; it is held again when the run is resumed."""


class Phase(StrEnum):
    """Where a run is."""

    WARMUP = "warmup"
    CLIMB = "climb"
    DRAIN = "drain"
    LEAVE = "leave"
    """Nothing is in flight: the users are taken down."""
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Sight:
    """What the ladder sees at one moment."""

    now: float
    users: int
    in_flight: int | None
    """None while not every process has told since the gate moved."""
    ok: int
    """Successes since the start of the run."""
    ended: int
    """Requests that ended, in any way, since the start of the run."""
    failed: int = 0
    """Requests that the server, or the way to it, failed, since the start of the run."""
    e2e_mean_s: float | None = None
    """Of the newest successes."""
    e2e_p95_s: float | None = None
    tokens_by_second: Sequence[float] = ()
    """Output tokens of each whole second of the hold that is complete."""
    warm: bool = False
    """Every scenario was answered at least once."""
    target_lost: bool = False
    """The newest requests found no server."""
    unreached: bool = False
    """The same, not yet long enough to be sure."""
    workers_gone: int = 0
    """Processes that died or left since the start of the run."""
    held: Held | None = None
    """The hold in force, as far as it came."""
    guarded: bool = False
    """A guard fired."""


@dataclass(slots=True)
class Step:
    """One row of `steps.csv`."""

    step: int
    repeat: int
    target: int
    asked_at: float
    first: int = 0
    """Users that were there before: the new ones are numbered from here."""
    reached_at: float | None = None
    hold_from: float | None = None
    hold_to: float | None = None
    ended_by: str | None = None
    rate: float | None = None
    """Requests per second of an open loop; `target` is then the number of processes that send them."""
    level: int = 0
    """Place in the plan, from 1."""
    starts_at: float | None = None
    """When the schedule of an open loop begins: a little later than asked, so that every process knows it in time."""
    part: Part = Part.LEVEL
    served_at: float | None = None
    """When the first success inside its hold was seen."""

    def row(self) -> list[object]:
        """Values in column order."""
        return [
            self.step, self.repeat, None if self.rate else self.target, self.rate, self.asked_at, self.reached_at,
            self.hold_from, self.hold_to, self.ended_by,
        ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Action:
    """What is to be done now. Asked for again at every look until something changes."""

    users: int
    spread_s: float = 0.0
    """The new users begin spread over this time."""
    gate_open: bool = True
    finished: bool = False
    ended: Step | None = None
    """The step that ended at this look."""
