"""D7: all findings put together: `judge` makes the verdict (its file: `verdict_json`).

Knows: the order of the findings, refusal, the exit code. Must not know: files, printing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from loadband.analysis.advice import levels_to_add
from loadband.analysis.baseline import Baseline, baseline_of
from loadband.analysis.book_end import BookEnd, book_end_of
from loadband.analysis.causes import Cause
from loadband.analysis.confidence import confidence_of
from loadband.analysis.cost import CostFirst, Price, cheapest
from loadband.analysis.cross_checks import CrossChecks, cross_checks
from loadband.analysis.curve import Curve, fit, metric_of
from loadband.analysis.failure import Failure, find_failure
from loadband.analysis.gains import with_gains
from loadband.analysis.intervals import Certainty, Findings, certainty_of
from loadband.analysis.level import Level
from loadband.analysis.ramp import Ramp
from loadband.analysis.rates import is_open, spoken_in_rates
from loadband.analysis.reach import Bounds, Reach
from loadband.analysis.recovery import Recovery
from loadband.analysis.regions import Operating, Saturation, linear_region, operating_point, saturation_point
from loadband.analysis.replicates import Replicates, replicates_of
from loadband.analysis.searched import Search
from loadband.analysis.slo_gate import MISSED, UNDECIDED, SloResult, slo_results
from loadband.analysis.standstill import check_throughput, standstills
from loadband.analysis.thresholds import Thresholds
from loadband.errors import ExitCode
from loadband.record import FailureClass
from loadband.slo import Limit

ASSUMED = {
    "response_time_law": "the mean time of a request is not known at every level: users / requests/s - pause stands "
    "for it, a pause that is not told being 0",
    "constant_length": "the mean time of a request is not known at every level: users / throughput stands for it, "
    "which assumes answers of constant length",
}
"""By `Curve.e2e_source`."""

UNREACHED = (FailureClass.CONNECT, FailureClass.TLS, FailureClass.TIMEOUT_CONNECT)
"""Classes of requests that found no server."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run or a table says."""

    exit_code: ExitCode
    metric: str
    thresholds: Thresholds
    confidence: str
    """`high medium low`."""
    confidence_reason: str
    refused: str | None
    levels: tuple[Level, ...]
    curve: Curve | None
    linear_upto: float | None
    operating: Operating
    latency_first: float | None
    throughput_first: float | None
    saturation: Saturation
    failure: Failure
    sure: Certainty
    price: Price | None
    cost_first: CostFirst | None
    book_end: BookEnd | None
    slo: tuple[SloResult, ...]
    advice: tuple[float, ...]
    cross_checks: CrossChecks
    notes: tuple[str, ...]
    causes: tuple[Cause, ...] = ()
    """Why requests failed."""
    search: Search | None = None
    """What `--find` found."""
    baseline: Baseline | None = None
    """What `--baseline` found."""
    recovery: Recovery | None = None
    """What `--recover` or `--spike` found."""
    spiked: bool = False
    """Whether the second level was a spike over the first."""
    ramp: Ramp | None = None
    """What a ramp without rest indicates; none of it is in the other findings."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a run beside its levels."""

    ladder: bool = True
    """Several levels were asked for, so that a band is expected."""
    target_lost: bool = False
    workers_lost: bool = False
    gate_unread: bool = False
    """The run has an SLO that cannot be read."""
    blind: bool = False
    """No request, or no step, is on record: nothing can be said of the target, gone or not."""
    missing_steps: tuple[int, ...] = ()
    """Of which requests tell and `steps.csv` does not."""
    price: Price | None = None
    causes: tuple[Cause, ...] = ()
    search: Search | None = None
    baseline: int | None = None
    """How often one level was to be held to know its noise; None of another run."""
    recovery: Recovery | None = None
    spiked: bool = False


def judge(levels: Sequence[Level], slo: tuple[Limit, ...], limits: Thresholds, facts: Facts) -> Verdict:
    """The verdict over graded levels; their `measured` must be those of `slo`, in its order."""
    metric = metric_of(levels)
    levels = with_gains(check_throughput(levels, metric), metric, limits)
    refused = _refusal(levels)
    curve = None if refused else fit(levels, metric)
    noise, no_noise = (None, "") if curve is None else replicates_of(levels, curve, slo, limits)
    failure = Failure("refused", reason=refused) if refused else find_failure(levels, curve, slo, limits)
    if facts.missing_steps and failure.at is None and not refused:
        lacking = ", ".join(str(step) for step in facts.missing_steps[:3])
        failure = Failure("undecided", reason=f"steps.csv lacks step {lacking}, of which requests tell")
    results = slo_results(levels, slo, limits, noise)
    found = _findings(curve, failure, results, noise, limits)
    operating, saturation, sure = found.operating, found.saturation, Certainty(reason=no_noise)
    linear = _linear(curve, levels, saturation, failure, limits)
    if curve is not None:
        sure, operating, saturation = certainty_of(curve, noise, no_noise, found, limits)
    book_end = book_end_of(levels, metric, noise.one_hold if noise else None)
    confidence, why = confidence_of(levels, refused, sure, book_end, curve)
    verdict = Verdict(
        exit_code=ExitCode.OK,
        metric=metric,
        thresholds=limits,
        confidence=confidence,
        confidence_reason=why,
        refused=refused,
        levels=levels,
        curve=curve,
        linear_upto=linear,
        operating=operating,
        latency_first=_first(curve, found.bounds, limits, 1.0),
        throughput_first=_first(curve, found.bounds, limits, 3.0),
        saturation=saturation,
        failure=failure,
        sure=sure,
        price=facts.price,
        cost_first=None if curve is None or facts.price is None else cheapest(curve, found.bounds, facts.price, limits),
        book_end=book_end,
        slo=results,
        advice=levels_to_add(
            curve, operating, saturation, failure, {level.users for level in levels}, rates=is_open(levels)
        ),
        cross_checks=cross_checks(curve, limits),
        notes=(*([facts.search.sentence()] if facts.search else []), *failure.notes, *_assumed(curve)),
        causes=facts.causes,
        search=facts.search,
        recovery=facts.recovery,
        spiked=facts.spiked,
        baseline=None if facts.baseline is None else baseline_of(levels, metric, facts.baseline, limits),
    )
    verdict = replace(verdict, exit_code=_exit_code(verdict, facts))
    return spoken_in_rates(verdict) if is_open(levels) else verdict


