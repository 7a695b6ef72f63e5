"""The verdict in sentences: what people came for, and nothing that was not measured.

Knows: how each status is said. Must not know: how it was found, where it is printed.
"""

from loadband.analysis.analyse import Analysis
from loadband.analysis.curve import throughput
from loadband.analysis.level import Level, Numbers, people
from loadband.analysis.regions import Operating
from loadband.analysis.verdict import Verdict
from loadband.analysis.verdict_json import pressure
from reports import cells
from reports.baseline import baseline_sentences
from reports.people import between, users, whole
from reports.ramp_words import ramp_sentences
from reports.recovery import recovery_sentence, spike_sentences
from reports.soak import soak_sentences
from reports.sureness import edges, firsts, repeated_at_the_end, slo_span, sureness
from reports.units import named, spoken, unit

RISEN = 1.10
"""A sign of pressure that is not so many times that of the operating point says nothing."""


def answer(analysis: Analysis) -> list[str]:
    """The answer of a run or a table: of a run in which no level was held, why, and the numbers of the whole."""
    ramp = ramp_sentences(analysis.verdict)
    if analysis.verdict.levels or not analysis.run:
        told = [spoken(sentence, analysis.verdict) for sentence in summary(analysis.verdict, own=bool(analysis.run))]
        return [*told, *ramp] if analysis.verdict.levels or not ramp else ramp
    if ramp:
        return [*ramp, *([_whole_run(analysis.whole)] if analysis.whole else [])]
    why, missing = "users rested at no number for long enough, and did not grow", len(analysis.missing_steps)
    if analysis.run.get("plan") and missing:
        why = f"steps.csv does not tell when, though requests tell of {missing} steps: it is damaged"
    elif analysis.run.get("plan"):
        why = "the run ended before the first hold began"
    held = "Levels are unknown" if analysis.run.get("plan") and missing else "No level was held"
    return [f"{held}: {why}.", *([_whole_run(analysis.whole)] if analysis.whole else [])]


def _whole_run(numbers: Numbers) -> str:
    said = [f"{numbers.requests or 0:,.0f} requests in {cells.time(numbers.hold_s)}"]
    if numbers.error_rate is not None:
        said.append(f"errors {cells.errors(numbers.error_rate, None)}")
    if numbers.ttft_p50_s is not None:
        said.append(f"TTFT p50 {cells.time(numbers.ttft_p50_s)}, p95 {cells.time(numbers.ttft_p95_s)}")
    if numbers.output_tok_s is not None:
        said.append(f"{cells.number(numbers.output_tok_s, digits=4)} output tokens/s")
    return f"The whole run, whatever its users did: {', '.join(said)}."


def summary(verdict: Verdict, *, own: bool = True) -> list[str]:
    """The answer, one sentence or two each; the first is the one to remember. `own`: of a run, not of other's files."""
    if verdict.refused:
        return [f"Refused: {verdict.refused}."]
    if not verdict.levels:
        return ["No level was held: give --steps 1,2,4,8,16 for a ladder, or -u N for one level."]
    if verdict.baseline is not None:
        return [*baseline_sentences(verdict), *_slo(verdict)]
    recovered = recovery_sentence(verdict)
    if verdict.spiked:
        return [*spike_sentences(verdict), recovered, *_slo(verdict)]
    if len({level.users for level in verdict.levels}) == 1:
        return [*_single(verdict, own=own), *filter(None, [recovered]), *soak_sentences(verdict), *_slo(verdict)]
    answers = (_best(verdict), sureness(verdict), _regions(verdict), _failure(verdict))
    others = (recovered, _pressure(verdict), firsts(verdict), repeated_at_the_end(verdict))
    sentences = [" ".join(filter(None, answers)), *filter(None, others)]
    return [*sentences, *soak_sentences(verdict), *_slo(verdict), *_advice(verdict)]


def _single(verdict: Verdict, *, own: bool) -> list[str]:
    level = verdict.levels[-1]
    x = throughput(level, verdict.metric)
    what = "nothing measured" if x is None else f"{cells.number(x, digits=4)} {unit(verdict)}"
    if not level.grade.valid:
        return [f"{level.name}: {what}, but the level is not valid: {'; '.join(level.grade.faults)}."]
    more = "give --steps for a ladder" if own else f"it takes {verdict.thresholds.interior_levels:g} or more"
    return [f"{level.name}: {what}. One level says nothing about a band: {more}."]


def _best(verdict: Verdict) -> str:
    operating = verdict.operating
    if operating.users is None:
        return _no_best(operating)
    if operating.status == "not_reached":
        at = f" ({there} in flight at {users(operating.users)})" if (there := _flight(verdict, operating.users)) else ""
        return f"Best not reached: {users(operating.users)} users or more{at}; more levels above are needed."
    if operating.status == "at_or_below_first":
        if operating.users == 1 and verdict.levels[0].numbers.users:
            at = f" ({there} in flight)" if (there := _flight(verdict, 1)) else ""
            return f"Best at 1 user{at}: {_second(verdict)}."
        return f"Best at or below the first level of {users(operating.users)} users; levels below are needed."
    ends = [] if operating.low is None or operating.high is None else whole(operating.low, operating.high)
    flights = [each for end in ends if (each := _flight(verdict, end))]
    flight = f" ({between(*flights)} in flight)" if len(flights) == 2 else ""
    why = {"slo": ", set by the SLO", "errors": ", set by errors", "failure": ", set by the failure point"}
    return (
        f"Best {_span(operating.low, operating.high)} users{flight}, operating point {users(operating.users)}"
        f"{why.get(operating.limited_by or '', '')}{_beyond(operating)}{edges(verdict.sure)}."
    )


