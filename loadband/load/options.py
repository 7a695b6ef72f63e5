"""Loadband's command-line options, in groups, added to Locust's own.

Knows: names, defaults, help texts, and that a value stays the checked string a person wrote (Locust sends options to
workers as plain values). Must not know: what the parts do with them.

Options that name a file, a directory, a command or an environment variable are read once from the command line
(`Frozen`) and never again: any page in the user's browser can post new values to Locust's web UI.
"""

import argparse
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadband import plan
from loadband.load import distribution, leaving, trace_columns
from loadband.load.connection import parse_address
from loadband.load.declaring import add as _add
from loadband.load.declaring import checked
from loadband.load.dialects import DIALECTS
from loadband.load.plan_options import add_plan_options, positive_duration
from loadband.load.prompt_options import add_prompt_options
from loadband.load.retries import parse_retries
from loadband.load.scenario_options import parse_temperature

KEY_VARIABLE = "LOADBAND_API_KEY"


FROM_THE_PAGE = frozenset(
    ("model", "prompt_tokens", "max_tokens", "long_context_tokens", "turns", "think_time", "temperature", "seed",
     "connect_timeout", "first_token_timeout", "idle_timeout", "total_timeout")
)  # fmt: skip
"""What a form of Locust's web page may change for its test; all else is what the command line said."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """What is taken from the command line alone."""

    host: str | None
    run_dir: str | None
    api_key_env: str
    report: bool | None
    mix: str | None
    dataset: str | None
    tokenizer: str | None
    reset_cache: bool
    user_classes: tuple[str, ...]
    path: str | None
    server_metrics: tuple[str, ...]

    @classmethod
    def of(cls, options: argparse.Namespace) -> "Frozen":
        """From the options as parsed at start."""
        return cls(
            host=options.host,
            run_dir=options.run_dir,
            api_key_env=options.api_key_env,
            report=options.report,
            mix=options.mix,
            dataset=options.dataset,
            tokenizer=_placed(options.tokenizer),
            reset_cache=options.reset_cache,
            user_classes=tuple(options.user_classes or ()),
            path=options.path,
            server_metrics=tuple(options.server_metrics or ()),
        )


def _placed(tokenizer: str | None) -> str | None:
    """A tokenizer's name as other processes find it, wherever they run."""
    return str(Path(tokenizer).resolve()) if tokenizer and Path(tokenizer).exists() else tokenizer


def _temperature(text: str) -> float:
    return parse_temperature(checked(parse_temperature)(text))


