"""The ladder as a Locust shape: looks once a second, and hands Locust the number of users.

Knows: Locust's shape interface. Must not know: how a level is chosen or measured.
"""

from collections.abc import Callable

from locust import LoadTestShape


class LadderShape(LoadTestShape):
    """Installed by the hooks when there is a plan; abstract, so that Locust does not take it by itself."""

    abstract = True

    def __init__(self, look: Callable[[], tuple[int, float] | None]) -> None:
        """`look` gives users and users per second; None when the run is over."""
        super().__init__()  # type: ignore[no-untyped-call]
        self._look = look

    def tick(self) -> tuple[int, float] | None:
        """What Locust asks once a second."""
        return self._look()
