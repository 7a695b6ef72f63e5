"""The hot path's two inner loops in C: reading many sockets, and finding texts in what was read.

Knows: where the library is built, the shapes of its functions. Must not know: what is read, or who asks.

`make setup` builds it where there is a C compiler. Where there is none the same is done in Python, dearer: every part
that asks for it has its own other way. A library built of other sources has another name and is never loaded.
"""

import ctypes
import functools
import hashlib
import os
import platform
from pathlib import Path

VARIABLE = "LOADBAND_NATIVE"
"""Set to one of `OFF` in the environment of a process, it does without."""

OFF = ("0", "false", "no", "off")

HERE = Path(__file__).parent
SOURCES = (HERE / "reads.c", HERE / "texts.c")
HEADERS = tuple(HERE / name for name in ("kept.h", "looks.h", "probe.h", "records.h", "streams.h"))

_READER = _POINTER = ctypes.c_void_p
_STREAM, _TEXT, _SIZE = ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t

FUNCTIONS = {
    "reads_start": (_READER, [_SIZE]),
    "reads_wake": (ctypes.c_int, [_READER]),
    "reads_due": (ctypes.c_int, [_READER, _POINTER, ctypes.c_int]),
    "reads_patience": (None, [_READER, ctypes.c_double]),
    "reads_open": (_STREAM, [_READER, ctypes.c_int, ctypes.c_int]),
    "reads_eager": (None, [_READER, _STREAM, ctypes.c_int]),
    "reads_take": (None, [_READER, _STREAM, ctypes.c_int, _POINTER]),
    "reads_close": (ctypes.c_int, [_READER, _STREAM]),
    "reads_lags": (ctypes.c_int, [_READER, _POINTER, ctypes.c_int]),
    "texts_find": (_SIZE, [_POINTER, _TEXT, _SIZE, _POINTER, _SIZE, _POINTER, _POINTER, _POINTER]),
}
"""Name -> result and arguments, as declared in the sources."""


def place() -> Path:
    """Where the library of these sources lies, built or not."""
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in (*SOURCES, *HEADERS))).hexdigest()[:16]
    return HERE / f"native-{digest}-{platform.system().lower()}-{platform.machine()}.so"


@functools.cache
def library() -> ctypes.PyDLL | None:
    """The library; None where it was not built or is not wanted. Its functions are short, and keep the lock."""
    return None if os.environ.get(VARIABLE, "").strip().lower() in OFF else loaded(place())


def loaded(file: Path) -> ctypes.PyDLL | None:
    """The library in that file; None of what is none."""
    try:
        found = ctypes.PyDLL(str(file))
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(found, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError):
        return None
    return found