def _path(text: str) -> str:
    if not text.startswith("/") or re.search(r"[\s\x00-\x1f?#]", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no path: write it as /v1/chat/completions")
    return text


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add every option, and bind Locust's ports to this machine unless asked otherwise."""
    add_plan_options(parser.add_argument_group("Loadband: load plan"))
    _add_requests(parser.add_argument_group("Loadband: requests"))
    add_prompt_options(parser.add_argument_group("Loadband: prompts"))
    _add_timeouts(parser.add_argument_group("Loadband: time-outs and retries"))
    _add_results(parser.add_argument_group("Loadband: results"))
    parser.set_defaults(web_host="127.0.0.1", master_bind_host="127.0.0.1")
    for action in parser._actions:
        if action.dest == "master_bind_port":
            action.__class__ = _BindPort


class _BindPort(argparse._StoreAction):
    """`--master-bind-port` also tells forked workers where to connect; alone, they would look elsewhere for ever."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        super().__call__(parser, namespace, values, option)
        namespace.master_port = values


def _add_requests(group: Any) -> None:
    _add(group, "model", metavar="NAME", help="model to ask for. Default: the one the server offers")
    _add(
        group, "api", choices=list(DIALECTS), default="openai-chat",
        help="what the server speaks. Default openai-chat",
    )  # fmt: skip
    _add(
        group, "path", metavar="PATH", type=_path,
        help="where the server has it; {model} is the model's name. Default: its usual place, /v1/chat/completions",
    )  # fmt: skip
    _add(
        group, "stream", action=argparse.BooleanOptionalAction, default=True,
        help="ask for streams; --no-stream asks for answers in one piece, whose first token nobody can time "
        "(openai-chat and openai-completions)",
    )  # fmt: skip
    _add(
        group, "prompt-tokens", metavar="N", default="50-200", type=checked(distribution.parse_token_count),
        help="tokens of a prompt: a number, a range, or lognormal(mean,sd). Default 50-200",
    )  # fmt: skip
    _add(
        group, "max-tokens", metavar="N", default="64-448", type=checked(distribution.parse_token_count),
        help="tokens of an answer, spread so that users do not march in step. Default 64-448",
    )  # fmt: skip
    _add(
        group, "long-context-tokens", metavar="N", default="2048-8192", type=checked(distribution.parse_token_count),
        help="tokens of a prompt of LongContextUser. Default 2048-8192",
    )  # fmt: skip
    _add(
        group, "turns", metavar="N", default="2-6", type=checked(distribution.parse_turns),
        help="turns of a conversation of MultiTurnUser. Default 2-6",
    )  # fmt: skip
    _add(
        group, "mix", metavar="SHARES", type=checked(distribution.parse_shares),
        help="scenarios and their shares of the conversations: interactive=7,long_context=1,multi_turn=2. "
        "Default interactive alone, or the user classes named on the command line alike",
    )  # fmt: skip
    _add(
        group, "dataset", metavar="FILE",
        help="recorded requests to ask again: JSONL of messages and max_tokens, ShareGPT's conversations, or a trace "
        "of lengths and moments (JSONL or CSV). Read on the master alone",
    )  # fmt: skip
    _add(
        group, "columns", metavar="NAMES", type=checked(trace_columns.parse_columns),
        help="names in the data set: mooncake, burstgpt, azure, or at=timestamp:ms,prompt_tokens=input_length. "
        "Default messages, prompt, prompt_tokens, max_tokens, at (seconds)",
    )  # fmt: skip
    _add(
        group, "bad-lines", choices=["refuse", "skip"], default="refuse",
        help="what a line of the data set that is no request does: it ends the start, or is left out. Default refuse",
    )  # fmt: skip
    _add(
        group, "think-time", metavar="S", default="0.5-2", type=checked(distribution.parse_distribution),
        help="pause between an answer and the next request, in seconds. Default 0.5-2",
    )  # fmt: skip
    _add(
        group, "abandon", metavar="SHARE@TIME", type=checked(leaving.parse_abandon),
        help="users who leave: 5%%@2s hangs up on one request in twenty after 2 s. Such requests are abandoned, "
        "neither ok nor failed",
    )  # fmt: skip
    _add(group, "temperature", metavar="T", type=_temperature, default=0.7, help="sampling temperature. Default 0.7")
    _add(
        group, "ignore-eos", action=argparse.BooleanOptionalAction, default=None,
        help="ask for answers of exactly --max-tokens; default: where the server takes it",
    )  # fmt: skip
    _add(group, "seed", metavar="N", type=int, default=1, help="the same seed asks the same prompts. Default 1")
    _add(
        group, "api-key-env", metavar="VARIABLE", default=KEY_VARIABLE,
        help=f"environment variable that holds the server's key. Default {KEY_VARIABLE}",
    )  # fmt: skip


def _add_timeouts(group: Any) -> None:
    for name, default, meaning in (
        ("connect-timeout", "10s", "to connect"),
        ("first-token-timeout", "120s", "from a request's start to its first token"),
        ("idle-timeout", "60s", "of silence after the first token"),
        ("total-timeout", "600s", "for a whole request"),
    ):
        _add(
            group, name, metavar="TIME", default=default, type=checked(positive_duration),
            help=f"longest time {meaning}. Default {default}",
        )  # fmt: skip
    _add(
        group, "retries", metavar="N", default="0", type=checked(parse_retries),
        help="ask a request again, up to N times, that was refused for load (429, 503, 529), met HTTP 408, 500, 502 or "
        "504, or found no connection or a broken one, and of which no token came; after what Retry-After says (over "
        "60 s: not at all), else 0.5 s, 1 s, 2 s ... 8 s. Each attempt is a request of its own in every number. "
        "Default 0",
    )  # fmt: skip


def _add_results(group: Any) -> None:
    _add(
        group, "doctor", action=argparse.BooleanOptionalAction, default=True,
        help="look at server, link and client for a moment before load: what would a run stumble over, what will its "
        "numbers mean? Default on; python -m loadband doctor asks more",
    )  # fmt: skip
    _add(group, "run-dir", metavar="DIR", help="directory for the run's files. Default runs/<time>-<target>")
    _add(
        group, "resume", action="store_true", default=False,
        help="go on with the run in --run-dir that was cut off (a crash, Ctrl-C, SIGTERM), with the same options: "
        "levels that are whole stand, the others are held (again)",
    )  # fmt: skip
    _add(
        group, "label", metavar="KEY=VALUE", action="append", type=checked(plan.parse_label),
        help="a word to keep with the run, and to compare by: --label gpu=a100 --label max_num_seqs=64",
    )  # fmt: skip
    _add(
        group, "server-metrics", metavar="URL", action="append", type=checked(parse_address),
        help="page of metrics that --stop-when reads, of the server or of an exporter of its devices, as often as "
        "needed. Default /metrics of the target",
    )  # fmt: skip
    _add(group, "server-args", metavar="WORDS", help="the server's start flags, to keep with the run")
    _add(
        group, "report", action=argparse.BooleanOptionalAction, default=None,
        help="make the report at the end; default: when headless",
    )  # fmt: skip