def _flight(verdict: Verdict, at: float) -> str:
    """Requests in flight at a number of users; empty when not known."""
    found = None if verdict.curve is None else verdict.curve.in_flight_at(at)
    return "" if found is None else cells.number(found)


def _second(verdict: Verdict) -> str:
    """What the users beyond the first bring, where one alone is best."""
    curve = verdict.curve
    gain = 0.0 if curve is None or curve.users.size < 2 else float(curve.x[1] / curve.x[0]) - 1
    if curve is None or gain < verdict.thresholds.small_gain:
        return "every further user only waits"
    return f"{curve.users[1]:g} users bring {gain:.0%} more {unit(verdict)}, and wait longer than that is worth"


def _no_best(operating: Operating) -> str:
    names = {"several": "No single best number of users", "not_established": "Best not established"}
    return f"{names.get(operating.status, 'No best number of users')}: {operating.reason}."


def _span(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "?"
    ends = whole(low, high)
    return between(users(ends[0]), users(ends[1]))


def _beyond(operating: Operating) -> str:
    return " (the band may reach beyond the last level)" if operating.band_limited_by == "range" else ""


def _regions(verdict: Verdict) -> str:
    parts = []
    if verdict.linear_upto is not None and verdict.curve is not None:
        parts.append(f"linear up to {users(verdict.linear_upto)}{_last(verdict, verdict.linear_upto)}")
    saturation = verdict.saturation
    if saturation.status == "found":
        parts.append(f"saturated in ({saturation.after:g}, {saturation.at:g}]")
    elif saturation.status == "at_or_below_first":
        parts.append(f"saturated from the first level of {saturation.at:g} on")
    elif saturation.status == "not_confirmed":
        parts.append("saturation not confirmed: no level lies far enough beyond it")
    elif saturation.status == "not_reached":
        parts.append("saturation not reached")
    elif saturation.status == "not_established":
        parts.append(f"saturation not established: {saturation.reason}")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _last(verdict: Verdict, upto: float) -> str:
    """What it says of the levels above when nothing ends a region but the end of the curve."""
    if verdict.curve is None or upto < float(verdict.curve.users[-1]):
        return ""
    return ", the last level" if upto >= max(level.users for level in verdict.levels) else ", the last valid level"


def _failure(verdict: Verdict) -> str:
    failure = verdict.failure
    if failure.at is None:
        return f"Failure {failure.reason}." if failure.status == "not_reached" else f"Failure point: {failure.reason}."
    bracket = f"in ({failure.after:g}, {failure.at:g}]" if failure.after is not None else f"at or below {failure.at:g}"
    doubt = {"unconfirmed": ", unconfirmed", "undecided": ", undecided"}.get(failure.status, "")
    return f"Failure point {bracket}{doubt}, {failure.mode}: {failure.reason}."


def _pressure(verdict: Verdict) -> str:
    """The pressure region and those of its two signs that rose, beside those of the operating point."""
    begin, end = pressure(verdict)
    if begin is None or end is None:
        return ""
    operating = verdict.operating
    text = f"Under pressure from {users(begin)} to {users(end)} users"
    inside = [level for level in verdict.levels if level.grade.valid and begin <= level.users <= end]
    best = [level for level in verdict.levels if level.grade.valid and level.users == operating.users]
    signs = []
    signed = ((named("tokens/s varies by", verdict), "output_tok_s_cv", 100, "%"), ("TTFT p99", "ttft_p99_s", 1, " s"))
    for name, column, scale, ends in signed:
        there, here = _worst(inside, column), _worst(best, column)
        if there is not None and here is not None and there > RISEN * here:
            there, here = there * scale, here * scale
            signs.append(
                f"{name} {cells.number(there)}{ends} against {cells.number(here)}{ends} at the operating point"
            )
    return f"{text}: {', '.join(signs)}." if signs else f"{text}."


def _worst(levels: list[Level], column: str) -> float | None:
    values = [value for level in levels if (value := level.numbers.get(column)) is not None]
    return max(values) if values else None


def _slo(verdict: Verdict) -> list[str]:
    said = []
    for each in verdict.slo:
        upto = {
            "found": f"holds up to {users(each.n_slo)} users{slo_span(each.end)}" if each.n_slo else "",
            "not_reached": f"holds at every level{slo_span(each.end)}",
            "none": "holds at no level",
            "not_established": f"up to how many users it holds is not established{slo_span(each.end)}",
        }.get(each.n_slo_status, "")
        at = f" at {people(each.judged_at)}" if each.judged_at is not None else ""
        said.append(f"SLO {each.name}: {each.result}{at}, {each.reason}" + (f"; {upto}." if upto else "."))
    return said


def _advice(verdict: Verdict) -> list[str]:
    if not verdict.advice:
        return []
    limited = any(level.grade.client_limited for level in verdict.levels) and verdict.operating.status != "found"
    first = "With a client that is not the limit" if limited else "To narrow this"
    return [f"{first}, add the levels {', '.join(f'{level:g}' for level in verdict.advice)}."]
