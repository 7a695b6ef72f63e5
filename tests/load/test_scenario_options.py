"""What one scenario asks for otherwise than all; words that mean nothing are refused in one line."""

import argparse

import pytest

from loadband.errors import UsageError
from loadband.load.prompt_options import PRESETS, UsePreset, parse_adapters, parse_header
from loadband.load.scenario_options import parse_extra_body, parse_setting, settings_of
from loadband.load.session import Session
from tests.load.records import session_of

BAD = [
    ("long_context", "write SCENARIO.KEY=VALUE"),
    ("long_context.max_tokens", "write SCENARIO.KEY=VALUE"),
    ("long_context.maxtokens=3", "'maxtokens' cannot be set"),
    ("long_context.max_tokens=none", "'none' is not understood"),
    ("interactive.extra_body={", "is no JSON"),
    ("interactive.extra_body=[1]", "is no JSON object"),
    ('interactive.extra_body={"stream":false}', "stream is decided by the load itself"),
    ("interactive.kinds=chat,poem", "'poem' is no kind of prompt"),
    ("interactive.temperature=hot", "'hot' is no temperature"),
]


@pytest.mark.parametrize(("text", "sentence"), BAD, ids=[row[0] for row in BAD])
def test_a_setting_that_is_wrong_is_one_line(text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_setting(text)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def session_with(*settings: str, extra_body: str = "{}", adapters: tuple[str, ...] = ()) -> Session:
    work = session_of().work
    fields = {name: getattr(work, name) for name in work.__slots__}
    fields |= {"settings": settings_of(settings), "extra_body": extra_body, "adapters": list(adapters)}
    return Session(type(work)(**fields), "w0", 0, 0.0)


def test_a_scenario_asks_what_was_set_for_it_and_the_others_as_before() -> None:
    session = session_with(
        "long_context.max_tokens=64", "long_context.prompt_tokens=9000", "long_context.max_tokens=32",
        'interactive.extra_body={"priority":1}', "interactive.kinds=zh", "interactive.temperature=0",
        extra_body='{"top_k":5,"priority":9}',
    )  # fmt: skip
    long, short, talk = (session.options(name) for name in ("long_context", "interactive", "multi_turn"))
    assert (long.max_tokens.low, long.max_tokens.high, long.prompt_tokens.low) == (32, 32, 9000)
    assert (short.max_tokens.low, short.max_tokens.high, short.kinds) == (64, 448, ("zh",))
    assert (short.extra_body, talk.extra_body) == ({"top_k": 5, "priority": 1}, {"top_k": 5, "priority": 9})
    assert (short.temperature, talk.temperature) == (0.0, 0.7)
    assert session.sampling("interactive", None).extra_body == {"top_k": 5, "priority": 1}


def test_adapters_take_turns_whatever_the_number_of_workers() -> None:
    session = session_with(adapters=("a", "b", "c"))
    taken = [session.adapter(user, conversation) for user in range(6) for conversation in range(1, 7)]
    assert {name: taken.count(name) for name in "abc"} == {"a": 12, "b": 12, "c": 12}
    assert session.sampling("interactive", "b").model == "b"
    assert session_of().adapter(1, 1) is None
    assert session_of().sampling("interactive", None).model == "m"


@pytest.mark.parametrize("text", ["", "a,,b", "a,a"])
def test_adapters_are_named_once_each(text: str) -> None:
    with pytest.raises(UsageError, match="once each"):
        parse_adapters(text)
    assert parse_adapters(" a, b") == ["a", "b"]


@pytest.mark.parametrize("text", ["", "X Session", "a:b", "Authorization", "content-length", "x\r\ny"])
def test_a_session_header_is_a_name_that_is_free(text: str) -> None:
    with pytest.raises(UsageError):
        parse_header(text)
    assert parse_header("X-Session-ID") == "X-Session-ID"


def test_a_preset_sets_what_was_not_given() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--preset", choices=sorted(PRESETS), action=UsePreset)
    for name, default in (("prompt-tokens", "1-2"), ("max-tokens", "64-448"), ("think-time", "9")):
        parser.add_argument(f"--{name}", default=default)
    parser.add_argument("--temperature", type=float, default=0.1)
    parser.add_argument("--ignore-eos", action=argparse.BooleanOptionalAction, default=None)
    alone = parser.parse_args(["--preset", "article"])
    assert {name: getattr(alone, name) for name in PRESETS["article"]} == PRESETS["article"]
    given = b"--max-tokens 64-448 --temperature 0.1 --ignore-eos".decode().split()  # a command line is no constant
    for words in ([*given, "--preset", "article"], ["--preset", "article", *given]):
        asked = parser.parse_args(words)
        assert (asked.max_tokens, asked.temperature, asked.ignore_eos) == ("64-448", 0.1, True)
        assert (asked.prompt_tokens, asked.think_time) == ("50-200", "0.5-2")


def test_fields_of_the_load_itself_are_not_taken() -> None:
    assert parse_extra_body('{"top_k": 20}') == {"top_k": 20}
    with pytest.raises(UsageError, match="messages is decided by the load itself"):
        parse_extra_body('{"messages": []}')
