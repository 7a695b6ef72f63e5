"""Guards of a plan: their grammar, when one fires, where its values come from."""

from typing import Any

import pytest

from loadband.errors import UsageError
from loadband.load.guard_post import GuardPost, pages_of
from loadband.load.guards import BLIND_AFTER_S, Fired, Watch, parse_guards
from loadband.load.ladder import Ladder
from loadband.load.newest import FEWEST, WINDOW_S, Newest
from loadband.load.server_page import values_of
from loadband.load.step import EndedBy
from loadband.plan import Plan, parse_hold
from loadband.record import FailureClass, Status
from loadband.slo import parse_slo
from tests.load.climbing import Run
from tests.load.records import record

SOUND: list[tuple[str, list[tuple[str, float, float]]]] = [
    ("kv_cache>=0.98 for 30s", [("kv_cache", 0.98, 30.0)]),
    ("kv_cache >= 98%  for  30", [("kv_cache", 0.98, 30.0)]),
    ("device_memory>=97%", [("device_memory", 0.97, 0.0)]),
    ("error_rate>=20% for 10s, ttft_p99>=5s", [("error_rate", 0.2, 10.0), ("ttft", 5.0, 0.0)]),
    ("e2e_mean>=900ms for 2m", [("e2e", 0.9, 120.0)]),
]


@pytest.mark.parametrize(("text", "told"), SOUND, ids=[row[0] for row in SOUND])
def test_what_guards_mean(text: str, told: list[tuple[str, float, float]]) -> None:
    assert [(guard.metric, guard.value, guard.seconds) for guard in parse_guards(text)] == told


STRANGE = [
    ("kv_cache", "is not understood"),
    ("kv_cache<=0.5", "fires at or above"),
    ("kv_cache>0.5", "fires at or above"),
    ("kv_cache>=98", "a share above 0: write 0.98 or 98%"),
    ("kv_cache>=0", "a share above 0"),
    ("kv_cache>=0.9s", "a share above 0"),
    ("kv_cache_p95>=0.9", "has no statistic"),
    ("kv_cache>=0.98 for ever", "is not a time"),
    ("kv_cache>=0.98 for", "is not understood"),
    ("queue>=9", "metrics: kv_cache, device_memory, error_rate, ttft"),
    ("ttft_p95>=5", "needs a unit"),
    ("ttft_p95>=0s", "would fire at once"),
    ("ttft_p95>=5s@8", "leave out @8"),
    ("interactive.ttft_p95>=5s", "is not understood"),
    ("output_tok_s>=5", "is not understood"),
    ("error_rate>=2", "below 1"),
    ("kv_cache>=0.98 for 30s,", "is not understood"),
]


