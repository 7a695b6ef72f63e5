"""Options that say what prompts are made of, beside how long they are.

Knows: names, defaults, help texts. Must not know: what the parts do with them.
"""

import argparse
import re
from typing import Any

from loadband.errors import UsageError
from loadband.load.declaring import add, checked
from loadband.load.scenario_options import PARSERS, parse_extra_body, parse_setting

MOST_SHARED = 1_000_000

PRESETS: dict[str, dict[str, Any]] = {
    "article": {
        "prompt_tokens": "50-200", "max_tokens": "512", "think_time": "0.5-2", "temperature": 0.7, "ignore_eos": False,
    },
}  # fmt: skip
"""Preset -> option -> its default."""


TAKEN_HEADERS = frozenset({
    "host", "user-agent", "accept", "accept-encoding", "content-type", "content-length", "authorization", "connection",
    "transfer-encoding",
})  # fmt: skip


class UsePreset(argparse.Action):
    """Puts a preset's values where an option was not given before; what is given behind it overrides them by itself."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, _option: str | None = None
    ) -> None:
        """Set them."""
        setattr(namespace, self.dest, values)
        for name, value in PRESETS[values].items():
            if getattr(namespace, name) is parser.get_default(name):
                setattr(namespace, name, value)


def parse_shared_prefix(text: str) -> int:
    """Tokens, from 0. Raises UsageError."""
    if not re.fullmatch(r"[0-9]{1,7}", text) or int(text) > MOST_SHARED:
        raise UsageError(f"'{text}' is no number of tokens: write for example 1000, or 0 for no shared prefix")
    return int(text)


def parse_adapters(text: str) -> list[str]:
    """Names of `a,b,c`. Raises UsageError."""
    names = [part.strip() for part in text.split(",")]
    if not all(names) or len(set(names)) < len(names):
        raise UsageError(f"'{text[:60]}': write the adapters' names once each, joined by commas: a,b,c")
    return names


def parse_header(text: str) -> str:
    """A header's name. Raises UsageError."""
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}", text):
        raise UsageError(f"'{text[:60]}' is no name of a header: write for example X-Session-ID")
    if text.lower() in TAKEN_HEADERS:
        raise UsageError(f"the header {text} is sent anyway, with another meaning: choose another for the session")
    return text


def add_prompt_options(group: Any) -> None:
    """Add them."""
    add(
        group, "tokenizer", metavar="NAME",
        help="the model's tokenizer, so that prompts have exactly the asked number of tokens, and answers that the "
        "server does not count are counted after the run: a folder, a tokenizer.json, or a hub name. Without it the "
        "server is asked (/tokenize, else by what it counts), and events stand for tokens that nobody counted",
    )  # fmt: skip
    add(
        group, "nonce", choices=["run", "fixed"], default="run",
        help="what every prompt begins with, so that no prefix cache helps: run: new words in each run and pass; "
        "fixed: the same bytes again with the same seed. Default run",
    )  # fmt: skip
    add(
        group, "shared-prefix", metavar="N", default="0", type=checked(parse_shared_prefix),
        help="let every prompt begin with the same N tokens, before its own and beside --prompt-tokens, as with a "
        "common system prompt. Default 0",
    )  # fmt: skip
    add(
        group, "set", metavar="SCENARIO.KEY=VALUE", action="append", type=checked(parse_setting),
        help="what one scenario asks for otherwise than all, as often as needed: long_context.max_tokens=64, "
        'interactive.extra_body={"priority":1}; keys: ' + " ".join(PARSERS),
    )  # fmt: skip
    add(
        group, "extra-body", metavar="JSON", default="{}", type=checked(parse_extra_body),
        help='fields that are merged into every request: {"top_k":20}',
    )  # fmt: skip
    add(
        group, "adapters", metavar="NAMES", type=checked(parse_adapters),
        help="LoRA adapters that conversations are spread over, each in turn, by the server's names for them: a,b,c",
    )  # fmt: skip
    add(
        group, "session-header", metavar="NAME", type=checked(parse_header),
        help="send a header with a name of its own for each conversation, so that a router can keep it on one server: "
        "X-Session-ID",
    )  # fmt: skip
    add(
        group, "reset-cache", action="store_true", default=False,
        help="empty the server's prefix cache before the first level and between passes: /reset_prefix_cache (vLLM "
        "started with VLLM_SERVER_DEV_MODE=1) or /flush_cache (SGLang). Default off",
    )  # fmt: skip
    add(
        group, "preset", choices=sorted(PRESETS), action=UsePreset,
        help="a well-known load in place of the defaults; what is given besides still holds. article: prompts of "
        "50-200 tokens, answers that end by themselves after at most 512, pauses of 0.5-2 s, temperature 0.7",
    )  # fmt: skip