def _assumed(curve: Curve | None) -> tuple[str, ...]:
    """What stands for R where it was not measured at every level."""
    return () if curve is None or curve.e2e_source == "measured" else (ASSUMED[curve.e2e_source],)


def _linear(
    curve: Curve | None, levels: Sequence[Level], saturation: Saturation, failure: Failure, limits: Thresholds
) -> float | None:
    """D2, capped by D5: nothing is linear where the first level fails, or across a level that served nothing."""
    if curve is None or (failure.status == "found" and failure.after is None):
        return None
    holes = [level.users for level in standstills(levels)]
    below = curve.users[curve.users < min(holes)] if holes else curve.users
    caps = [cap for cap in (failure.after, float(below[-1]) if below.size else None) if cap is not None]
    return linear_region(curve, saturation, min(caps, default=None), limits)


def _findings(
    curve: Curve | None, failure: Failure, results: tuple[SloResult, ...], noise: Replicates | None, limits: Thresholds
) -> Findings:
    """Operating point and saturation of the measured levels, and the bounds of each replicate."""
    count, bounds = noise.count if noise else 0, bounds_of(failure, results)
    ends = [each.end.bounds(count)[1] for each in results]
    scattered = [Bounds(_lowest(rows[place] for rows in ends), bounds.failure) for place in range(count)]
    if curve is None:
        refused = failure.status == "refused"
        operating = (
            Operating("refused", reason=failure.reason) if refused else Operating("none", reason="no valid level")
        )
        return Findings(bounds, scattered, operating, Saturation(operating.status), None)
    # past a failing level throughput is no longer that of a working server; past a collapse it is the finding
    sound_upto = None if failure.mode == "collapse" else failure.at
    operating = operating_point(curve, bounds, limits)
    healthy = curve if sound_upto is None else curve.upto(sound_upto)
    saturation = saturation_point(healthy, operating.users, limits)
    return Findings(bounds, scattered, operating, saturation, sound_upto)


def _lowest(ends: Iterable[float | None]) -> float | None:
    return min((end for end in ends if end is not None), default=None)


def _refusal(levels: Sequence[Level]) -> str | None:
    """Why no curve may be drawn through these levels."""
    builds = sorted({level.build for level in levels if level.build})
    if len(builds) > 1:
        return f"the levels come from different builds ({', '.join(builds)}): give one table per build"
    speaking = [level for level in levels if not level.grade.client_limited and not level.grade.evidence]
    unfit = [level for level in speaking if not level.grade.valid]
    if len(speaking) >= 3 and len(unfit) * 2 >= len(speaking):
        return f"{len(unfit)} of {len(speaking)} levels are not valid: {unfit[0].grade.faults[-1]}"
    return None


def bounds_of(failure: Failure, results: tuple[SloResult, ...]) -> Bounds:
    """What the operating point may not exceed."""
    at = failure.at if failure.status in ("found", "undecided") else None
    return Bounds(_lowest(each.end.bounds(0)[0] for each in results), at)


def _first(curve: Curve | None, bounds: Bounds, limits: Thresholds, weight: float) -> float | None:
    """The best level when latency (weight 1) or throughput (weight 3) comes first."""
    if curve is None or curve.users.size < limits.direction_levels:
        return None
    if bounds.slo is not None and bounds.slo < curve.users[0]:
        return None
    return Reach(curve, bounds, limits, weight).best()


def _went_away(level: Level) -> bool:
    """Whether the server was gone, or could not be reached; one that still says why it fails is there."""
    evidence = level.grade.evidence
    if evidence is None:
        return False
    return any(name in UNREACHED for name in level.failures) if level.failures else evidence.mode == "outage"


def _exit_code(verdict: Verdict, facts: Facts) -> ExitCode:
    """The first that applies, in the order of `ExitCode`."""
    valid = any(level.grade.valid for level in verdict.levels)
    if not valid and not facts.blind and (facts.target_lost or any(_went_away(level) for level in verdict.levels)):
        return ExitCode.UNREACHABLE
    limited = any(level.grade.client_limited for level in verdict.levels)
    operating = verdict.operating
    untold = operating.status == "not_established" or (operating.status == "none" and operating.limited_by is None)
    results = [each.result for each in verdict.slo]
    if (
        not valid
        or verdict.refused
        or facts.workers_lost
        or facts.gate_unread
        or (facts.search and not facts.search.complete)
        or (facts.recovery is not None and facts.recovery.status == UNDECIDED)
        or (facts.baseline is not None and not (verdict.baseline and verdict.baseline.stands))
        or (facts.ladder and (untold or (limited and operating.status != "found")))
        or (UNDECIDED in results and MISSED not in results)
    ):
        return ExitCode.UNANSWERED
    return ExitCode.GATE_FAILED if MISSED in results else ExitCode.OK
