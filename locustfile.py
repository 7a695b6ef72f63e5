"""Loadband: start Locust with this file. `locust -H http://HOST:PORT`, or headless with `--steps 1,2,4,8`.

This is the menu: the user classes that can be run (InteractiveUser alone unless others are named), and the hooks
that make Locust a load test for language models.
`python locustfile.py --help` explains every option, Locust's own and ours.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loadband.load import hooks
from scenarios.interactive import InteractiveUser
from scenarios.long_context import LongContextUser
from scenarios.multi_turn import MultiTurnUser
from scenarios.open_loop import OpenLoopUser
from scenarios.replay import ReplayUser

__all__ = ["InteractiveUser", "LongContextUser", "MultiTurnUser", "OpenLoopUser", "ReplayUser", "hooks"]

if __name__ == "__main__":
    from locust.main import main

    main()  # type: ignore[no-untyped-call]
