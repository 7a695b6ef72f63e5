"""No process outlives the test that started it."""

from collections.abc import Iterator

import pytest

from tests.process.running import end_what_is_left


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    end_what_is_left()
