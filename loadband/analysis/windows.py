"""What belongs to a level: the one place where a hold is laid over requests and seconds.

Knows: holds, overlap, membership. Must not know: what makes a level good.

Latency, counts and requests/s belong to the hold in which a request *ended* (end = `started_at` + `duration_s`);
what ended while settling or draining belongs to no level. Tokens belong to the second in which they arrived; a
second that the hold covers in part counts in part, which assumes that tokens arrive evenly within that one second.
Conservation (Little's law) is by overlap: each request weighs the time it was open inside the hold.
"""

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loadband.histogram import Histogram
from loadband.plan import MAX_DURATION_S
from loadband.record import Status

Floats = NDArray[np.float64]

WARM_UP = re.compile(r"(?:^|;)warmup(?:;|$)")
"""In `flags`."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Measured time, Unix seconds on the master's clock."""

    begin: float
    end: float

    @property
    def length(self) -> float:
        """Seconds."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class Step:
    """One row of `steps.csv`."""

    step: int
    repeat: int
    users: float | None
    offered_req_s: float | None
    asked_at: float | None
    ended_by: str
    hold: Hold | None
    """None when the step was never held."""
    unfinished: bool = False
    """The hold has no end on record: it is that of what was written, or the moment the next level was asked for."""


def steps_of(table: pd.DataFrame, last_second: float | None) -> tuple[Step, ...]:
    """Steps by number; of several rows for a step the last counts. `last_second`: end of what was written.

    A level that was held again was asked for first before its run was cut off: the level before was over by then.
    """
    steps: list[Step] = []
    told = table[table["step"].notna()]
    rows = told.drop_duplicates("step", keep="last").sort_values("step")
    rows = rows.assign(asked_at=rows["step"].map(told.groupby("step")["asked_at"].min()))
    for row, next_asked in zip(rows.to_dict("records"), rows["asked_at"].shift(-1), strict=True):
        begin, end = _known(row["hold_from"]), _known(row["hold_to"])
        unfinished = begin is not None and end is None
        if unfinished:
            end = last_second if np.isnan(next_asked) else float(next_asked)
        whole = begin is not None and end is not None and 0 < end - begin <= MAX_DURATION_S
        hold = Hold(begin, end) if whole and begin is not None and end is not None else None
        steps.append(
            Step(
                step=int(row["step"]),
                repeat=int(_known(row["repeat"]) or 1),
                users=target if (target := _known(row["target"])) and target > 0 else None,
                offered_req_s=_known(row["offered_req_s"]),
                asked_at=_known(row["asked_at"]),
                ended_by=str(row["ended_by"]),
                hold=hold,
                unfinished=unfinished,
            )
        )
    return tuple(steps)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def numbers(frame: pd.DataFrame, column: str) -> Floats:
    """A column as floats, unknown values left out."""
    values: Floats = frame[column].to_numpy(dtype=np.float64)
    return values[~np.isnan(values)]


def with_end(requests: pd.DataFrame) -> pd.DataFrame:
    """Requests with `ended_at`, in an order that does not depend on that of the file; unknown when never ended."""
    ended = (requests["started_at"] + requests["duration_s"].fillna(requests["e2e_s"])).to_numpy(dtype=np.float64)
    order = np.argsort(ended, kind="stable")
    rising = ended[order]
    alike = (rising[1:] == rising[:-1]) | np.isnan(rising[:-1])
    tied = np.zeros(ended.size, dtype=bool)
    tied[1:] |= alike
    tied[:-1] |= alike
    # ids decide among these alone: names are slow to compare
    ids = requests["id"].to_numpy()[order[tied]].astype(str)
    order[tied] = order[tied][np.lexsort((ids, ended[order[tied]]))]
    return requests.assign(ended_at=ended).iloc[order]


def ended_between(requests: pd.DataFrame, begin: float, end: float) -> pd.DataFrame:
    """Requests of `with_end`, so in the order of their ends, that ended from `begin` to `end`, both included."""
    first, after = _places(requests, begin, end)
    return requests.iloc[first:after]


def _places(requests: pd.DataFrame, begin: float, end: float) -> tuple[int, int]:
    """Of the first request of `with_end` that ended at `begin` or later, and of the first that did after `end`."""
    ended = requests["ended_at"].to_numpy(dtype=np.float64)  # those without an end come last, as the search has it
    return int(np.searchsorted(ended, begin, "left")), int(np.searchsorted(ended, end, "right"))


def ended_inside(requests: pd.DataFrame, hold: Hold) -> pd.DataFrame:
    """Requests of `with_end` that ended in the hold, both edges included; those of the warm-up are of no level."""
    inside = ended_between(requests, hold.begin, hold.end)
    return inside[~flagged(inside, WARM_UP)]


def flagged(requests: pd.DataFrame, pattern: "re.Pattern[str]") -> NDArray[np.bool_]:
    """Which requests have flags that match; each set of flags is looked at once."""
    codes, sets = pd.factorize(requests["flags"])
    return np.array([pattern.search(flags) is not None for flags in sets], dtype=bool)[codes]


def prompt_tokens_inside(requests: pd.DataFrame, hold: Hold) -> float | None:
    """Prompt tokens of ok and cut requests whose first token came in the hold: `seconds.csv` adds those that failed.

    Of an answer in one piece only the end is known.
    """
    possible = requests.iloc[_places(requests, hold.begin, hold.end)[0] :]
    columns = ("started_at", "ttft_s", "e2e_s")
    started, ttft, e2e = (possible[name].to_numpy(dtype=np.float64) for name in columns)
    first = started + np.where(np.isnan(ttft), e2e, ttft)
    inside = possible.loc[(first >= hold.begin) & (first <= hold.end), ["status", "prompt_tokens"]]
    told = inside.loc[inside["status"].isin([Status.OK, Status.CUT]), "prompt_tokens"]
    return float(told.sum()) if told.empty or told.notna().any() else None


def open_seconds(requests: pd.DataFrame, hold: Hold) -> float:
    """Time that requests were open inside the hold, all statuses, summed (request-seconds)."""
    possible = requests.iloc[_places(requests, hold.begin, hold.end)[0] :]
    begin = np.maximum(possible["started_at"].to_numpy(dtype=np.float64), hold.begin)
    end = np.minimum(possible["ended_at"].to_numpy(dtype=np.float64), hold.end)
    return float(np.nansum(np.clip(end - begin, 0.0, None)))


def by_second(seconds: pd.DataFrame) -> pd.DataFrame:
    """`seconds.csv` with one row per second: counters added up, `users` and `in_flight` as the master gave them."""
    rows = seconds[seconds["second"].notna()].drop(columns="scenario")
    counters = [name for name in rows.columns if name not in ("second", "users", "in_flight")]
    grouped = rows.groupby("second", sort=True)
    return pd.concat([grouped[counters].sum(), grouped[["users", "in_flight"]].first()], axis=1).reset_index()


def seconds_inside(seconds: pd.DataFrame, hold: Hold) -> pd.DataFrame:
    """Rows of `by_second` that the hold touches, with `weight`: the covered share of the second."""
    begin = seconds["second"].to_numpy(dtype=np.float64)
    weight = np.clip(np.minimum(begin + 1, hold.end) - np.maximum(begin, hold.begin), 0.0, 1.0)
    inside = weight > 1e-9
    rows: pd.DataFrame = seconds[inside]
    return rows.assign(weight=weight[inside])


def per_second(inside: pd.DataFrame, hold: Hold, *columns: str) -> float:
    """Mean rate of the summed columns over the hold, edge seconds by their covered share."""
    total = sum(float((inside[column] * inside["weight"]).sum()) for column in columns)
    return total / hold.length


def whole_seconds(inside: pd.DataFrame) -> pd.DataFrame:
    """The seconds that lie in the hold entirely."""
    return inside[inside["weight"] > 1 - 1e-9]


def series(inside: pd.DataFrame, hold: Hold, *columns: str) -> Floats:
    """The summed columns for each whole second of the hold in order; a second without a row is 0."""
    first, last = int(np.ceil(hold.begin)), int(np.floor(hold.end))
    values = np.zeros(max(last - first, 0))
    rows = whole_seconds(inside)
    places = rows["second"].to_numpy(dtype=np.float64).astype(int) - first
    values[places] = rows[list(columns)].to_numpy(dtype=np.float64).sum(axis=1)
    return values


def merged_histograms(histograms: pd.DataFrame, hold: Hold, metric: str, by: str = "metric") -> dict[str, Histogram]:
    """Histograms of a metric over the seconds that lie in the hold, merged by a column. Damaged rows are left out.

    Merged in an order that does not depend on that of the file: sums of floats would differ in their last digits.
    """
    rows = histograms[(histograms["second_from"] >= hold.begin) & (histograms["second_to"] + 1 <= hold.end)]
    rows = rows[rows["metric"] == metric].sort_values(["second_from", "worker", "scenario", "sum"])
    merged: dict[str, Histogram] = {}
    cells = zip(rows[by], rows["count"], rows["sum"], rows["min"], rows["max"], rows["buckets"], strict=True)
    for key, count, total, low, high, buckets in cells:
        try:
            histogram = Histogram.decode(int(count), float(total), float(low), float(high), str(buckets))
        except ValueError:
            continue
        merged.setdefault(str(key), Histogram()).merge(histogram)
    return merged
