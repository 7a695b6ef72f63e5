"""Does `reports compare` tell equal runs from unequal ones? Many short virtual runs, against what long ones give.

    python -m benchmarks.compare_truth            # 40 pairs, about two minutes
    python -m benchmarks.compare_truth --pairs 8

Equal pairs: the same server, another seed. Unequal: the same with `max_num_seqs` 8 and 16, whose true factor at the
operating points (8 and 16 users) is taken from half an hour of virtual time.

Knows: virtual runs, the comparison. Must not know: how noise is estimated.
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks.virtual_run import virtual_run
from loadband.analysis.comparison import compare
from loadband.analysis.side import COMPARED, Side, side_of_run
from loadband.analysis.thresholds import Thresholds
from loadband.sim.profile import load
from loadband.sim.virtual import Load, closed_loop

PROFILE, FEW, MORE = "vllm-small", 8, 16
LEVELS, HOLD_S, SETTLE_S = [2, 4, 8, 16, 32], 60.0, 15.0
LONG_S = 1800.0


def truth() -> float:
    """Throughput of 16 users with 16 slots over that of 8 with 8."""
    return _long(MORE) / _long(FEW)


def _long(seqs: int) -> float:
    profile = load(PROFILE)
    profile = replace(profile, scheduler=replace(profile.scheduler, max_num_seqs=seqs))
    return closed_loop(profile, seqs, Load(), measured_s=LONG_S).output_tok_s


def short_run(where: Path, seqs: int, seed: int) -> Side:
    """One run of five levels, a minute each."""
    path = where / f"{seqs}-{seed}"
    virtual_run(PROFILE, path, LEVELS, HOLD_S, settle_s=SETTLE_S, seed=seed, max_num_seqs=seqs)
    return side_of_run(path, path.name, Thresholds())


def score(pairs: int, where: Path) -> dict[str, float]:
    """Shares of pairs: equal ones called equal (throughput, any number, operating point), unequal ones right."""
    actual = truth()
    equal = [short_run(where, FEW, seed) for seed in range(1, pairs + 2)]
    other = [short_run(where, MORE, seed) for seed in range(101, 101 + pairs)]
    told = {"throughput": 0, "every number": 0, "operating point": 0, "factor covered": 0, "told at 16 and 32": 0}
    factors = []
    for place in range(pairs):
        same = compare([equal[place], equal[place + 1]], [], [], None)
        told["throughput"] += not any(each.counts for each in same.effects_of(1, "output_tok_s"))
        for metric in COMPARED:
            name = f"  {metric}"
            told[name] = told.get(name, 0) + (not any(each.counts for each in same.effects_of(1, metric)))
        told["every number"] += not any(each.counts for each in same.effects[0])
        factor = same.chain[1].to_first
        told["operating point"] += factor is not None and factor.counts is False
        unlike = compare([equal[place], other[place]], [], ["max_num_seqs"], None)
        found = unlike.chain[1].to_first
        if found is not None and found.low is not None and found.high is not None:
            factors.append(found.value)
            told["factor covered"] += found.low <= actual <= found.high
        counted = [each.users for each in unlike.effects_of(1, "output_tok_s") if each.counts]
        told["told at 16 and 32"] += counted == [16.0, 32.0]
    return {name: count / pairs for name, count in told.items()} | {
        "true factor": actual, "lowest factor": min(factors), "highest factor": max(factors),
    }  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="equal and unequal pairs of virtual runs, compared")
    parser.add_argument("--pairs", type=int, default=40)
    with tempfile.TemporaryDirectory() as where:
        for name, value in score(parser.parse_args().pairs, Path(where)).items():
            print(f"{name:24} {value:.3f}")


if __name__ == "__main__":
    main()
