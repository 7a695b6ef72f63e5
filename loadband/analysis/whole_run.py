"""The numbers of a whole run, for one in which no level was held: a mean over whatever the users did.

Knows: the span of a run. Must not know: levels.
"""

import numpy as np

from loadband.analysis import windows
from loadband.analysis.level import Numbers
from loadband.analysis.measure import HoldData, measure
from loadband.analysis.run_files import RunFiles
from loadband.analysis.windows import Hold, Step
from loadband.plan import MAX_DURATION_S


def whole_run(files: RunFiles) -> Numbers | None:
    """Numbers from the first request's start to the last one's end, warm-up left out; None when none ended."""
    requests = windows.with_end(files.requests)
    begin, end = float(requests["started_at"].min()), float(requests["ended_at"].max())
    if np.isnan(begin) or np.isnan(end) or not 0 < end - begin <= MAX_DURATION_S:
        return None
    hold = Hold(begin, end)
    data = HoldData(
        hold=hold,
        ended=windows.ended_inside(requests, hold),
        seconds=windows.seconds_inside(windows.by_second(files.seconds), hold),
        itl=windows.merged_histograms(files.histograms, hold, "itl", by="scenario"),
        prompt_tokens=windows.prompt_tokens_inside(requests, hold),
    )
    return measure(Step(0, 1, None, None, None, "", hold), data, ())
