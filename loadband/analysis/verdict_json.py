"""`verdict.json` (and `--json`): a verdict as plain data. Its schema is `reports/verdict.schema.json`.

Knows: keys, rounding. Must not know: where it is written. Numbers are floats of six significant digits or null, keys
are never absent, one set of status words is used everywhere. 1 (2026-11): first; intervals, `noise`, `book_end`, costs,
`search`, `baseline`, `recovery`, `ramp` added.
"""

from dataclasses import asdict
from typing import Any

from loadband.analysis.breakdown import AdapterPart, ScenarioPart, TurnPart
from loadband.analysis.curve import throughput
from loadband.analysis.intervals import Interval
from loadband.analysis.level import NUMBER_COLUMNS, Level
from loadband.analysis.purpose_json import baseline_json, drift_json, recovery_json
from loadband.analysis.ramp_json import ramp_json
from loadband.analysis.rates import AXIS, is_open
from loadband.analysis.significant import number
from loadband.analysis.verdict import Verdict

SCHEMA = 1


def as_json(verdict: Verdict) -> dict[str, Any]:
    """All keys of the file, in order."""
    operating, saturation, failure = verdict.operating, verdict.saturation, verdict.failure
    sure, cost, book_end = verdict.sure, verdict.cost_first, verdict.book_end
    return {
        "schema": SCHEMA,
        "exit_code": int(verdict.exit_code),
        "metric": verdict.metric,
        "axis": AXIS[is_open(verdict.levels)],
        "e2e_source": None if verdict.curve is None else verdict.curve.e2e_source,
        "weight": number(verdict.thresholds.weight),
        "confidence": verdict.confidence,
        "confidence_reason": verdict.confidence_reason,
        "refused": verdict.refused,
        "levels": [_level(level, verdict) for level in verdict.levels],
        "linear": {
            "status": "none" if verdict.linear_upto is None else "found",
            "upto": number(verdict.linear_upto),
        },
        "operating_point": {
            "status": operating.status,
            **_at(verdict, operating.users),
            "in_flight": _in_flight(verdict, operating.users),
            **_interval(sure.of("operating")),
            "support": number(sure.support),
            "limited_by": operating.limited_by,
            "reason": operating.reason,
        },
        "latency_first": _at(verdict, verdict.latency_first),
        "throughput_first": _at(verdict, verdict.throughput_first),
        "cost_first": None if cost is None else {**_at(verdict, cost.users), "per_million": number(cost.per_million)},
        "band": {
            "status": operating.status,
            "low": number(operating.low),
            "high": number(operating.high),
            "low_in_flight": _in_flight(verdict, operating.low),
            "high_in_flight": _in_flight(verdict, operating.high),
            **_interval(sure.of("low"), "low_"),
            **_interval(sure.of("high"), "high_"),
            "limited_by": operating.band_limited_by,
        },
        "tight_band": {
            "status": "found" if sure.tight else "not_established",
            "low": number(sure.tight[0] if sure.tight else None),
            "high": number(sure.tight[1] if sure.tight else None),
            **_interval(sure.of("tight_low"), "low_"),
            **_interval(sure.of("tight_high"), "high_"),
        },
        "saturation": {
            "status": saturation.status,
            "after": number(saturation.after),
            "at": number(saturation.at),
            **_interval(sure.of("saturation")),
            "support": number(sure.saturation_support),
            "reason": saturation.reason,
        },
        "pressure": dict(zip(("low", "high"), map(number, pressure(verdict)), strict=True)),
        "failure": {
            "status": failure.status,
            "after": number(failure.after),
            "at": number(failure.at),
            "mode": failure.mode,
            "reason": failure.reason,
        },
        "failures": [
            {
                "class": each.failure_class,
                "count": float(each.count),
                "first_level": number(each.first_level),
                "sentence": each.sentence,
            }
            for each in verdict.causes
        ],
        "slo": [
            {
                "name": each.name,
                "n_slo": number(each.n_slo),
                "n_slo_status": each.n_slo_status,
                "n_slo_low": number(each.end.low),
                "n_slo_high": number(each.end.high),
                "judged_at": number(each.judged_at),
                "result": each.result,
                "reason": each.reason,
            }
            for each in verdict.slo
        ],
        "noise": {
            "source": sure.source,
            "reason": sure.reason,
            "replicates": float(sure.replicates),
            "repeats": None if verdict.curve is None else float(min(p.repeats for p in verdict.curve.points)),
            "cv": None if verdict.curve is None else number(verdict.curve.cv),
            "too_short": [number(users) for users in sure.too_short],
        },
        "book_end": None
        if book_end is None
        else {
            "users": book_end.users,
            "change": number(book_end.change),
            "noise": number(book_end.noise),
            "drifted": book_end.drifted,
        },
        "advice": [float(users) for users in verdict.advice],
        "cross_checks": {
            "n_star": number(verdict.cross_checks.n_star),
            "kneedle": number(verdict.cross_checks.kneedle),
            "peak": number(verdict.cross_checks.peak),
        },
        "thresholds": {name: number(value) for name, value in verdict.thresholds.as_dict().items()},
        "notes": list(verdict.notes),
        "search": None if verdict.search is None else asdict(verdict.search),
        "recovery": None if verdict.recovery is None else recovery_json(verdict.recovery),
        "baseline": None
        if verdict.baseline is None
        else _at(verdict, verdict.baseline.users) | baseline_json(verdict.baseline),
        "ramp": None if verdict.ramp is None else ramp_json(verdict.ramp),
    }


