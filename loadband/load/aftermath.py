"""What `run.json` says of the step that follows too much load: which it is, and of work for users who have left.

Knows: the step, the server's running count. Must not know: the ladder, files, how a recovery is judged.

Of requests that the server says it runs, more than there are users are nobody's: whoever asked has hung up. In an open
loop nobody leaves, so there are none to tell. A count of another client's requests reads as zombie work too.
"""

from collections.abc import Sequence

from loadband.load.course import Part
from loadband.load.server_page import ServerPage
from loadband.load.step import Step

LEFT_FOR_S = 2.0
"""Users are told as gone up to a second late, and so is the page read: what is counted before may be theirs."""


class Aftermath:
    """Looks at the server's own count while the load stays low."""

    def __init__(self, pages: Sequence[ServerPage] = ()) -> None:
        """`pages`: where the server may tell how many requests it runs."""
        self._pages = pages
        self._step: int | None = None
        self._told: dict[str, float | None] = {}

    def look(self, now: float, step: Step | None) -> dict[str, float | None] | None:
        """What is to be said; None outside such a step. `zombies_most` is None where no page tells."""
        if step is None or step.part != Part.RECOVERY:
            self.end()
            return None
        if self._step is None:
            self._step = step.step
            self._told = {"step": step.step, "after": step.step - 1, "zombies_most": None, "zombies_s": None}
            for page in self._pages if step.rate is None else ():
                page.begin()
        counts = [values["running"] for page in self._pages if "running" in (values := page.take() or {})]
        if counts and step.reached_at is not None and now - step.reached_at >= LEFT_FOR_S:
            self._count(now - step.asked_at, sum(counts) - step.target)
        return dict(self._told)

    def end(self) -> None:
        """The load stays low no longer."""
        if self._step is not None:
            for page in self._pages:
                page.end()
        self._step = None

    def _count(self, since_s: float, zombies: float) -> None:
        self._told["zombies_most"] = max(zombies, self._told["zombies_most"] or 0.0)
        self._told["zombies_s"] = since_s if zombies > 0 else self._told["zombies_s"] or 0.0
