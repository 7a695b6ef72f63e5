"""The tables of `report.md` that say how sure each edge is, and what tokens cost at each level.

Knows: Markdown, the intervals of a verdict. Must not know: how they were found.
"""

from loadband.analysis.intervals import Ends
from loadband.analysis.verdict import Verdict
from reports import cells
from reports.people import span, users
from reports.units import axis


def how_sure(verdict: Verdict) -> str:
    """Each edge with its noise and grid interval; and each N_SLO."""
    sure, operating = verdict.sure, verdict.operating
    placed = operating.status == "found"
    rows: list[tuple[str, float | None, Ends | None, Ends | None]] = [
        (name, value if placed else None, sure.of(edge).noise, sure.of(edge).grid)
        for name, value, edge in (
            ("operating point", operating.users, "operating"),
            ("band, lower edge", operating.low, "low"),
            ("band, upper edge", operating.high, "high"),
        )
    ]
    if sure.tight:
        rows += [
            (f"tight band, {name} edge", value, sure.of(f"tight_{edge}").noise, sure.of(f"tight_{edge}").grid)
            for name, value, edge in (("lower", sure.tight[0], "low"), ("upper", sure.tight[1], "high"))
        ]
    saturated = verdict.saturation.exact if verdict.saturation.status == "found" else None
    rows.append(("saturation", saturated, sure.of("saturation").noise, sure.of("saturation").grid))
    for each in verdict.slo:
        known = each.end.low is not None and each.end.high is not None and each.n_slo is not None
        rows.append(
            (f"N_SLO, {each.name}", each.n_slo, (each.end.low or 0, each.end.high or 0) if known else None, None)
        )
    lines = [f"| value | {axis(verdict)} | noise, 5–95 % | with the grid |", "|---|---:|---:|---:|"]
    lines += [f"| {name} | {_one(value)} | {_two(noise)} | {_two(grid)} |" for name, value, noise, grid in rows]
    told = f"Noise: {sure.source.replace('_', ' ')}" if sure.source != "none" else f"No noise interval: {sure.reason}"
    more = f", {sure.replicates} replicates" if sure.replicates else ""
    support = f", {sure.support:.0%} of them give this kind of answer" if sure.support is not None else ""
    return "\n".join([f"{told}{more}{support}.", "", *lines])


def _one(value: float | None) -> str:
    return cells.NOTHING if value is None else users(value)


def _two(ends: Ends | None) -> str:
    if ends is None:
        return cells.NOTHING
    return f"{users(ends[0])} or more" if ends[1] == float("inf") else span(ends)


def cost_table(verdict: Verdict) -> list[str]:
    """What a million output tokens cost at each valid level; nothing without a price."""
    price = verdict.price
    if price is None:
        return []
    lines = [f"| {axis(verdict)} | cost of a million output tokens |", "|---:|---:|"]
    lines += [
        f"| {level.users:g} | {cells.number(price.per_million(level.numbers.output_tok_s))} |"
        for level in verdict.levels
        if level.grade.valid
    ]
    return ["## Cost", "\n".join(lines)]