def pressure(verdict: Verdict) -> tuple[float | None, float | None]:
    """The pressure region: from saturation (or the band's upper edge, if higher) to the failure or the last level."""
    saturation, high = verdict.saturation.exact, verdict.operating.high
    if verdict.curve is None or saturation is None or verdict.saturation.status not in ("found", "at_or_below_first"):
        return None, None
    begin = max(saturation, high or 0.0)
    end = verdict.failure.at or float(verdict.curve.users[-1])
    return (begin, end) if begin < end else (None, None)


def _at(verdict: Verdict, level: float | None) -> dict[str, float | None]:
    """A level under the name of its axis; the other one is null."""
    told = AXIS[is_open(verdict.levels)]
    return {name: number(level) if name == told else None for name in AXIS.values()}


def _part(part: ScenarioPart | TurnPart | AdapterPart) -> dict[str, Any]:
    """Names as they are, numbers as everywhere."""
    return {name: value if isinstance(value, str) else number(value) for name, value in asdict(part).items()}


def _in_flight(verdict: Verdict, users: float | None) -> float | None:
    if verdict.curve is None or users is None:
        return None
    return number(verdict.curve.in_flight_at(users))


def _interval(interval: Interval, prefix: str = "") -> dict[str, Any]:
    """Both intervals of an edge, each two users or null."""
    ends = {"noise": interval.noise, "grid": interval.grid}
    return {f"{prefix}{name}": None if pair is None else [number(end) for end in pair] for name, pair in ends.items()}


def _level(level: Level, verdict: Verdict) -> dict[str, Any]:
    grade, evidence = level.grade, level.grade.evidence
    x = throughput(level, verdict.metric)
    low, high = verdict.sure.throughput(level.users, x)
    price = verdict.price
    return {
        "valid": grade.valid,
        "client_limited": grade.client_limited,
        "marks": list(grade.marks),
        "not_checked": list(grade.not_checked),
        "undecided": list(grade.undecided),
        "reasons": list(grade.reasons),
        "remark": level.remark,
        "evidence_of_failure": str(evidence) if evidence else None,
        "x": number(x),
        "x_low": number(low),
        "x_high": number(high),
        "cost_per_million": None if price is None else number(price.per_million(level.numbers.output_tok_s)),
        "e": number(level.numbers.error_rate),
        "think_s": number(level.think_s),
        "itl_mean_s": number(level.itl_mean_s),
        "failures": {name: float(count) for name, count in level.failures.items()},
        "scenarios": [_part(part) for part in level.scenarios],
        "turns": [_part(part) for part in level.turns],
        "adapters": [_part(part) for part in level.workload.adapters],
        "drifts": [drift_json(each) for each in level.drifts],
        "cache": level.workload.cache,
        "finish_reasons": {name: number(share) for name, share in level.workload.finish_reasons.items()},
        **{name: number(getattr(level.numbers, name)) for name in NUMBER_COLUMNS},
    }
