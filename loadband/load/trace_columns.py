"""What the columns of a data set are called: grammar of `--columns`, and the layouts of public traces.

Knows: our names, theirs, units of time. Must not know: files, what is done with a request.

Our layout, which needs no `--columns`: `messages` (a list of role and content) or `prompt` (text) or `prompt_tokens`
(a number: a text of that length is written), `max_tokens` (none: `--max-tokens` is drawn), `at` (seconds; none: the
requests have no moments of their own). Others are told by `ours=theirs`, a time with its unit:

    at=timestamp:ms,prompt_tokens=input_length,max_tokens=output_length

Presets: `mooncake` (JSONL of the FAST'25 traces; its `hash_ids` are not used: prompts share nothing), `burstgpt` (CSV
of HPMLL/BurstGPT), `azure` (CSV of AzurePublicDataset, 2023 and 2024).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from loadband.errors import UsageError

OURS = ("messages", "prompt", "prompt_tokens", "max_tokens", "at")

PRESETS = {
    "mooncake": "at=timestamp:ms,prompt_tokens=input_length,max_tokens=output_length",
    "burstgpt": "at=Timestamp:s,prompt_tokens=Request tokens,max_tokens=Response tokens",
    "azure": "at=TIMESTAMP:date,prompt_tokens=ContextTokens,max_tokens=GeneratedTokens",
}

SCALE = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


@dataclass(frozen=True, slots=True)
class Columns:
    """Our names and theirs."""

    names: Mapping[str, str] = field(default_factory=dict)
    unit: str = "s"
    """Of `at`: `s ms us`, or `date` (2023-11-16 18:15:46.68, UTC unless it says otherwise)."""

    def get(self, row: Mapping[str, Any], ours: str) -> Any:
        """A cell by our name; None where it is empty or missing."""
        cell = row.get(self.names.get(ours, ours))
        return None if cell == "" else cell

    def seconds(self, told: Any) -> float:
        """A moment in seconds. Raises ValueError."""
        if self.unit != "date":
            return float(told) * SCALE[self.unit]
        # more than microseconds are cut off: datetime knows no more
        moment = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", str(told).strip()))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def parse_columns(text: str) -> Columns:
    """A preset's name, or `ours=theirs` joined by commas. Raises UsageError."""
    names: dict[str, str] = {}
    unit = "s"
    for part in PRESETS.get(text.strip(), text).split(","):
        match = re.fullmatch(r"\s*([a-z_]+)\s*=\s*([^,:=]+?)\s*(?::\s*([a-z]+)\s*)?", part)
        if not match or match[1] not in OURS or match[1] in names:
            raise UsageError(
                f"columns '{part[:60]}' is not understood: write mooncake, burstgpt, azure, or ours=theirs, each once, "
                f"for example at=timestamp:ms (ours: {', '.join(OURS)})"
            )
        if match[3] and (match[1] != "at" or match[3] not in (*SCALE, "date")):
            raise UsageError(f"columns '{part[:60]}': only at has a unit, one of {', '.join(SCALE)} or date")
        names[match[1]] = match[2]
        unit = match[3] or unit
    return Columns(names, unit)
