"""Under which conditions a run was made, and in which of them two runs differ.

Knows: the keys of `run.json` that make two runs alike, how start flags are read. Must not know: what was measured
under them.

Conditions are words: equal or not. A key that a run does not have (an older file, a server that tells no version) is
*unknown*, and unlike nothing; a label or a start flag that is missing was not set, and differs from one that was.
Lengths are measured: means over the successes, unlike when they are more than 10 % and three standard errors apart.
Secrets, addresses and ports among the start flags are left out.
"""

import json
import math
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from loadband.analysis import windows
from loadband.record import Status

PLAIN = ("model", "api", "stream", "prompts", "prompt_tokens", "long_context_tokens", "turns", "think_time", "nonce")
OPTIONAL = ("abandon", "dataset", "shared_prefix", "adapters", "settings", "reset_cache", "retries")
"""Empty where it was not asked for, which is not unknown."""
SAMPLING = ("max_tokens", "temperature", "ignore_eos")
LENGTHS = (("prompt_length", "prompt_tokens"), ("answer_length", "output_tokens"))
"""Name of a condition, column of `requests.csv`."""
LENGTH_TOLERANCE, LENGTH_ERRORS = 0.10, 3.0
BESIDE = ("host", "tool", "seed", "timeouts")
"""Told beside a comparison, and never a reason to refuse it."""
NOT_A_SETTING = frozenset({"host", "port"})
SECRET = frozenset({"key", "token", "secret", "password"})
"""Parts of the names of flags that are kept out."""
NOT_SET = "not set"


@dataclass(frozen=True, slots=True)
class Length:
    """A measured length, tokens."""

    mean: float
    error: float
    """Standard error of the mean."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Of one run."""

    words: Mapping[str, str]
    """Key -> value; unknown keys are absent."""
    settings: Mapping[str, str]
    """Labels and start flags; what is absent was not set."""
    lengths: Mapping[str, Length]
    beside: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Difference:
    """One condition in which two runs differ."""

    key: str
    one: str
    other: str

    def __str__(self) -> str:
        """`max_num_seqs 8 -> 16`."""
        return f"{self.key} {self.one} → {self.other}"


def conditions_of(run: Mapping[str, Any], requests: pd.DataFrame) -> Conditions:
    """From `run.json`, whatever stands in it, and the requests of a run."""
    told = {key: run.get(key) for key in PLAIN} | {key: _dict(run, "sampling").get(key) for key in SAMPLING}
    told |= {key: run[key] or "none" for key in OPTIONAL if key in run}
    if "extra_body" in (sampling := _dict(run, "sampling")):
        told["extra_body"] = sampling["extra_body"] or "none"
    if dataset := _dict(run, "dataset"):
        told["dataset"] = dataset.get("digest") or dataset.get("requests")
    plan, server = _dict(run, "plan"), _dict(run, "server")
    told["mix"] = _shares(_dict(run, "mix") or dict.fromkeys(run.get("scenarios") or (), 1.0))
    told["levels_of"] = None if not plan else "requests/s" if plan.get("rates") else "users"
    told["arrival"] = plan.get("arrival")
    told["server_version"] = server.get("version") or server.get("header")
    sources = requests.loc[requests["status"] == Status.OK, "token_source"].value_counts()
    told["token_source"] = str(sources.index[0]) if len(sources) else None
    words = {key: _word(value) for key, value in told.items() if value not in (None, "", {}, [])}
    settings = flags_of(run.get("server_args"))
    for key, value in _dict(run, "labels").items():
        settings[f"label_{key}" if key in words or settings.get(key, str(value)) != str(value) else key] = str(value)
    told_beside = {key: run.get(key) for key in BESIDE} | {"hold": plan.get("hold")}
    beside = {key: _word(value) for key, value in told_beside.items() if value not in (None, "", {}, [])}
    return Conditions(words, settings, _lengths(requests), beside)


def _dict(run: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = run.get(key)
    return value if isinstance(value, dict) else {}


def _shares(mix: Mapping[str, float]) -> str:
    """`interactive=0.7, long_context=0.3`; weights of 7 and 3 are the same."""
    whole = sum(weight or 0.0 for weight in mix.values())
    parts = [f"{name}={(weight or 0.0) / whole:.4g}" for name, weight in sorted(mix.items())] if whole else []
    return ", ".join(parts)


def _word(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def flags_of(line: Any) -> dict[str, str]:
    """Start flags by their names: `--max-num-seqs 8 --enable-x` gives `max_num_seqs` 8 and `enable_x` yes."""
    try:
        words = shlex.split(line) if isinstance(line, str) else []
    except ValueError:
        words = str(line).split()
    flags: dict[str, str] = {}
    name = None
    for word in words:
        if re.match(r"--?[A-Za-z]", word):
            name, equals, value = word.lstrip("-").partition("=")
            name = name.replace("-", "_")
            flags[name] = value if equals else "yes"
        elif name is not None:
            flags[name] = word if flags[name] == "yes" else f"{flags[name]} {word}"
    return {
        key: value
        for key, value in flags.items()
        if key not in NOT_A_SETTING and not SECRET.intersection(key.split("_"))
    }


def _lengths(requests: pd.DataFrame) -> dict[str, Length]:
    ok = requests.loc[requests["status"] == Status.OK, [column for _, column in LENGTHS]]
    lengths = {}
    for key, column in LENGTHS:
        values = windows.numbers(ok, column)
        if values.size > 1:
            lengths[key] = Length(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(values.size))
    return lengths


def differences(one: Conditions, other: Conditions) -> list[Difference]:
    """Every condition in which two runs are known to differ, those of the server's settings last."""
    found = [
        Difference(key, one.words[key], other.words[key])
        for key in one.words
        if key in other.words and one.words[key] != other.words[key]
    ]
    for key, length in one.lengths.items():
        there = other.lengths.get(key)
        if there is None or not length.mean or not there.mean:
            continue
        apart, error = abs(there.mean - length.mean), math.hypot(length.error, there.error)
        if apart > LENGTH_TOLERANCE * min(length.mean, there.mean) and apart > LENGTH_ERRORS * error:
            found.append(Difference(key, f"{length.mean:.0f} tokens", f"{there.mean:.0f} tokens"))
    keys = [*one.settings, *(key for key in other.settings if key not in one.settings)]
    pairs = [(key, one.settings.get(key, NOT_SET), other.settings.get(key, NOT_SET)) for key in keys]
    return found + [Difference(*pair) for pair in pairs if pair[1] != pair[2]]


def remarks(one: Conditions, other: Conditions) -> list[str]:
    """What also differs and does not make runs unlike."""
    return [
        f"{key} differs: {one.beside[key]} and {other.beside[key]}"
        for key in one.beside
        if key in other.beside and one.beside[key] != other.beside[key]
    ]


def known_keys(sides: Iterable[Conditions]) -> set[str]:
    """All that may be varied: conditions and settings that some run has."""
    return {key for side in sides for key in (*side.words, *side.settings, *side.lengths)}
