"""Prometheus' text format, read strictly: what a scraper may refuse is an AssertionError.

Knows: the format's grammar (version 0.0.4) and what a histogram must keep. Must not know: which metrics there are.
"""

import math
import re
from dataclasses import dataclass, field

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
SAMPLE = re.compile(rf"({NAME})\{{({LABEL}(?:,{LABEL})*)\}} (\S+)")
Labels = tuple[tuple[str, str], ...]


@dataclass
class Family:
    """One metric: its kind, and its samples by their name and labels."""

    kind: str
    samples: dict[tuple[str, Labels], float] = field(default_factory=dict)


def parsed(page: str) -> dict[str, Family]:
    """Families by name."""
    assert page.endswith("\n") and "\n\n" not in page
    families: dict[str, Family] = {}
    name, helped = "", ""
    for line in page.splitlines():
        if line.startswith("# HELP "):
            helped = line.split(" ", 3)[2]
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == helped, "HELP stands right above TYPE"
            assert name not in families and kind in ("gauge", "counter", "histogram")
            assert re.fullmatch(NAME, name) and name.endswith("_total") == (kind == "counter")
            families[name] = Family(kind)
        else:
            told = SAMPLE.fullmatch(line)
            assert told, line
            labels = tuple(re.findall(LABEL, told[2]))
            suffixes = ("_bucket", "_count", "_sum") if families[name].kind == "histogram" else ("",)
            assert told[1] in [name + suffix for suffix in suffixes], "a family's samples stand below its TYPE"
            assert len({label for label, _ in labels}) == len(labels)
            key = (told[1], labels)
            assert key not in families[name].samples, "a series is told once"
            families[name].samples[key] = float(told[told.lastindex or 0])
    for name, family in families.items():
        _check(name, family)
    return families


def _check(name: str, family: Family) -> None:
    assert family.samples
    if family.kind == "counter":
        assert min(family.samples.values()) >= 0
    if family.kind != "histogram":
        return
    buckets = [
        (dict(labels)["le"], value) for (own, labels), value in family.samples.items() if own.endswith("_bucket")
    ]
    bounds, counts = [float(bound) for bound, _ in buckets], [value for _, value in buckets]
    assert bounds == sorted(set(bounds)) and math.isinf(bounds[-1]) and buckets[-1][0] == "+Inf"
    assert counts == sorted(counts), "a bucket holds all below it"
    assert counts[-1] == value_of(family, f"{name}_count")
    assert value_of(family, f"{name}_sum") >= 0


def value_of(family: Family, name: str, **labels: str) -> float:
    """The one sample of this name with these labels among its own."""
    (value,) = [
        value
        for (own, told), value in family.samples.items()
        if own == name and labels.items() <= dict(told).items()
    ]  # fmt: skip
    return value
