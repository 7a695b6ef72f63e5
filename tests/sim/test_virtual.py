"""Virtual load: what queueing theory says of it, and that real time says the same."""

import asyncio
from statistics import fmean

import pytest

from benchmarks.simulator_real_time import in_real_time
from loadband.sim.profile import load
from loadband.sim.virtual import Load, closed_loop, open_loop
from tests.sim.profiles import small


def test_users_without_pauses_are_requests_in_flight_and_littles_law_holds() -> None:
    seen = closed_loop(load("vllm-small"), 16, Load(), measured_s=300)
    assert seen.e2e_mean_s is not None
    assert seen.in_flight == pytest.approx(16, rel=0.01)
    assert seen.req_s * seen.e2e_mean_s == pytest.approx(seen.in_flight, rel=0.03)


def test_pauses_take_users_out_of_flight() -> None:
    pausing = closed_loop(load("vllm-small"), 16, Load(think_s=(0.5, 2.0)), measured_s=300)
    assert pausing.e2e_mean_s is not None
    assert pausing.req_s * (pausing.e2e_mean_s + 1.25) == pytest.approx(16, rel=0.03)
    assert pausing.in_flight < 12


def test_beyond_the_slots_throughput_stays_and_users_wait() -> None:
    full, over = (closed_loop(load("vllm-small"), users, Load(), measured_s=300) for users in (32, 64))
    assert over.output_tok_s == pytest.approx(full.output_tok_s, rel=0.03)
    assert over.ttft_mean_s is not None
    assert full.ttft_mean_s is not None
    assert over.ttft_mean_s > 10 * full.ttft_mean_s


def test_an_open_loop_serves_what_arrives_until_it_cannot() -> None:
    profile = small(base_ms=10.0, max_num_seqs=4)  # 4 answers of 20 tokens take 0.2 s: 20 requests a second
    asked = Load((5, 5), (20, 20), ignore_eos=True)
    easy, hard = (open_loop(profile, rate, asked, measured_s=300) for rate in (10.0, 40.0))
    assert easy.req_s == pytest.approx(10, rel=0.1)
    assert hard.req_s == pytest.approx(20, rel=0.02)
    assert hard.in_flight > 1000


def test_refused_users_come_back() -> None:
    seen = closed_loop(small(max_num_seqs=2, max_waiting=0), 4, Load((5, 5), (50, 50), ignore_eos=True))
    assert seen.refused > 100
    assert seen.output_tok_s == pytest.approx(200, rel=0.5)


def test_the_same_seed_gives_the_same_hour() -> None:
    first, second, other = (
        closed_loop(load("vllm-small"), 4, Load(), measured_s=60, seed=seed) for seed in (1, 1, 2)
    )  # fmt: skip
    assert first == second
    assert first != other


def test_the_a100_profile_has_the_shape_it_promises() -> None:
    profile = load("a100-qwen2.5-32b-q4")
    seen = {users: closed_loop(profile, users, Load(), measured_s=240) for users in (2, 20, 23, 31, 41, 56, 60)}
    per_user = {users: each.output_tok_s / users for users, each in seen.items()}
    assert per_user[20] > 0.8 * per_user[2], "close to linear up to 20"
    assert max(seen, key=lambda users: seen[users].power) == 31, "best between 28 and 36"
    assert max(seen[users].power for users in (23, 41)) < 0.9 * seen[31].power, "the band is within 20 to 40"
    assert seen[20].req_s == pytest.approx(15, rel=0.1)
    assert seen[56].died_at_s is None
    assert seen[60].died_at_s is not None


@pytest.mark.long
@pytest.mark.timing
@pytest.mark.parametrize("users", [8, 32, 56])
def test_virtual_and_real_time_agree(users: int) -> None:
    virtual = closed_loop(load("a100-qwen2.5-32b-q4"), users, Load(), measured_s=1200)
    seen = asyncio.run(in_real_time("a100-qwen2.5-32b-q4", users, 5.0, 60.0))
    tokens, ttft = seen.tokens / 60.0, fmean(seen.ttfts)
    print(f"\n{users} users: {virtual.output_tok_s:.1f} virtual, {tokens:.1f} real tokens/s; "
          f"TTFT {(virtual.ttft_mean_s or 0) * 1e3:.2f} virtual, {ttft * 1e3:.2f} real ms")  # fmt: skip
    assert tokens == pytest.approx(virtual.output_tok_s, rel=0.05)
    assert ttft == pytest.approx(virtual.ttft_mean_s, rel=0.05)
