"""Does the server go on with work for users who have left? By its own count, against ours."""

from typing import Any, cast

from loadband.load.aftermath import Aftermath
from loadband.load.course import Part
from loadband.load.server_page import ServerPage, values_of
from loadband.load.step import Step


class Page:
    """A page that tells one count after the other."""

    def __init__(self, *counts: float | None) -> None:
        self.counts = list(counts)
        self.calls: list[str] = []

    def begin(self) -> None:
        self.calls.append("begin")

    def end(self) -> None:
        self.calls.append("end")

    def take(self) -> dict[str, float] | None:
        count = self.counts.pop(0) if self.counts else None
        return None if count is None else {"running": count}


def watched(*pages: Page, rate: float | None = None) -> list[dict[str, Any] | None]:
    """Eight users stay from 100 s on; the others are gone at 101 s."""
    aftermath = Aftermath([cast(ServerPage, page) for page in pages])
    assert aftermath.look(99.0, Step(4, 1, 16, asked_at=50.0)) is None
    step = Step(5, 1, 8, asked_at=100.0, part=Part.RECOVERY, rate=rate)
    told: list[dict[str, Any] | None] = [aftermath.look(100.0, step)]
    step.reached_at = 101.0
    told += [aftermath.look(float(now), step) for now in range(101, 110)]
    assert aftermath.look(110.0, None) is None
    return told


def zombies(told: list[dict[str, Any] | None]) -> tuple[float | None, float | None]:
    assert told[-1] is not None
    return told[-1]["zombies_most"], told[-1]["zombies_s"]


def test_a_server_that_notices_who_hangs_up_has_none() -> None:
    page = Page(16, 16, 16, *[8] * 7)
    told = watched(page)
    assert told[0] == {"step": 5, "after": 4, "zombies_most": None, "zombies_s": None}
    assert zombies(told) == (0, 0), "what may be of users who are just going is not counted"
    assert page.calls == ["begin", "end"]


def test_one_that_does_not_goes_on_for_nobody() -> None:
    assert zombies(watched(Page(16, 16, 16, 16, 14, 12, 9, 8, 7, 8))) == (8, 6)


def test_engines_are_added_up() -> None:
    assert zombies(watched(Page(*[6] * 10), Page(*[5] * 10))) == (3, 9)


def test_a_page_that_does_not_tell_is_no_proof() -> None:
    assert zombies(watched(Page(*[None] * 10))) == (None, None)
    assert zombies(watched()) == (None, None)


def test_in_an_open_loop_nobody_leaves() -> None:
    page = Page(*[None] * 10)
    assert zombies(watched(page, rate=2.0)) == (None, None)
    assert "begin" not in page.calls


def test_what_servers_call_it() -> None:
    page = 'vllm:num_requests_running{engine="0"} 3.0\nvllm:num_requests_running{engine="1"} 4.0\n'
    assert values_of(page) == {"running": 7.0}
    assert values_of("llamacpp:requests_processing 2\n") == {"running": 2.0}
    assert values_of('sglang:num_running_reqs{model_name="m"} 5.0\n') == {"running": 5.0}
