"""What a ramp indicates, as plain data: the key `ramp` of `verdict.json`.

Knows: its keys. Must not know: how a ramp was read, where it is written.
"""

from typing import Any

from loadband.analysis.curve import throughput
from loadband.analysis.ramp import Ramp
from loadband.analysis.significant import number

BIN_COLUMNS = (
    "users", "in_flight", "hold_s", "requests", "ok", "failed", "error_rate", "req_s", "output_tok_s", "ttft_p50_s",
    "ttft_p95_s", "e2e_mean_s", "e2e_p95_s",
)  # fmt: skip
"""Of a ramp's bin."""


def ramp_json(ramp: Ramp) -> dict[str, Any]:
    """A ramp's indications; its bins with the few numbers that a bin has."""
    failure = ramp.failure
    return {
        "status": ramp.status,
        "reason": ramp.reason,
        "spawn_rate_users_s": number(ramp.spawn_rate),
        "readable_spawn_rate_users_s": number(ramp.readable_rate),
        "metric": ramp.metric or None,
        "operating_point": {
            "status": ramp.point_status,
            "users": number(ramp.users),
            "reason": ramp.point_reason,
        },
        "band": {"low": number(ramp.low), "high": number(ramp.high)},
        "failure": {
            "status": failure.status,
            "after": number(failure.after),
            "at": number(failure.at),
            "mode": failure.mode,
            "reason": failure.reason,
        },
        "bins": [
            {
                "valid": level.grade.valid,
                "marks": list(level.grade.marks),
                "reasons": list(level.grade.faults),
                "x": number(throughput(level, ramp.metric)),
                **{name: number(level.numbers.get(name)) for name in BIN_COLUMNS},
            }
            for level in ramp.levels
        ],
        "advice": [float(users) for users in ramp.advice],
    }
