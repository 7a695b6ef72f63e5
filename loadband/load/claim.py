"""Only one process writes into a run directory.

Knows: locks of files. Must not know: what is written. The lock is the kernel's: it ends with the process, however that
does.
"""

import fcntl
import os
from pathlib import Path

from loadband.errors import UsageError
from loadband.rundir import REQUESTS


class Claim:
    """Held until `release`, or until this process is gone."""

    def __init__(self, path: Path) -> None:
        """Raises UsageError when another process has it; where the file system knows no locks nobody does."""
        self._handle = os.open(path / REQUESTS, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.release()
            raise UsageError(
                f"another process is writing to {path}: wait for its end, or choose another --run-dir"
            ) from None
        except OSError:
            pass

    def release(self) -> None:
        """Let others write."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
