"""`python -m loadband doctor URL`: its options, and how they become an examination.

Knows: the command line, the environment. Must not know: what is checked. Whatever needs gevent or rich is imported
when the command runs: the command line of the others need not wait for it.
"""

import argparse
import json
import os
import re
import uuid
from typing import Any

from loadband import plan
from loadband.errors import UsageError

KEY_VARIABLE = "LOADBAND_API_KEY"

APIS = ("openai-chat", "openai-completions", "vllm-generate", "tgi", "ollama", "triton")
"""The names of the load half's dialects, which are not loaded before the command runs."""


def add_doctor(commands: Any) -> None:
    """Add the command to the others."""
    parser = commands.add_parser(
        "doctor",
        help="is a server fit for a load test, and will its numbers mean what they seem to?",
        description="Asks a server some twenty times, one request after the other, and says what a run would stumble "
        "over and what its numbers would mean. Exit code 0 nothing bad, 3 something bad, 4 no answer, 2 wrong use. "
        "docs/doctor.md explains every check.",
    )
    parser.add_argument("url", metavar="URL", help="the server, as for locust -H: http://gpu1:8000")
    parser.add_argument("--model", metavar="NAME", help="model to ask for; default: the one the server offers")
    parser.add_argument(
        "--api-key-env", metavar="VARIABLE", default=KEY_VARIABLE,
        help=f"environment variable that holds the server's key; default {KEY_VARIABLE}",
    )  # fmt: skip
    parser.add_argument("--api", choices=APIS, default=APIS[0], help=f"what the server speaks; default {APIS[0]}")
    parser.add_argument("--path", metavar="PATH", help="where the server has it; default: its usual place")
    parser.add_argument(
        "--stream", action=argparse.BooleanOptionalAction, default=True, help="as the run will ask; default on"
    )
    users = parser.add_mutually_exclusive_group()
    users.add_argument("--steps", metavar="LEVELS", help="levels of the plan, to check descriptors and ports against")
    users.add_argument("--users", metavar="N", type=int, help="most users of the plan, in place of --steps")
    parser.add_argument("--processes", metavar="N", type=int, default=1, help="load processes; default 1")
    parser.add_argument("--accelerators", metavar="N", type=int, default=1, help="devices of the server; default 1")
    for name, default, what in (
        ("prompt-tokens", "50-200", "tokens of a prompt"),
        ("max-tokens", "64-448", "tokens of an answer"),
        ("think-time", "0.5-2", "pause after an answer, in seconds"),
    ):
        parser.add_argument(f"--{name}", metavar="N", default=default, help=f"the plan's {what}; default {default}")
    parser.add_argument(
        "--ignore-eos", action=argparse.BooleanOptionalAction, default=None,
        help="as the run will ask; default: where the server takes it",
    )  # fmt: skip
    for name, default, what in (("connect-timeout", "10s", "to connect"), ("first-token-timeout", "60s", "to answer")):
        parser.add_argument(
            f"--{name}", metavar="TIME", default=default, help=f"longest time {what}; default {default}"
        )
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")


def run_doctor(options: argparse.Namespace) -> int:
    """Examine the target and print what was found; the exit code. Raises UsageError."""
    from loadband.load.exchange import Timeouts  # noqa: PLC0415  gevent
    from loadband.load.probe import Target  # noqa: PLC0415
    from loadband.tuning.doctor.check import rows_of  # noqa: PLC0415
    from loadband.tuning.doctor.examination import examine  # noqa: PLC0415

    if options.path is not None and not re.fullmatch(r"/[!-~]*", options.path):
        raise UsageError(f"'{options.path}' is no path: write it as /v1/chat/completions")
    target = Target(
        host=options.url,
        model=options.model or None,
        key=_key(options.api_key_env),
        key_variable=options.api_key_env,
        temperature=0.7,
        ignore_eos=options.ignore_eos,
        timeouts=Timeouts(
            connect_s=_positive_s(options.connect_timeout), first_token_s=_positive_s(options.first_token_timeout)
        ),
        run_id=uuid.uuid4().hex[:12],
        api=options.api,
        path=options.path,
        stream=options.stream,
    )
    examination = examine(target, _needs(options))
    if options.json:
        told = {
            "target": examination.target, "checks": rows_of(examination.checks),
            "exit_code": int(examination.exit_code),
        }  # fmt: skip
        print(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        from loadband.tuning.doctor.table import print_table  # noqa: PLC0415

        print_table(examination)
    return int(examination.exit_code)


def _needs(options: argparse.Namespace) -> Any:
    from loadband.load.distribution import parse_distribution, parse_token_count  # noqa: PLC0415
    from loadband.tuning.doctor.needs import Needs  # noqa: PLC0415

    for name in ("users", "processes", "accelerators"):
        if (value := getattr(options, name)) is not None and value < 1:
            raise UsageError(f"--{name} {value}: write at least 1")
    users = max(plan.parse_levels(options.steps)) if options.steps else options.users
    return Needs(
        users=users,
        processes=options.processes,
        think=parse_distribution(options.think_time),
        prompt=parse_token_count(options.prompt_tokens),
        answer=parse_token_count(options.max_tokens),
        accelerators=options.accelerators,
    )


def _positive_s(text: str) -> float:
    seconds = plan.parse_duration(text)
    if seconds <= 0:
        raise UsageError(f"'{text}': a time-out lies above 0 s")
    return seconds


def _key(variable: str) -> str | None:
    """The key. Raises UsageError, without it, for one that no header can hold."""
    key = os.environ.get(variable)
    if key and not (key.isascii() and key.isprintable() and key == key.strip()):
        raise UsageError(
            f"{variable} holds a space, a line break or an odd character at its ends or within: set it anew"
        )
    return key or None
