"""What a profile's right answer is: `python -m benchmarks.simulator_truth a100-qwen2.5-32b-q4`.

An hour of virtual time for each number of users, no pauses, the engine's own answer lengths. Throughput and mean
response time come straight from the engine; nothing of the analysis is used. Operating point: the largest
P = X^2 / R (Kleinrock's power, weight 2 on throughput); band: P of at least 90 % of that. Failure point: the fewest
users at which the engine dies within the hour.

Knows: how to ask the virtual engine. Must not know: how a verdict is found.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from loadband.sim.profile import load, shipped
from loadband.sim.virtual import Load, Outcome, closed_loop

USERS = "1,4,8,12,16,20,22,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,44,48,52,56,57,58,59,60,61,64"


def outcome(name: str, seconds: float, seed: int, users: int) -> Outcome:
    """One level."""
    return closed_loop(load(name), users, Load(), settle_s=60.0, measured_s=seconds, seed=seed)


def shown(each: Outcome) -> str:
    """A row of the table."""
    died = f"died after {each.died_at_s:.0f} s" if each.died_at_s is not None else ""
    if each.e2e_mean_s is None or each.ttft_mean_s is None:
        return f"{each.asked:>5g}  {died}"
    return (
        f"{each.asked:>5g} {each.output_tok_s:>9.1f} {each.req_s:>7.2f} {each.ttft_mean_s * 1e3:>8.1f} "
        f"{each.e2e_mean_s:>8.4f} {each.power / 1e3:>9.1f}  {died}"
    )


def main() -> None:
    """Print the table and the truth."""
    parser = argparse.ArgumentParser(description="a profile's true operating point, band and failure point")
    parser.add_argument("profile", choices=shipped())
    parser.add_argument("--users", default=USERS)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    users = [int(word) for word in options.users.split(",")]
    print("users  output/s   req/s  TTFT ms  E2E s    P/1000")
    with ProcessPoolExecutor(options.processes) as pool:
        rows = list(pool.map(partial(outcome, options.profile, options.seconds, options.seed), users))
    for row in rows:
        print(shown(row))
    alive = [each for each in rows if each.died_at_s is None]
    best = max(alive, key=lambda each: each.power)
    band = [each.asked for each in alive if each.power >= 0.9 * best.power]
    dead = [each.asked for each in rows if each.died_at_s is not None]
    print(f"operating point {best.asked:g}, band {min(band):g}-{max(band):g}", end="; ")
    print(f"dies from {min(dead):g} users" if dead else f"does not die up to {max(users)} users")


if __name__ == "__main__":
    main()
