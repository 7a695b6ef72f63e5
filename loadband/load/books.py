"""The books of a run that was killed, balanced: what was in flight is lost, what a file lacks is added.

Pure. Knows: how `requests.csv` and `seconds.csv` count the same requests. Must not know: files, levels.

The master writes a record as soon as it is told, and the counters of a second once it is over. So a kill leaves
requests that started and have no record (they were in flight), and records whose counters were not written. Which ones
can be told by comparing, for each scenario, the requests counted in each second with those on record. Up to the last
second written a surplus of starts is what was in flight, the newest first; later seconds have records alone.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

COUNTED = ("started", "ok", "failed", "cut", "abandoned")


class Told(NamedTuple):
    """A request on record."""

    scenario: str
    status: str
    started: int
    """Second in which it started."""
    ended: int


@dataclass(frozen=True, slots=True)
class Balance:
    """What is to be added."""

    lost: tuple[tuple[int, str], ...]
    """Second of its start and scenario of each request that was in flight."""
    counters: tuple[tuple[int, str, str, int], ...]
    """Second, scenario, counter and what is added to it."""

    @property
    def told_until(self) -> float:
        """Requests that ended in this second or later were not counted to their last token; infinite where all were."""
        return min((second for second, _, name, _ in self.counters if name != "started"), default=math.inf)


def balance(told: Iterable[Told], counted: Iterable[tuple[int, str, Sequence[int]]], last: int) -> Balance:
    """`counted`: second, scenario and counters, ordered as `COUNTED`, of each row; `last`: newest second written."""
    missing: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for request in told:
        missing[request.scenario, "started"][request.started] += 1
        if request.status in COUNTED:
            missing[request.scenario, request.status][request.ended] += 1
    for second, scenario, counts in counted:
        for name, count in zip(COUNTED, counts, strict=True):
            if count:
                missing[scenario, name][second] -= count
    lost: list[tuple[int, str]] = []
    added: list[tuple[int, str, str, int]] = []
    for (scenario, name), by_second in sorted(missing.items()):
        late = {second: by for second, by in by_second.items() if second > last and by > 0}
        early = {second: by for second, by in by_second.items() if second <= last}
        added += [(second, scenario, name, by) for second, by in sorted(late.items())]
        net = sum(early.values())
        if net > 0:
            added += [(second, scenario, name, by) for second, by in _newest(early, net)]
        elif name == "started":
            opened = {second: -by for second, by in early.items()}
            lost += [(second, scenario) for second, by in _newest(opened, -net) for _ in range(by)]
    return Balance(tuple(sorted(lost)), tuple(added))


def _newest(surplus: dict[int, int], total: int) -> list[tuple[int, int]]:
    """`total` dealt to the seconds that have a surplus, the newest first."""
    dealt = []
    for second in sorted(surplus, reverse=True):
        if (by := min(surplus[second], total)) > 0:
            dealt.append((second, by))
            total -= by
    return dealt
