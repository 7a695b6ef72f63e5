"""All that Loadband changes inside Locust: each change with the version it was made for, its reason, and its test.

Nothing else in the project assigns to Locust's modules. Made for Locust 2.47.0.
"""

import functools

from locust import argument_parser, runners

REPORT_INTERVAL_S = 1.0


def install() -> None:
    """Apply every change. May be called twice."""
    cache_default_arguments()
    report_each_second()


def cache_default_arguments() -> None:
    """Keep a worker's loop free at spawn messages.

    A worker asks for the defaults once per option and spawn message, and each call builds a whole parser: with our
    options that stalls every stream for 65 to 93 ms, each second of a ramp. The defaults never change.
    Test: tests/process/test_locust_patches.py.
    """
    current = argument_parser.default_args_dict
    if not hasattr(current, "cache_info"):
        argument_parser.default_args_dict = functools.cache(current)


def report_each_second() -> None:
    """Workers report once a second instead of every three: a kill loses less, and levels end sharper.

    Test: tests/process/test_locust_patches.py.
    """
    runners.WORKER_REPORT_INTERVAL = REPORT_INTERVAL_S
