"""`run.json` as the analysis may use it: what is not of its kind is unknown, with a note.

Knows: the kinds of the keys that are read. Must not know: what they mean. The file may come from another version, or
from somebody's editor.
"""

from collections.abc import Callable, Mapping
from typing import Any

LATEST = 2.5e11
"""Unix seconds: no clock shows more, and the year 10,000 has no date."""


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < LATEST


def _numbers(value: Any) -> bool:
    return isinstance(value, dict) and all(each is None or _number(each) for each in value.values())


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _plan(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("levels"), list)


def _estimated(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("tokenizer"), str)


KINDS: dict[str, Callable[[Any], bool]] = {
    "started": _number, "ended": _number, "timeouts": _numbers, "mix": _numbers, "findings": _texts,
    "scenarios": _texts, "slo": _text, "how": _text, "host": _text, "model": _text, "plan": _plan,
    "adapters": _texts, "shared_prefix": _number, "template_tokens": _number, "estimated": _estimated,
    "recovery": _numbers,
}  # fmt: skip


def sound_facts(run: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The facts without those of a wrong kind, and notes that name them."""
    strange = sorted(key for key, fits in KINDS.items() if run.get(key) is not None and not fits(run[key]))
    notes = [f"run.json: {', '.join(strange)} cannot be read and count as unknown"] if strange else []
    return {key: value for key, value in run.items() if key not in strange}, notes
