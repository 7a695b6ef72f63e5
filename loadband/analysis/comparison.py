"""Runs side by side: are they alike, what changed, by how much, and is that more than noise?

Knows: the order of a comparison. Must not know: the command line, printing.

Runs are alike when no condition differs but those under test (`vary`); unlike runs are refused by the name of what
differs. Each run is compared with the first, its baseline (and that one's further runs), at the levels that all have;
the chain gives each run's value at its own operating point, or at one level that was asked for.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from loadband.analysis.conditions import Difference, differences, known_keys, remarks
from loadband.analysis.curve import throughput
from loadband.analysis.effects import Effect, common_levels, effects
from loadband.analysis.operating_value import Factor, factor, values
from loadband.analysis.side import Side, traces_of
from loadband.errors import UnansweredError, UsageError

APART = 0.10
"""Traces of conditions that differ by more are named."""
SMALL = 0.05
"""Traces (tokens, seconds) below this are as good as none."""


@dataclass(frozen=True, slots=True)
class Link:
    """One run in the chain."""

    name: str
    change: tuple[Difference, ...]
    """Against the run before."""
    users: float | None
    value: float | None
    to_previous: Factor | None
    to_first: Factor | None
    confidence: str
    reason: str
    """Why there is no value."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """All of it."""

    metric: str
    sides: tuple[Side, ...]
    chain: tuple[Link, ...]
    levels: tuple[float, ...]
    """Users of the levels that all have."""
    effects: tuple[tuple[Effect, ...], ...]
    """Of each run after the first, against it."""
    reference: float | None
    """Users of the common level nearest below the baseline's operating point: where a gate looks."""
    notes: tuple[str, ...]

    def effects_of(self, place: int, metric: str) -> list[Effect]:
        """Of the run at `place` (from 1) in one number, rising in users."""
        return [each for each in self.effects[place - 1] if each.metric == metric]


def check_alike(sides: Sequence[Side], vary: Sequence[str]) -> list[str]:
    """Notes on what differs all the same. Raises UnansweredError of unlike runs, UsageError of a strange `vary`."""
    told = [(side.name, side.conditions) for side in sides if side.conditions is not None]
    known = known_keys(conditions for _, conditions in told)
    if strange := [key for key in vary if key not in known]:
        raise UsageError(
            f"no run tells {strange[0]}: keep it with --label {strange[0]}=VALUE or --server-args when load is made "
            f"(they tell {', '.join(sorted(known)) or 'nothing'})"
        )
    notes: list[str] = []
    varied: set[str] = set()
    for (one, first), (other, following) in itertools.pairwise(told):
        found = differences(first, following)
        varied |= {each.key for each in found}
        unlike = [each for each in found if each.key not in vary]
        if unlike:
            keys = " ".join(f"--vary {each.key}" for each in unlike[:3])
            raise UnansweredError(
                f"{one} and {other} are not alike: {_listed(unlike)}: compare like with like, or name what is under "
                f"test ({keys})"
            )
        notes += [f"{one}, {other}: {remark}" for remark in remarks(first, following)]
    return notes + [f"{key} is the same in all runs" for key in vary if key not in varied]


def check_repeats(baseline: Side, again: Sequence[Side]) -> None:
    """Raises UnansweredError when a further run of the baseline is none."""
    for side in again:
        unlike = differences(baseline.conditions, side.conditions) if baseline.conditions and side.conditions else []
        if unlike:
            raise UnansweredError(
                f"{side.name} is no repeat of {baseline.name}: {_listed(unlike)}: give runs of the same server as "
                "--baseline"
            )


def _listed(unlike: Sequence[Difference]) -> str:
    return "; ".join(str(each) for each in unlike[:6]) + (" and more" if len(unlike) > 6 else "")


