"""What followed too much load in words, and what was inside a spike.

Knows: names of the numbers. Must not know: how a recovery is found, where it is printed.
"""

from loadband.analysis.curve import throughput
from loadband.analysis.level import Level
from loadband.analysis.recovery import Recovery
from loadband.analysis.verdict import Verdict
from reports import cells
from reports.people import users
from reports.units import unit


def recovery_sentence(verdict: Verdict) -> str:
    """How long the server needed; empty of a run that was not to tell."""
    found = verdict.recovery
    if found is None:
        return ""
    fell = ""
    if found.fell_from is not None and found.fell_to is not None:
        fell = f", from {users(found.fell_from)} to {users(found.fell_to)} users"
    if found.status == "none":
        return f"Recovery{fell}: {found.reason}."
    parts = _parts(found)
    if found.seconds is None:
        said = f"{found.status.replace('_', ' ')}, {found.reason}"
        return f"Recovery{fell}: {said}{parts}.{_zombies(found)}"
    when = "at once" if found.seconds == 0 else f"{found.seconds:.0f} s after the load fell"
    return f"Recovery{fell}: throughput and TTFT p50 were as before {when}{parts}.{_zombies(found)}"


def _zombies(found: Recovery) -> str:
    """Work for users who had left, where the server tells."""
    if found.zombies_most is None:
        return ""
    if not found.zombies_most:
        return " No zombie work: the server ran no more requests than there were users."
    return (
        f" Zombie work: until {found.zombies_s or 0:.0f} s after the fall the server ran up to "
        f"{found.zombies_most:.0f} requests more than there were users."
    )


def _parts(found: Recovery) -> str:
    """Each alone, and what counts as back."""
    told = []
    for name, at, bound in (
        ("throughput", found.throughput_s, f"at least {cells.number(found.throughput_from, digits=4)} tokens/s"),
        ("TTFT p50", found.ttft_s, f"at most {cells.time(found.ttft_upto)}"),
    ):
        if at is not None:
            told.append(f"{name} after {at:.0f} s, {bound}")
    window = "" if found.window_s is None or not told else f", in windows of {found.window_s:.0f} s"
    return f" ({'; '.join(told)}{window})" if told else ""


def spike_sentences(verdict: Verdict) -> list[str]:
    """The answer of a run with a spike."""
    before, inside = _first(verdict, rising=True), _first(verdict, rising=False)
    if before is None or inside is None or before.users >= inside.users:
        return ["The spike was not held: the run ended before it."]
    said = [f"Spike from {users(before.users)} to {users(inside.users)} users for {cells.time(inside.numbers.hold_s)}:"]
    for level, word in ((inside, "inside"), (before, "before")):
        x = cells.number(throughput(level, verdict.metric), digits=4)
        ttft = f"TTFT p50 {cells.time(level.numbers.ttft_p50_s)}, p95 {cells.time(level.numbers.ttft_p95_s)}"
        errors = cells.errors(level.numbers.error_rate, level.judged)
        said.append(f"{word} {x} {unit(verdict)}, {ttft}, errors {errors};")
    return [" ".join(said).rstrip(";") + "."]


def _first(verdict: Verdict, *, rising: bool) -> Level | None:
    """The level with the fewest users, or with the most."""
    levels = sorted(verdict.levels, key=lambda level: level.users, reverse=not rising)
    return levels[0] if levels else None
