"""The library in C, for tests that are about it.

Knows: how to have it built. Must not know: what it does.
"""

import ctypes

import pytest

from loadband.load import native
from loadband.load.native.__main__ import build


def needed() -> ctypes.PyDLL:
    """The library, built if it was not; a skipped test where it cannot be, or is not wanted."""
    told = build()
    library = native.library()
    if library is None:
        pytest.skip(f"no library in C: {told}")
    return library
