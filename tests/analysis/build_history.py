"""Locust's history file of a synthetic run, as Locust would have written it beside the run's own files."""

from collections import defaultdict
from pathlib import Path

from loadband.record import Record
from tests.analysis.build_run import Built

HEADER = (
    "Timestamp,User Count,Type,Name,Requests/s,Failures/s,50%,95%,Total Request Count,Total Failure Count,"
    "Total Median Response Time,Total Average Response Time,Total Average Content Size"
)
PACE_S = 1.006
"""A row each second, and the work of writing it."""


def write_history(built: Built, seen: float = 0.5) -> Path:
    """Full history of `built`, rows from half a second after its begin on; returns the prefix."""
    begin = min(record.started_at for record in built.records)
    end = max(_end(record) for record in built.records)
    ended = sorted(built.records, key=_end)
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    rows, place, at = [HEADER], 0, begin + seen
    while at < end:
        recent = []
        while place < len(ended) and _end(ended[place]) <= at:
            _count(sums, ended[place])
            recent.append(ended[place].e2e_s or 0.0)
            place += 1
        users = next((level for level, _, _, until in built.holds if at <= until), 0)
        slow = f"{max(recent) * 1000:.0f}" if recent else "0" if place else "N/A"
        rows += [_row(at, users, key, sums[key], slow) for key in sorted(sums) if key[0]]
        rows.append(_row(at, users, ("", "Aggregated"), sums["", "Aggregated"], slow))
        at += PACE_S
    path = built.path / "locust_stats_history.csv"
    path.write_bytes(("\r\n".join(rows) + "\r\n").encode())
    return built.path / "locust"


def _end(record: Record) -> float:
    return record.started_at + (record.duration_s or 0.0)


def _count(sums: dict[tuple[str, str], list[float]], record: Record) -> None:
    """Requests, failures, time: failures have no time, TTFT and TPOT are rows of successes alone."""
    ok = record.status == "ok"
    for key in (("E2E", record.scenario), ("", "Aggregated")):
        _add(sums[key], 0.0 if ok else 1.0, record.e2e_s if ok else None)
    for kind, value in (("TTFT", record.ttft_s), ("TPOT", record.tpot_s)):
        if ok and value is not None:
            _add(sums[kind, record.scenario], 0.0, value)


def _add(total: list[float], failed: float, value_s: float | None) -> None:
    total[0] += 1
    total[1] += failed
    total[2] += 0.0 if value_s is None else value_s * 1000


def _row(at: float, users: int, key: tuple[str, str], total: list[float], slow: str) -> str:
    count, failed, time_ms = total
    mean = time_ms / (count - failed) if count > failed else 0.0
    rate = "7.770000"  # frozen, as in a stall: nobody may read it
    return f'{int(at)},{users},{key[0]},"{key[1]}",{rate},0.000000,{slow},{slow},{count:.0f},{failed:.0f},5,{mean},0'
