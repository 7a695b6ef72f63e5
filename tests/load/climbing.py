"""A run imagined: a ladder, users that come when asked, requests that end at a given rate.

Knows: what a ladder sees and does. Must not know: clocks, any test.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from loadband.load.course import Held
from loadband.load.ladder import Ladder
from loadband.load.step import Action, Sight, Step
from loadband.plan import Plan, parse_hold


def plan(levels: str, hold: str = "30s", settle_s: float | None = None, max_hold_s: float = 600.0) -> Plan:
    parsed = tuple(int(level) for level in levels.split(","))
    return Plan(parsed, parse_hold(hold), max_hold_s, settle_s, warmup_s=0.0)


@dataclass
class Run:
    """Looks once a second from second 1000 on; what it sees is told by the fields."""

    ladder: Ladder
    spawn_s: float = 0.0
    """Users are there this long after they were asked for."""
    most_users: int = 1_000_000
    """No more than these ever come."""
    ended_per_user_s: float = 1.0
    """Requests that end in a second, of each user."""
    e2e_s: float | None = 1.0
    tokens_by_second: list[float] = field(default_factory=lambda: [100.0])
    """Tokens of a second of the hold; the pattern repeats."""
    drains_in_s: float = 3.0
    warm_after_s: float = 0.0
    """Every scenario was answered by then."""
    lost_from: float | None = None
    """From this second on the target is gone."""
    ok_share: float = 1.0
    """How many requests succeed."""
    failing_from: int = 1_000_000
    """With so many users and more, `failed_share` of the requests fail."""
    failed_share: float = 0.0
    unreached_from: float | None = None
    """From this second on the newest requests find no server."""
    dead_from: float | None = None
    """From this second on nothing is answered."""
    back_from: float = 1e9
    """From this second on it is again."""
    worker_gone_at: float | None = None
    """From this second on a process is gone."""
    guarded_from: float | None = None
    """From this second on a guard has fired."""
    comes_to: Callable[[Step], Held] | None = None
    """What a hold comes to."""
    tells: bool = True
    """Whether processes tell what is in flight."""
    now: float = 1000.0
    users: int = 0
    ended: float = 0.0
    failed: float = 0.0
    steps: list[Step] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    _asked: tuple[int, float] = (0, 0.0)
    _closed_at: float | None = None

    def sight(self) -> Sight:
        step = self.ladder.current
        held = 0 if step is None or step.hold_from is None else max(int(self.now - step.hold_from - 2), 0)
        pattern = self.tokens_by_second
        told = self._closed_at is None or self.now >= self._closed_at + 1
        left = 0 if self._closed_at is not None and self.now >= self._closed_at + self.drains_in_s else self.users
        e2e = self.e2e_s if self.ended else None
        return Sight(
            now=self.now,
            users=self.users,
            in_flight=left if told and self.tells else None,
            ok=int((self.ended - self.failed) * self.ok_share),
            ended=int(self.ended),
            failed=int(self.failed),
            e2e_mean_s=e2e,
            e2e_p95_s=None if e2e is None else 1.5 * e2e,
            warm=self.now - 1000.0 >= self.warm_after_s,
            unreached=self._since(self.unreached_from),
            target_lost=self._since(self.lost_from),
            guarded=self.guarded_from is not None and self.now >= self.guarded_from,
            workers_gone=int(self.worker_gone_at is not None and self.now >= self.worker_gone_at),
            held=None if step is None or step.hold_from is None or not self.comes_to else self.comes_to(step),
            tokens_by_second=[pattern[second % len(pattern)] for second in range(held)],
        )

    def look(self) -> Action:
        """One look, carried out; then a second passes."""
        sight = self.sight()
        action = self.ladder.look(sight)
        if action.ended is not None:
            self.steps.append(action.ended)
        again = self.ladder.look(sight)
        assert again == replace(action, ended=None), "a second look at the same sight changed something"
        if action.gate_open:
            self._closed_at = None
        elif self._closed_at is None:
            self._closed_at = self.now
        if action.users != self._asked[0]:
            self._asked = (action.users, self.now)
        self.actions.append(action)
        if self._closed_at is None and not self._since(self.dead_from):
            ended = self.users * self.ended_per_user_s
            self.ended += ended
            self.failed += ended * self.failed_share if self.users >= self.failing_from else 0.0
        self.now += 1.0
        if self.now >= self._asked[1] + self.spawn_s:
            self.users = min(self._asked[0], self.most_users)
        return action

    def _since(self, second: float | None) -> bool:
        """Whether that second is over, and the target not back."""
        return second is not None and second <= self.now < self.back_from

    def until_finished(self, within_s: float = 10_000) -> list[Step]:
        """All steps of the run."""
        before = self.now
        while not self.look().finished:
            assert self.now < before + within_s, "the run never finished"
        return self.steps
