"""The parser refuses a malformed prompt option in one line, with exit code 2."""

from typing import Any

import configargparse  # type: ignore[import-untyped]
import pytest

from loadband.load.options import add_options

MALFORMED = [
    ("--set=long_context", "write SCENARIO.KEY=VALUE"),
    ("--set=interactive.turn=3", "'turn' cannot be set for a scenario"),
    ("--set=interactive.max_tokens=", "'' is not understood"),
    ("--set=interactive.think_time=-1", "'-1' is not understood"),
    ("--set=interactive.temperature=nan", "'nan' is no temperature"),
    ("--set=interactive.kinds=poem", "'poem' is no kind of prompt"),
    ('--set=interactive.extra_body={"model":"m"}', "model is decided by the load itself"),
    ("--extra-body={", "is no JSON"),
    ('--extra-body={"a":NaN}', "NaN is no number there"),
    ("--extra-body=[]", "is no JSON object"),
    ('--extra-body={"messages":[]}', "messages is decided by the load itself"),
    ("--adapters=a,,b", "once each"),
    ("--adapters=a,a", "once each"),
    ("--session-header=X Session", "is no name of a header"),
    ("--session-header=Authorization", "choose another"),
    ("--shared-prefix=-1", "is no number of tokens"),
    ("--shared-prefix=1e3", "is no number of tokens"),
    ("--shared-prefix=1000001", "is no number of tokens"),
    ("--nonce=none", "choose from"),
    ("--preset=blog", "choose from"),
    ("--reset-cache=yes", "ignored explicit argument"),
    ("--temperature=-0.1", "is no temperature"),
]


def parser() -> Any:
    """Our options alone."""
    made = configargparse.ArgumentParser(prog="locust")
    made.add_argument("--web-host")
    add_options(made)
    return made


@pytest.mark.parametrize(("word", "sentence"), MALFORMED, ids=[row[0] for row in MALFORMED])
def test_a_malformed_prompt_option_is_refused(word: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        parser().parse_args([word])
    assert refused.value.code == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"locust: error: argument {word.partition('=')[0]}: ")
    assert sentence in last


def test_sound_values_are_kept_as_they_were_written() -> None:
    words = [
        "--set",
        "long_context.max_tokens=64",
        "--set",
        'interactive.extra_body={"priority":1}',
        "--adapters",
        "a,b",
    ]
    kept = parser().parse_args([*words, "--shared-prefix", "1000", "--session-header", "X-Session-ID"])
    assert kept.set == ["long_context.max_tokens=64", 'interactive.extra_body={"priority":1}']
    assert (kept.adapters, kept.shared_prefix, kept.session_header) == ("a,b", "1000", "X-Session-ID")
    assert (kept.nonce, kept.reset_cache, kept.extra_body) == ("run", False, "{}")
