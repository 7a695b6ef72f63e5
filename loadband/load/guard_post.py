"""The guards of one run on the master: where their values come from, and what is said of those that are blind.

Knows: guards, pages of metrics, the newest requests. Must not know: the ladder, files.
"""

from collections.abc import Sequence
from typing import Any

from loadband.load.connection import parse_address
from loadband.load.guards import Fired, Guard, Watch, parse_guards
from loadband.load.newest import Newest
from loadband.load.server_page import ServerPage


class GuardPost:
    """Watches from `begin` to `end`."""

    def __init__(self, text: str | None, pages: Sequence[ServerPage] = (), *, shedding_fails: bool = True) -> None:
        """`text`: the guards as written, None for none; `pages`: where a server or an exporter tells its memory."""
        self._guards: tuple[Guard, ...] = parse_guards(text) if text else ()
        self._pages = pages if any(guard.of_server for guard in self._guards) else ()
        own = [guard.limit for guard in self._guards if guard.limit is not None]
        self._newest = Newest(own, shedding_fails=shedding_fails)
        self._watch = Watch(self._guards)

    def blind(self) -> list[str]:
        """A sentence for each guard whose value no page tells now. Reads the pages."""
        if not self._pages:
            return []
        told = {name for page in self._pages for name in page.read()}
        where = ", ".join(f"{page.url} ({_answer(page)})" for page in self._pages)
        return [
            f"the guard {guard.text} is blind: {guard.metric} is not told by {where}; it will not fire unless that "
            "changes, --server-metrics names another page"
            for guard in self._guards
            if guard.of_server and guard.metric not in told
        ]

    def begin(self) -> None:
        """Load begins."""
        for page in self._pages:
            page.begin()

    def end(self) -> None:
        """Load is over."""
        for page in self._pages:
            page.end()

    def add(self, values: Sequence[Any]) -> None:
        """One record, in column order."""
        if self._guards:
            self._newest.add(values)

    def look(self, now: float) -> Fired | None:
        """What fired up to now."""
        told: dict[str, float] = {}
        for page in self._pages:
            for name, value in (page.take() or {}).items():
                told[name] = max(value, told.get(name, 0.0))
        values = {
            guard.text: told.get(guard.metric) if guard.limit is None else self._newest.value(guard.limit, now)
            for guard in self._guards
        }
        return self._watch.look(now, values)

    def rows(self) -> list[dict[str, Any]]:
        """For `run.json`."""
        return self._watch.rows()


def pages_of(urls: Sequence[str], host: str | None, key: str | None) -> list[ServerPage]:
    """The pages that were named, else that of the target; a key goes to the target's host alone."""
    target = parse_address(host)
    if not urls:
        return [ServerPage(target, "/metrics", key)]
    addresses = [parse_address(url) for url in urls]
    at_target = (target.host, target.port, target.tls)
    return [ServerPage(each, "", key if (each.host, each.port, each.tls) == at_target else None) for each in addresses]


def _answer(page: ServerPage) -> str:
    return "no answer" if page.status is None else "it has other values" if page.status == 200 else f"{page.status}"
