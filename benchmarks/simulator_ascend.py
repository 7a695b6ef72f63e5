"""The Ascend profile against the published table: `python -m benchmarks.simulator_ascend [--fit]`.

522 tokens in, 128 out, no pauses. `--fit` searches the two free constants of the step time (base, per sequence) for the
smallest largest residual over the rows where the table is consistent; without it the profile is simulated as it is.

Knows: the published rows. Must not know: anything of the analysis.
"""

import argparse
import dataclasses
import itertools

from loadband.sim.profile import Profile, load
from loadband.sim.virtual import Load, closed_loop

NAME = "ascend-950pr-qwen3.5-4b"
PROMPT, ANSWER = 522, 128
ROWS = [
    (16, 32, 2440, False), (32, 32, 2916, False), (64, 32, 4093, True), (128, 32, 4218, True), (256, 32, 4266, True),
    (256, 64, 5618, True), (256, 128, 6079, True),
]  # fmt: skip
"""Clients, active sequences, total tokens per second, whether the row enters the fit."""


def simulated(profile: Profile, clients: int, active: int) -> float:
    """Total tokens per second."""
    scheduler = dataclasses.replace(profile.scheduler, max_num_seqs=active)
    asked = Load((PROMPT, PROMPT), (ANSWER, ANSWER), ignore_eos=True)
    seen = closed_loop(dataclasses.replace(profile, scheduler=scheduler), clients, asked, measured_s=600.0)
    return seen.output_tok_s + seen.prompt_tok_s


def estimated(profile: Profile, base_ms: float, sequence_ms: float, active: int) -> float:
    """The same from the mean step: each sequence computes prompt / answer prompt tokens a step."""
    step = profile.step
    each = sequence_ms + step.prefill_token_ms * PROMPT / ANSWER + step.context_token_ms * (PROMPT + ANSWER / 2)
    return active * (PROMPT + ANSWER) / (ANSWER * (base_ms + each * active) / 1e3)


def fit(profile: Profile, rounds: int = 3) -> tuple[float, float]:
    """Base and milliseconds per sequence.

    The mean step is only an estimate (requests of equal length march in step): each round corrects it by what the
    engine made of the constants found so far.
    """
    corrections = dict.fromkeys(ROWS, 1.0)
    found = (profile.step.base_ms, profile.step.sequence_ms)

    def largest(constants: tuple[float, float]) -> float:
        used = [row for row in ROWS if row[3]]
        return max(abs(corrections[row] * estimated(profile, *constants, row[1]) / row[2] - 1) for row in used)

    grid = list(itertools.product([12 + 0.1 * n for n in range(100)], [0.4 + 0.005 * n for n in range(60)]))
    for _ in range(rounds):
        found = min(grid, key=largest)
        step = dataclasses.replace(profile.step, base_ms=found[0], sequence_ms=found[1])
        tried = dataclasses.replace(profile, step=step)
        corrections = {row: simulated(tried, row[0], row[1]) / estimated(tried, *found, row[1]) for row in ROWS}
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="published, simulated, residual")
    parser.add_argument("--fit", action="store_true")
    profile = load(NAME)
    if parser.parse_args().fit:
        print("base_ms {:.1f}, sequence_ms {:.3f}".format(*fit(profile)))
    print("clients  active  published  simulated  residual")
    for clients, active, told, used in ROWS:
        seen = simulated(profile, clients, active)
        note = "" if used else "  (not fitted)"
        print(f"{clients:>7} {active:>7} {told:>10} {seen:>10.0f} {seen / told - 1:>+9.1%}{note}")


if __name__ == "__main__":
    main()
