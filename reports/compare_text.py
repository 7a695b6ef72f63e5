"""A comparison on the terminal: the chain, the changes at each level, the answer last.

Knows: rich, columns, sentences. Must not know: formulas.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence

from rich.table import Table
from rich.text import Text

from loadband.analysis.comparison import Comparison, Link
from loadband.analysis.effects import BETWEEN, UNKNOWN, Effect
from loadband.analysis.level import people
from loadband.analysis.operating_value import Factor
from loadband.analysis.regression_gate import FAILED, Ruling
from loadband.analysis.side import COMPARED
from loadband.analysis.suffering import Suffering, sufferings
from reports import cells
from reports.cells import NOTHING
from reports.output import report_console
from reports.units import UNITS, axis, spoken

HEADERS = {
    "output_tok_s": "output tokens/s", "req_s": "req/s", "ttft_p50_s": "TTFT p50", "ttft_p95_s": "TTFT p95",
    "tpot_p50_s": "TPOT p50", "e2e_mean_s": "E2E mean", "e2e_p95_s": "E2E p95", "error_rate": "errors",
}  # fmt: skip
SHOWN = ("ttft_p50_s", "ttft_p95_s", "tpot_p50_s", "e2e_mean_s", "error_rate")
"""Beside throughput; the others are in the JSON."""
MOST_NOTES = 12


def print_comparison(comparison: Comparison, judged: Sequence[Ruling], code: int) -> None:
    """Everything, the answer and the exit code last."""
    terminal = sys.stdout.isatty()
    console = report_console()
    console.print(_chain(comparison))
    for place, side in enumerate(comparison.sides[1:], start=1):
        console.print(Text(f"\n{side.name} against {comparison.sides[0].name}, level by level", style="italic"))
        console.print(_levels(comparison, place))
    if felt := sufferings(comparison.sides, comparison.levels):
        console.print(Text("\nFirst tokens by scenario, before → after", style="italic"))
        console.print(_by_scenario(felt, comparison))
    console.print(Text("x~: within noise; x?: nothing tells the noise; else with its 95 % interval"))
    for note in _few(comparison.notes):
        console.print(Text(f"Note: {note}", style="yellow" if terminal else ""), soft_wrap=not terminal)
    console.print()
    first = comparison.sides[0].verdict
    for sentence in answer(comparison):
        console.print(Text(spoken(sentence, first), style="bold" if terminal else ""), soft_wrap=not terminal)
    for each in judged:
        word = each.result.upper() if each.result == FAILED else each.result
        console.print(
            Text(f"Gate {each.gate}, {each.run}: {word}, {spoken(each.reason, first)}."), soft_wrap=not terminal
        )
    console.print(f"Exit code {code}.")


def _few(notes: Sequence[str]) -> list[str]:
    more = len(notes) - MOST_NOTES
    return [*notes[:MOST_NOTES], *([f"... and {more} more"] if more > 0 else [])]


def _chain(comparison: Comparison) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 1))
    for header, side in (("run", "left"), ("change", "left"), (axis(comparison.sides[0].verdict), "right"),
                         (UNITS[comparison.metric], "right"), ("to the previous", "right"), ("to the first", "right"),
                         ("confidence", "left")):  # fmt: skip
        table.add_column(header, justify="right" if side == "right" else "left", overflow="fold")
    for link in comparison.chain:
        table.add_row(
            Text(link.name), Text("; ".join(map(str, link.change)) or NOTHING), cells.number(link.users),
            cells.number(link.value, digits=4) if link.value is not None else Text(f"none: {link.reason}"),
            _times(link.to_previous), _times(link.to_first), link.confidence,
        )  # fmt: skip
    return table


def _times(factor: Factor | None) -> str:
    if factor is None:
        return NOTHING
    text = f"×{factor.value:.3f}"
    if factor.low is None or factor.high is None:
        return f"{text}?"
    return f"{text} ({factor.low:.3f}–{factor.high:.3f})" if factor.counts else f"{text}~"


def _levels(comparison: Comparison, place: int) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 1))
    found = {(each.metric, each.users): each for each in comparison.effects[place - 1]}
    shown = [metric for metric in SHOWN if any((metric, users) in found for users in comparison.levels)]
    for header in (
        axis(comparison.sides[0].verdict),
        "before",
        "after",
        HEADERS[comparison.metric],
        *(HEADERS[each] for each in shown),
    ):
        table.add_column(header, justify="right")
    for users in comparison.levels:
        main = found.get((comparison.metric, users))
        ends = (None, None) if main is None else (main.before, main.after)
        table.add_row(
            cells.number(users), *(cells.number(end, digits=4) for end in ends), _changed(main),
            *(_changed(found.get((metric, users))) for metric in shown),
        )  # fmt: skip
    return table


def _by_scenario(felt: Sequence[Suffering], comparison: Comparison) -> Table:
    """Which class suffers: each scenario that both runs have, at as many users altogether."""
    table = Table(box=None, header_style="bold", padding=(0, 1))
    several = len(comparison.sides) > 2
    for header in (*(["run"] if several else []), "scenario"):
        table.add_column(header)
    for header in (axis(comparison.sides[0].verdict), "TTFT p50", "", "TTFT p95", "", "answers"):
        table.add_column(header, justify="right")
    for each in felt:
        pairs = [(getattr(each.before, name), getattr(each.after, name)) for name in ("ttft_p50_s", "ttft_p95_s")]
        times = [cell for pair in pairs for cell in _from_to(*pair)]
        answers = f"{each.before.ok:,.0f} → {each.after.ok:,.0f}"
        table.add_row(*([each.run] if several else []), each.scenario, cells.number(each.users), *times, answers)
    return table


def _from_to(before: float | None, after: float | None) -> tuple[str, str]:
    """`45 ms → 180 ms` and `×4.00`."""
    times = f"×{after / before:.2f}" if before and after else NOTHING
    return f"{cells.time(before)} → {cells.time(after)}", times


def _changed(effect: Effect | None) -> str:
    """`+73.0 % (66…80)`, `+0.3 %~`, `+5.0 %?`; of failure rates in points."""
    if effect is None:
        return NOTHING
    sign = " pt" if effect.metric == "error_rate" else " %"
    if effect.metric == "error_rate" and not effect.before and not effect.after:
        return "0"
    text = f"{effect.change * 100:+.1f}{sign}"
    if effect.low is None or effect.high is None:
        return f"{text}?"
    return f"{text} ({effect.low * 100:+.1f}…{effect.high * 100:+.1f})" if effect.counts else f"{text}~"


def answer(comparison: Comparison) -> list[str]:
    """What changed, one run after the other."""
    return [
        sentence
        for place, side in enumerate(comparison.sides[1:], start=1)
        for sentence in _answer(comparison, place, side.name)
    ]


def _answer(comparison: Comparison, place: int, name: str) -> Iterator[str]:
    first, link = comparison.chain[0], comparison.chain[place]
    found = comparison.effects_of(place, comparison.metric)
    unit = UNITS[comparison.metric]
    yield f"{name} against {first.name}: {_at_levels(found, unit)}{_at_point(first, link)}{_basis(found)}"
    others = [
        f"{HEADERS[each.metric]} {_changed(each)} at {each.users:g}"
        for metric in COMPARED
        if metric != comparison.metric and metric in SHOWN
        for each in _strongest(comparison.effects_of(place, metric))
    ]
    if others:
        yield f"Also beyond noise, where it is largest: {', '.join(others)} users."


def _strongest(found: Iterable[Effect]) -> list[Effect]:
    counted = [each for each in found if each.counts]
    return [max(counted, key=lambda each: abs(each.change))] if counted else []


def _at_levels(found: Sequence[Effect], unit: str) -> str:
    known = [each for each in found if each.counts is not None]
    counted = [each for each in known if each.counts]
    if not found:
        return f"{unit} cannot be compared at any level"
    if not known:
        changes = [each.change for each in found]
        return f"{unit} {min(changes):+.1%} to {max(changes):+.1%} over the levels, and nothing tells the noise"
    if not counted:
        seen = max((each.high or 0.0) - (each.low or 0.0) for each in known) / 2
        return f"no difference beyond noise in {unit} at {_of(known)} (one of {seen:.1%} would be seen)"
    changes = [each.change for each in counted]
    span = f"{min(changes):+.1%} to {max(changes):+.1%}" if len(changes) > 1 else f"{changes[0]:+.1%}"
    rest = [each for each in known if not each.counts]
    same = f", no difference beyond noise at {_of(rest)}" if rest else ""
    return f"{unit} {span} at {_of(counted)}{same}"


def _of(found: Sequence[Effect]) -> str:
    if len(found) == 1:
        return people(found[0].users)
    return f"{', '.join(f'{each.users:g}' for each in found)} users"


def _at_point(first: Link, link: Link) -> str:
    if link.to_first is None or first.users is None or link.users is None or first.users == link.users:
        return ""
    return f"; at the operating points, {first.users:.4g} and {link.users:.4g} users, {_times(link.to_first)}"


def _basis(found: Sequence[Effect]) -> str:
    kinds = {each.noise for each in found}
    if kinds == {BETWEEN}:
        return ". Noise: between the repeats of the baseline."
    if kinds == {UNKNOWN} or not kinds:
        return ". Hold levels longer, or climb them three times (--repeats 3), to tell a difference from noise."
    return ". Noise: within-run only; --repeats 3, or --baseline RUN twice, would show that between runs."
