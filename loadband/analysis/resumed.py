"""That a run was cut off and gone on with, as `run.json` tells it.

Knows: the keys of its `resumed`. Must not know: what a part measured.
"""

import time
from collections.abc import Mapping
from typing import Any

WAS = {None: "it was killed", "interrupted": "Ctrl-C", "terminated": "SIGTERM"}


def notes_on_parts(run: Mapping[str, Any]) -> list[str]:
    """A sentence for each time that the run was resumed."""
    parts = run.get("resumed")
    return [_sentence(part) for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []


def _sentence(part: Mapping[str, Any]) -> str:
    at, levels, lost = part.get("at"), part.get("levels"), part.get("lost")
    when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at)) if isinstance(at, int | float) else "unknown time"
    was = part.get("was")
    why = WAS.get(was if was is None else str(was), str(was))
    cut = f", {lost} requests in flight were lost" if lost else ""
    return f"resumed at {when} after {levels} levels ({why}{cut}): was the server the same all the time?"
