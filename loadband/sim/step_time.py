"""How long a step of the engine takes.

Knows: the formula and its randomness. Must not know: sequences, memory, clocks.

    t = (base + prefill x p + sequence x n + context x c) x J + S

p prompt tokens computed in the step, n sequences in it, c tokens of context that they attend to. J is log-normal with
mean 1. Reading the weights is `base`; a decode step of few sequences is bound by it, which is why throughput first
grows in proportion to the number of sequences (Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009).
S is swapping: its mean is swap x w x ln(1 + exp((n - from) / w)), a ramp that sets in near `from` over `w` sequences;
one step in `1 / chance` pays it for all, so that throughput jitters.
"""

import math
import random

from loadband.sim.profile import StepTime


class Stopwatch:
    """Draws step times, in seconds."""

    def __init__(self, step: StepTime, seed: int) -> None:
        self._step = step
        self._random = random.Random(f"{seed} steps")
        self._mu = -step.jitter * step.jitter / 2

    def mean_s(self, prefill_tokens: float, sequences: float, context_tokens: float) -> float:
        """Expectation of a step, swapping included."""
        step = self._step
        work = step.base_ms + step.prefill_token_ms * prefill_tokens + step.sequence_ms * sequences
        return (work + step.context_token_ms * context_tokens + self._swap_ms(sequences)) / 1e3

    def draw_s(self, prefill_tokens: int, sequences: int, context_tokens: int) -> float:
        """One step."""
        step = self._step
        work = step.base_ms + step.prefill_token_ms * prefill_tokens + step.sequence_ms * sequences
        work += step.context_token_ms * context_tokens
        if step.jitter:
            work *= self._random.lognormvariate(self._mu, step.jitter)
        if step.swap_ms and (step.swap_chance >= 1 or self._random.random() < step.swap_chance):
            work += self._swap_ms(sequences) / step.swap_chance
        return work / 1e3

    def _swap_ms(self, sequences: float) -> float:
        step = self._step
        if not step.swap_ms:
            return 0.0
        over = (sequences - step.swap_from) / step.swap_width
        return step.swap_ms * step.swap_width * (over if over > 30 else math.log1p(math.exp(over)))