def foreign_remarks(sides: Sequence[Side]) -> list[str]:
    """What a table tells of its conditions against the first run, and what it leaves unsaid."""
    run = next((side for side in sides if side.conditions is not None), None)
    notes = []
    for side in sides:
        if side.conditions is not None:
            continue
        told = [f"{key.replace('_', ' ')} {value:.3g}" for key, value in side.traces.items()]
        if run is None or run.conditions is None:
            continue
        here = traces_of(run.verdict)
        apart = [
            f"{key.replace('_', ' ')} {here[key]:.3g} in {run.name}, {value:.3g} in {side.name}"
            for key, value in side.traces.items()
            if key in here and abs(value - here[key]) > APART * max(value, here[key]) and max(value, here[key]) > SMALL
        ]
        unsaid = [key for key in (*run.conditions.words, *run.conditions.settings) if key not in side.traces]
        notes.append(f"{side.name} does not tell: {', '.join(unsaid)}")
        notes.append(f"by its numbers it differs in: {'; '.join(apart)}" if apart else
                     f"by its numbers ({', '.join(told) or 'none'}) no condition differs")  # fmt: skip
    return notes


def compare(sides: Sequence[Side], again: Sequence[Side], vary: Sequence[str], at: float | None) -> Comparison:
    """`again`: further runs of the first side. Raises UnansweredError when the sides cannot be compared."""
    notes = [*check_alike(sides, vary), *foreign_remarks(sides)]
    check_repeats(sides[0], again)
    metrics = {side.verdict.metric for side in sides}
    metric = metrics.pop() if len(metrics) == 1 else "req_s"
    levels = common_levels(sides)
    if not levels:
        tested = "; ".join(f"{side.name} {_few(side.tested())}" for side in sides)
        raise UnansweredError(f"no valid level is in all of them ({tested}): run the same --steps")
    if at is not None and at not in levels:
        raise UnansweredError(f"{at:g} users is not a valid level of all of them: choose one of {_few(levels)}")
    point = sides[0].verdict.operating.users
    below = [users for users in levels if point is None or users <= point]
    reference = at if at is not None else below[-1] if below else levels[0]
    compared = [at] if at is not None else levels
    return Comparison(
        metric=metric,
        sides=tuple(sides),
        chain=_chain(sides) if at is None else _chain_at(sides, [sides[0], *again], at, metric),
        levels=tuple(compared),
        effects=tuple(effects([sides[0], *again], side, compared) for side in sides[1:]),
        reference=reference,
        notes=tuple(notes),
    )


def _few(users: Sequence[float]) -> str:
    return ", ".join(f"{each:g}" for each in users) or "none"


def _change(sides: Sequence[Side], place: int) -> tuple[Difference, ...]:
    one, other = sides[place - 1].conditions, sides[place].conditions
    return () if place == 0 or one is None or other is None else tuple(differences(one, other))


def _chain(sides: Sequence[Side]) -> tuple[Link, ...]:
    """Each run at its own operating point."""
    drawn = values(sides)
    return tuple(
        Link(
            name=side.name,
            change=_change(sides, place),
            users=drawn[place].users,
            value=drawn[place].x,
            to_previous=factor(drawn[place - 1], drawn[place]) if place else None,
            to_first=factor(drawn[0], drawn[place]) if place else None,
            confidence=side.verdict.confidence,
            reason=side.verdict.operating.reason if drawn[place].x is None else "",
        )
        for place, side in enumerate(sides)
    )


def _chain_at(sides: Sequence[Side], baseline: Sequence[Side], users: float, metric: str) -> tuple[Link, ...]:
    """Each run at the same level."""
    links = []
    for place, side in enumerate(sides):
        values_there = [x for _, level in side.levels_at(users) if (x := throughput(level, metric))]
        before = baseline if place <= 1 else [sides[place - 1]]
        links.append(
            Link(
                name=side.name,
                change=_change(sides, place),
                users=users,
                value=sum(values_there) / len(values_there) if values_there else None,
                to_previous=_factor_at(before, side, users, metric) if place else None,
                to_first=_factor_at(baseline, side, users, metric) if place else None,
                confidence=side.verdict.confidence,
                reason="" if values_there else "not measured there",
            )
        )
    return tuple(links)


def _factor_at(before: Sequence[Side], after: Side, users: float, metric: str) -> Factor | None:
    found = [each for each in effects(before, after, [users]) if each.metric == metric]
    if not found:
        return None
    low, high = found[0].low, found[0].high
    return Factor(1 + found[0].change, None if low is None else 1 + low, None if high is None else 1 + high)
