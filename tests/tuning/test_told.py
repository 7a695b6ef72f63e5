"""What engines tell of themselves, read from pages of their own shape; garbage tells nothing."""

import json

from hypothesis import given
from hypothesis import strategies as st

from loadband.tuning.doctor.told import PAGES, Told, told_of


def test_nothing_tells_nothing() -> None:
    assert told_of({}, None) == Told()
    assert told_of({}, "uvicorn") == Told(engine="uvicorn")


def test_vllm_tells_its_cache_and_its_engines() -> None:
    metrics = "# TYPE vllm:cache_config_info gauge\n" + "".join(
        f'vllm:cache_config_info{{a="1",enable_prefix_caching="True",engine="{n}",kv_cache_size_tokens="900"}} 1.0\n'
        for n in (0, 1)
    )
    told = told_of({"/version": '{"version":"0.9"}', "/metrics": metrics}, "uvicorn")
    assert told == Told("vLLM", "0.9", replicas=2, prefix_cache=True, cache_tokens=1800)


def test_an_older_vllm_tells_less() -> None:
    told = told_of({"/metrics": 'vllm:num_requests_running{model_name="m"} 0.0\n'}, None)
    assert told == Told("vLLM")


def test_sglang_tells_its_devices() -> None:
    info = {"version": "0.5", "tp_size": 4, "pp_size": 1, "dp_size": 2, "max_running_requests": 256,
            "disable_radix_cache": False, "max_total_num_tokens": 5000}  # fmt: skip
    assert told_of({"/get_server_info": json.dumps(info)}, None) == Told("SGLang", "0.5", 256, 8, None, True, 5000)


def test_llamacpp_tells_its_slots() -> None:
    props = {"total_slots": 4, "build_info": "b1-abc", "default_generation_settings": {"n_ctx": 2048}}
    assert told_of({"/props": json.dumps(props)}, "llama.cpp") == Told("llama.cpp", "b1-abc", 4)


def test_tgi_tells_its_limits() -> None:
    info = {"version": "3.3", "max_concurrent_requests": 128, "max_total_tokens": 4096}
    assert told_of({"/info": json.dumps(info)}, None) == Told("TGI", "3.3", 128)


NAMES = st.sampled_from(
    ["version", "total_slots", "tp_size", "pp_size", "dp_size", "max_concurrent_requests", "build_info",
     "max_running_requests", "disable_radix_cache", "max_total_num_tokens"]
)  # fmt: skip
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.text(max_size=5), inner, max_size=5),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(PAGES), st.text(max_size=200) | ANYTHING.map(json.dumps)))
def test_no_page_breaks_it(bodies: dict[str, str]) -> None:
    told = told_of(bodies, None)
    for number in (told.slots, told.devices, told.replicas, told.cache_tokens):
        assert number is None or number > 0
