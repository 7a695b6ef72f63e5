"""The baseline in words: within what a next run of the level lies, and what to look at where that is too wide.

Knows: names of the numbers. Must not know: how an interval is found, where it is printed.
"""

from loadband.analysis.baseline import Baseline, Scatter
from loadband.analysis.curve import METRICS
from loadband.analysis.verdict import Verdict
from reports import cells
from reports.people import users
from reports.units import named, unit

HEADERS = ("number", "mean", "CV", "a next run lies within", "±")
NAMES = {
    "req_s": "successful requests/s", "ttft_p50_s": "TTFT p50", "ttft_p95_s": "TTFT p95", "tpot_p50_s": "TPOT p50",
    "e2e_mean_s": "E2E mean", "e2e_p95_s": "E2E p95",
}  # fmt: skip


def baseline_sentences(verdict: Verdict) -> list[str]:
    """The answer of a baseline; nothing of another run."""
    found = verdict.baseline
    if found is None:
        return []
    at = f"{users(found.users)} users"
    if found.factor is None:
        return [f"No baseline at {at}: {found.holds} of {found.asked} holds are valid, two or more are needed."]
    lacking = f", {found.asked - found.holds} of {found.asked} holds lack" if found.holds < found.asked else ""
    head = f"Baseline of {found.holds} holds at {at} (95 %, ± {found.factor:.3g} standard deviations){lacking}"
    said = [f"{head}: a next run lies within"]
    told = [
        f"{_name(each, verdict)} {_span(each)} (CV {each.cv:.1%})" for each in found.numbers if _first(each, verdict)
    ]
    said = [f"{said[0]} {', '.join(told)}."]
    if found.exceeded:
        said.append(f"Too unsteady to measure by: {'; '.join(found.exceeded)}.")
    return said


def look_at(verdict: Verdict) -> list[str]:
    """What to check in the environment, one sentence each."""
    return [] if verdict.baseline is None else list(verdict.baseline.look_at)


def baseline_rows(found: Baseline, verdict: Verdict) -> list[list[str]]:
    """One row for each number, in the order of `HEADERS`."""
    return [
        [
            _name(each, verdict),
            _value(each.name, each.mean),
            f"{each.cv:.1%}",
            _span(each),
            _value(each.name, each.half),
        ]
        for each in found.numbers
    ]


def _first(each: Scatter, verdict: Verdict) -> bool:
    """The numbers that the terminal shows."""
    return each.name in (verdict.metric, "ttft_p50_s", "ttft_p95_s")


def _name(each: Scatter, verdict: Verdict) -> str:
    return unit(verdict) if each.name == verdict.metric else named(NAMES[each.name], verdict)


def _span(each: Scatter) -> str:
    return f"{_value(each.name, each.low)} to {_value(each.name, each.high)}"


def _value(name: str, value: float) -> str:
    return cells.number(value, digits=4) if name in METRICS else cells.time(value)