@pytest.mark.parametrize(("text", "sentence"), STRANGE, ids=[row[0] for row in STRANGE])
def test_what_no_guard_can_be(text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_guards(text)
    assert sentence in str(refused.value)
    assert str(refused.value).startswith("guard ") or "is not a time" in str(refused.value)


def fired_at(text: str, values: list[float | None]) -> tuple[int, float] | None:
    """Second at which a guard fires over values of each second from 0 on, and since when it was beyond."""
    watch = Watch(parse_guards(text))
    for second, value in enumerate(values):
        if fired := watch.look(float(second), {text: value}):
            assert isinstance(fired, Fired)
            return second, fired.since
    return None


FIRES: list[tuple[str, list[float | None], tuple[int, float] | None, str]] = [
    ("kv_cache>=0.98", [0.5, 0.98], (1, 1.0), "at its limit, seen once"),
    ("kv_cache>=0.98 for 3s", [0.99] * 3, None, "not before its time"),
    ("kv_cache>=0.98 for 3s", [0.9, *[0.99] * 4], (4, 1.0), "after it"),
    ("kv_cache>=0.98 for 3s", [0.99, 0.99, 0.97, 0.99, 0.99, 0.99, 0.99], (6, 3.0), "a value below begins it anew"),
    ("kv_cache>=0.98 for 3s", [0.99, None, None, 0.99], (3, 0.0), "a page that is late ends nothing"),
    ("kv_cache>=0.98 for 3s", [0.99, 0.99, 0.99, *[None] * 5], None, "and fires nothing"),
    ("kv_cache>=0.98 for 3s", [0.99, *[None] * int(BLIND_AFTER_S), 0.99], None, "blind for long: nobody knows"),
]


@pytest.mark.parametrize(("text", "values", "fires", "sentence"), FIRES, ids=[row[3] for row in FIRES])
def test_when_a_guard_fires(
    text: str, values: list[float | None], fires: tuple[int, float] | None, sentence: str
) -> None:
    assert fired_at(text, values) == fires, sentence


def test_the_first_guard_that_fires_is_told_with_its_value_and_the_blind_ones_too() -> None:
    text = "kv_cache>=0.98 for 2s,error_rate>=50%,device_memory>=97%"
    watch = Watch(parse_guards(text))
    for second, kv in enumerate([0.4, 0.99, 1.0, 0.985, 0.2]):
        watch.look(100.0 + second, {"kv_cache>=0.98 for 2s": kv, "error_rate>=50%": 0.1, "device_memory>=97%": None})
    assert watch.fired is not None
    assert watch.fired.sentence() == "the guard kv_cache>=0.98 for 2s fired: 0.985, beyond it for 2 s"
    assert [tuple(row.values()) for row in watch.rows()] == [
        ("kv_cache>=0.98 for 2s", 1.0, 103.0, 0.985, 101.0),
        ("error_rate>=50%", 0.1, None, None, None),
        ("device_memory>=97%", None, None, None, None),
    ]


PAGES: list[tuple[str, dict[str, float], str]] = [
    ('vllm:gpu_cache_usage_perc{model_name="m"} 0.40\n', {"kv_cache": 0.4}, "vLLM before 0.10"),
    (
        'vllm:kv_cache_usage_perc{engine="0",pid="1"} 0.0\nvllm:kv_cache_usage_perc{engine="0",pid="2"} 0.653\n',
        {"kv_cache": 0.653}, "the fullest of several, never their mean or sum",
    ),
    ('# TYPE sglang:token_usage gauge\nsglang:token_usage{tp_rank="0"} 4e-1\n', {"kv_cache": 0.4}, "SGLang"),
    ("llamacpp:kv_cache_usage_ratio 0.25\n", {"kv_cache": 0.25}, "llama.cpp of old"),
    (
        'DCGM_FI_DEV_FB_FREE{gpu="0"} 10\nDCGM_FI_DEV_FB_FREE{gpu="1"} 60\n'
        'DCGM_FI_DEV_FB_USED{gpu="0"} 70\nDCGM_FI_DEV_FB_USED{gpu="1"} 20\n',
        {"device_memory": 0.875}, "NVIDIA's exporter",
    ),
    (
        'npu_chip_info_hbm_total_memory{id="0"} 64000 1700000000000\nnpu_chip_info_hbm_used_memory{id="0"} 16000\n',
        {"device_memory": 0.25}, "Ascend's exporter, a time behind the value",
    ),
    ("llamacpp:prompt_tokens_total 17\nprocess_resident_memory_bytes 1e9\n", {}, "no such value"),
    ("vllm:kv_cache_usage_perc NaN\nvllm:kv_cache_usage_perc -1\nvllm:kv_cache_usage_perc x\n", {}, "no value at all"),
]  # fmt: skip


@pytest.mark.parametrize(("page", "told", "sentence"), PAGES, ids=[row[2] for row in PAGES])
def test_what_a_page_tells(page: str, told: dict[str, float], sentence: str) -> None:
    assert values_of(page) == pytest.approx(told), sentence


def test_a_key_goes_to_the_target_alone() -> None:
    urls = ["http://gpu1:8000/metrics", "http://gpu1:9400/metrics"]
    pages = pages_of(urls, "http://gpu1:8000/v1", "secret")
    assert [(page.url, page.key) for page in pages] == [(urls[0], "secret"), (urls[1], None)]
    (own,) = pages_of((), "http://gpu1:8000/v1", "secret")
    assert (own.url, own.key) == (urls[0], "secret")


def ended(at: float, status: str = Status.OK, **fields: Any) -> list[Any]:
    return record(status, started_at=at - 1.0, duration_s=1.0, **fields).values()


def test_figures_are_of_the_newest_requests() -> None:
    (rate,), (p90,) = parse_slo("error_rate>=1%"), parse_slo("ttft_p90>=1s")
    newest = Newest([rate, p90])
    for second in range(FEWEST - 1):
        newest.add(ended(100.0 + second, ttft_s=1.0 + second))
    assert (newest.value(rate, 110.0), newest.value(p90, 110.0)) == (None, None), "too few"
    newest.add(ended(109.0, Status.FAILED, failure_class=FailureClass.RESET))
    assert (newest.value(rate, 110.0), newest.value(p90, 110.0)) == (0.1, 9.0)
    assert newest.value(rate, 110.0 + 10 * WINDOW_S) == 0.1, "where nothing newer ended, the newest stand"
    for second in range(20):
        newest.add(ended(200.0 + second, ttft_s=0.5))
    assert (newest.value(rate, 220.0), newest.value(p90, 220.0)) == (0.0, 0.5)


def test_what_says_nothing_of_the_server_is_no_part_of_a_figure() -> None:
    (rate,) = parse_slo("error_rate>=1%")
    newest = Newest([rate], shedding_fails=False)
    for values in (
        ended(100.0, Status.FAILED, failure_class=FailureClass.CLIENT),
        ended(100.0, Status.FAILED, failure_class=FailureClass.THROTTLED),
        ended(100.0, Status.CUT), ended(100.0, Status.ABANDONED), ended(100.0, flags="bursty;warmup"),
    ):  # fmt: skip
        for _ in range(FEWEST):
            newest.add(values)
    assert newest.value(rate, 101.0) is None


def test_a_guard_post_without_guards_asks_nobody() -> None:
    post = GuardPost(None, pages_of((), "http://127.0.0.1:9", None))
    assert (post.blind(), post.look(1.0), post.rows()) == ([], None, [])


def test_a_guard_that_fires_ends_the_level_the_pass_and_the_run() -> None:
    run = Run(Ladder(Plan((2, 8, 16), parse_hold("10s"), settle_s=0.0, repeats=2, warmup_s=0.0)), guarded_from=1016.0)
    steps = run.until_finished()
    assert [(step.target, step.ended_by) for step in steps] == [(2, EndedBy.HOLD), (8, EndedBy.GUARD)]
    assert steps[1].hold_to == 1016.0
    assert run.actions[-2].users == 0, "drained, as at every end"
