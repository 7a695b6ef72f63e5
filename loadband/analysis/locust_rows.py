"""Which rows of a Locust file are requests, and how far its counts can be added up.

Knows: Types, `Aggregated`, counts that fall. Must not know: time, levels.

*Aggregated* is every event that was fired. People who time first tokens fire them as events of their own (`TTFT`,
`TPOT`, a number of tokens): then it counts each request several times and mixes milliseconds with tokens. So where rows
of an HTTP method stand beside others, only those are requests; the others have no unit that is known. A file with
`Aggregated` alone does not tell them apart: `_stats.csv` beside it says whether there is anything to tell.

*Counts that fall.* With `--reset-stats` they begin anew at every change of users, in mid-run: the parts are added up. A
second test from the web UI begins anew after a time without users, or with fewer: only the last test is used.
"""

import numpy as np
import pandas as pd

from loadband.analysis.cells import read_cells, to_numbers

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT"})
WHOLE = frozenset({"aggregated", "total"})
LONGEST_GAP_S = 10.0
"""Rows come each second while Locust runs, and a few are missing when it is busy."""
COUNT, FAILED, MEAN = "Total Request Count", "Total Failure Count", "Total Average Response Time"


def is_whole(table: pd.DataFrame) -> "pd.Series[bool]":
    """Rows of all events together: no Type, and no name but that of the sum."""
    blank = _words(table, "Type").isin(["", "None"])
    names = _words(table, "Name").str.lower()
    return blank & (names.isin(WHOLE) | (names == ""))


def _words(table: pd.DataFrame, column: str) -> "pd.Series[str]":
    return table[column].fillna("").astype(str).str.strip()


def foreign_types(table: pd.DataFrame) -> list[str]:
    """Types that stand beside HTTP methods and are none; empty when requests are all that was fired."""
    types = set(_words(table[~is_whole(table)], "Type")) - {""}
    return sorted(types - METHODS) if types & METHODS else []


def requests_alone(table: pd.DataFrame) -> pd.DataFrame:
    """`Aggregated` rows with counts and means of the HTTP rows at the same times; users stay.

    An entry that has no row at a time is as it was before.
    """
    whole = table[is_whole(table)].drop_duplicates("Timestamp", keep="last").set_index("Timestamp").sort_index()
    total = pd.DataFrame(0.0, index=whole.index, columns=[COUNT, FAILED, "time"])
    http = table[_words(table, "Type").isin(METHODS)]
    for _, rows in http.groupby([http["Type"], http["Name"].fillna("")]):
        one = rows.drop_duplicates("Timestamp", keep="last").set_index("Timestamp").sort_index()
        one = one[[COUNT, FAILED, MEAN]].reindex(whole.index).ffill().fillna(0.0)
        total[COUNT] += one[COUNT]
        total[FAILED] += one[FAILED]
        total["time"] += one[COUNT] * one[MEAN]
    means = (total["time"] / total[COUNT].where(total[COUNT] > 0)).fillna(0.0)
    return whole.assign(**{COUNT: total[COUNT], FAILED: total[FAILED], MEAN: means}).reset_index()


def last_test(table: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """The rows of the last test, with counts that go on where they were reset in mid-run."""
    whole = table[is_whole(table)].sort_values("Timestamp", kind="stable")
    falls = whole.index[whole[COUNT].diff() < 0]
    users = whole["User Count"]
    before, gap = users.shift(1), whole["Timestamp"].diff()
    anew = [place for place in falls if not (0 < before[place] <= users[place]) or gap[place] > LONGEST_GAP_S]
    resets = [place for place in falls if place not in anew]
    if anew:
        notes.append(f"{len(anew) + 1} tests follow each other in this file: only the last is used")
        table = table[table["Timestamp"] >= whole["Timestamp"][anew[-1]]]
        resets = [place for place in resets if place in table.index]
    if not resets:
        return table
    notes.append(f"the counts were reset {len(resets)} times in mid-run (--reset-stats): the parts are added up")
    at = [float(each) for each in whole["Timestamp"][resets]]
    parts = [rows for _, rows in table.groupby(["Type", "Name"], dropna=False)]
    return pd.concat([_added_up(rows, at) for rows in parts]).sort_index()


def _added_up(rows: pd.DataFrame, resets: list[float]) -> pd.DataFrame:
    """Counts and means of one kind of row, since the begin instead of the last reset."""
    rows = rows.sort_values("Timestamp", kind="stable")
    part = np.searchsorted(resets, rows["Timestamp"].to_numpy(dtype=np.float64), side="right")
    told = rows[[COUNT, FAILED, MEAN]].ffill().fillna(0.0)
    count, failed, mean = (told[name].to_numpy(dtype=np.float64).copy() for name in told)
    spent = count * mean
    for later in range(1, len(resets) + 1):
        here, earlier = part == later, np.flatnonzero(part < later)
        if here.any() and earlier.size:
            last = earlier[-1]
            count[here] += count[last]
            failed[here] += failed[last]
            spent[here] += spent[last]
    means = np.divide(spent, count, out=np.zeros_like(spent), where=count > 0)
    return rows.assign(**{COUNT: count, FAILED: failed, MEAN: means})


def read_totals(text: str, name: str) -> pd.DataFrame:
    """`_stats.csv` with the columns of a history's totals; empty when it has not these columns."""
    table = read_cells(text, name, [], text_columns=("Type", "Name"), unknown=("", "N/A"))
    if not {"Type", "Name", COUNT} <= set(table.columns):
        return pd.DataFrame({column: [] for column in ("Type", "Name", COUNT)})
    table[COUNT] = to_numbers(table[COUNT])
    return table
