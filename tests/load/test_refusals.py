"""What no run can be made of is one sentence, before load."""

from types import SimpleNamespace
from typing import Any

import pytest

from loadband.errors import UsageError
from loadband.load.refusals import refuse_slo_of_others, refuse_strangers, refuse_too_long


def options(**given: Any) -> SimpleNamespace:
    usual: dict[str, Any] = {
        "tags": None, "exclude_tags": None, "reset_stats": False, "enable_rebalancing": False, "resume": False,
        "prompt_tokens": "50-200", "long_context_tokens": "2048-8192", "max_tokens": "64-448",
    }  # fmt: skip
    return SimpleNamespace(**{**usual, **given})


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"tags": ["foo"]}, "--tags"),
        ({"exclude_tags": ["foo"]}, "--exclude-tags"),
        ({"reset_stats": True}, "--reset-stats"),
        ({"enable_rebalancing": True}, "--enable-rebalancing"),
    ],
)
def test_options_of_locust_that_would_falsify_a_run(given: dict[str, Any], named: str) -> None:
    refuse_strangers(options())
    with pytest.raises(UsageError, match=named):
        refuse_strangers(options(**given))


def test_a_limit_for_a_scenario_that_does_not_run() -> None:
    refuse_slo_of_others(None, ["interactive"])
    refuse_slo_of_others("ttft_p95<=1s,interactive.tpot_mean<=50ms", ["interactive"])
    with pytest.raises(UsageError, match=r"long_context.* does not run: choose of interactive, multi_turn"):
        refuse_slo_of_others("long_context.ttft_p95<=9s", ["multi_turn", "interactive"])


FITS: list[tuple[list[str], dict[str, str], int | None, str]] = [
    (["interactive"], {}, None, "a server that does not tell its limit"),
    (["interactive"], {}, 114, "50 + 64 fit just so"),
    (["multi_turn"], {}, 65, "a conversation begins with any question"),
    (["interactive", "long_context"], {}, 2112, "2048 + 64"),
    (["open_loop"], {"prompt_tokens": "lognormal(300,100)", "max_tokens": "1"}, 301, "the mean of a lognormal"),
]


@pytest.mark.parametrize(("scenarios", "given", "limit", "sentence"), FITS, ids=[row[3] for row in FITS])
def test_what_fits_the_context(scenarios: list[str], given: dict[str, str], limit: int | None, sentence: str) -> None:
    refuse_too_long(options(**given), scenarios, {}, limit)
    if limit is not None:
        with pytest.raises(UsageError, match=f"takes {limit - 1} tokens") as refused:
            refuse_too_long(options(**given), scenarios, {}, limit - 1)
        assert "--max-tokens" in str(refused.value), sentence


def test_what_is_set_for_a_scenario_counts() -> None:
    refuse_too_long(options(max_tokens="9999"), ["interactive"], {"interactive": {"max_tokens": "8"}}, 58)
    with pytest.raises(UsageError, match="asks for 10004"):
        refuse_too_long(options(), ["interactive"], {"interactive": {"max_tokens": "9954"}}, 9999)
