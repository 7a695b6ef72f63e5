"""A continuous-batching engine as a pure state machine: begin a step, end it, and time is what the caller says.

Knows: waiting queue, token budget, sequences, memory pressure. Must not know: clocks, sockets, users, text.

The scheduler is that of vLLM V1 (Kwon et al., "Efficient Memory Management for Large Language Model Serving with
PagedAttention", SOSP 2023; chunked prefill: Agrawal et al., "Sarathi-Serve", OSDI 2024), reduced to counts. In every
step each sequence is owed the tokens that are known but not yet computed: its whole prompt at first, one token later.
Running sequences are served first, oldest first, then waiting ones in the order they came, until the step's token
budget, `max_num_seqs` or the memory ends it. A sequence whose known tokens are all computed gains one token when the
step ends. When memory is full the newest running sequence is preempted: it gives all blocks back, goes to the head of
the queue, and computes prompt and answer so far anew; or, by profile, the engine dies.

The same seed and the same calls give the same steps.
"""

import math
import random
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from loadband.sim.memory import Blocks
from loadband.sim.profile import DIE, Answers, Profile
from loadband.sim.step_time import Stopwatch

WAITING, RUNNING, FINISHED, ABORTED, LOST = "waiting", "running", "finished", "aborted", "lost"


class QueueFullError(Exception):
    """The request is refused: too many wait already."""


class EngineDiedError(Exception):
    """Memory is exhausted; every sequence is lost, and no step follows."""


@dataclass(slots=True, eq=False)
class Sequence:
    """One request inside the engine."""

    number: int
    prompt_tokens: int
    answer_tokens: int
    """How many it will generate, unless something ends it before."""
    finish_reason: str
    """`stop` or `length`: why it will end."""
    state: str = WAITING
    generated: int = 0
    computed: int = 0
    """Tokens whose keys and values stand in memory."""
    scheduled: int = 0
    """Tokens of the current step."""
    blocks: int = 0
    preemptions: int = 0

    @property
    def known(self) -> int:
        """Tokens that must be computed before the next one can be generated."""
        return self.prompt_tokens + self.generated


@dataclass(slots=True)
class Counters:
    """What the engine has done so far."""

    steps: int = 0
    prompt_tokens: int = 0
    """Of the prompts whose first token was generated."""
    computed_tokens: int = 0
    """All tokens put through the model, again after a preemption too."""
    generated_tokens: int = 0
    preemptions: int = 0
    refused: int = 0
    finished: int = 0
    aborted: int = 0


class Engine:
    """One model on one server."""

    def __init__(self, profile: Profile, seed: int = 1) -> None:
        self.profile = profile
        self.memory = Blocks(profile.memory)
        self.stopwatch = Stopwatch(profile.step, seed)
        self.running: list[Sequence] = []
        self.waiting: deque[Sequence] = deque()
        self.counters = Counters()
        self.dead = self.hung = False
        self.ends_at: float | None = None
        """When the current step ends; None between steps."""
        self._batch: list[Sequence] = []
        self._lengths = random.Random(f"{seed} answers")
        self._submitted = 0

    def submit(self, prompt_tokens: int, max_tokens: int, *, ignore_eos: bool = False) -> Sequence:
        """Put a request into the queue. Raises QueueFullError, EngineDiedError."""
        if self.dead:
            raise EngineDiedError
        scheduler = self.profile.scheduler
        most = math.inf if scheduler.max_waiting is None else scheduler.max_num_seqs + scheduler.max_waiting
        if len(self.running) + len(self.waiting) >= most:
            self.counters.refused += 1
            raise QueueFullError
        self._submitted += 1
        own = max_tokens if ignore_eos else self._own_length(self.profile.answers)
        stops = own <= max_tokens and not ignore_eos
        reason = "stop" if stops else "length"
        sequence = Sequence(self._submitted, max(1, prompt_tokens), min(own, max_tokens), reason)
        self.waiting.append(sequence)
        return sequence

    def abort(self, sequence: Sequence) -> None:
        """The user hung up: free what the sequence holds, at once."""
        if sequence.state == WAITING:
            self.waiting.remove(sequence)
        elif sequence.state == RUNNING:
            self.running.remove(sequence)
        else:
            return
        self._free(sequence)
        sequence.state = ABORTED
        self.counters.aborted += 1

    def begin(self, now: float) -> float | None:
        """Begin a step; when it ends, or None when there is nothing to do (or the engine hangs).

        Raises EngineDiedError.
        """
        if self.dead:
            raise EngineDiedError
        if self.ends_at is not None:
            raise RuntimeError("the last step has not ended")
        if self.hung:
            return None
        self._schedule()
        hang_at = self.profile.scheduler.hang_at
        self.hung = hang_at is not None and len(self.running) >= hang_at
        if not self._batch or self.hung:
            return None
        prefill = sum(each.scheduled for each in self._batch if each.scheduled > 1 or each.computed == 0)
        context = sum(each.computed for each in self._batch)
        self.ends_at = now + self.stopwatch.draw_s(prefill, len(self._batch), context)
        return self.ends_at

    def end(self) -> list[Sequence]:
        """End the step; the sequences that gained a token, those with state `finished` their last."""
        if self.ends_at is None:
            raise RuntimeError("no step has begun")
        self.ends_at = None
        counters = self.counters
        counters.steps += 1
        gained = []
        for sequence in self._batch:
            if sequence.state != RUNNING:
                continue
            counters.computed_tokens += sequence.scheduled
            sequence.computed += sequence.scheduled
            if sequence.computed < sequence.known:
                continue
            sequence.generated += 1
            counters.prompt_tokens += sequence.prompt_tokens if sequence.generated == 1 else 0
            counters.generated_tokens += 1
            gained.append(sequence)
            if sequence.generated >= sequence.answer_tokens:
                sequence.state = FINISHED
                counters.finished += 1
                self._free(sequence)
        self._batch = []
        self.running = [each for each in self.running if each.state == RUNNING]
        return gained

    def _schedule(self) -> None:
        """Choose the step's batch, and take the memory that it needs."""
        budget = self.profile.scheduler.max_num_batched_tokens
        batch: list[Sequence] = []
        preempted = False
        place = 0
        while place < len(self.running) and budget > 0:
            sequence = self.running[place]
            tokens = min(sequence.known - sequence.computed, budget)
            while not self._take(sequence, tokens):
                preempted = True
                newest = self.running.pop()
                self._preempt(newest)
                if newest is sequence:
                    break
            if sequence.state != RUNNING:
                break
            sequence.scheduled = tokens
            budget -= tokens
            batch.append(sequence)
            place += 1
        while self.waiting and budget > 0 and not preempted and self._free_slot():
            sequence = self.waiting[0]
            tokens = min(sequence.known - sequence.computed, budget)
            if not self._take(sequence, tokens):
                break
            self.waiting.popleft()
            sequence.state, sequence.scheduled = RUNNING, tokens
            budget -= tokens
            self.running.append(sequence)
            batch.append(sequence)
        self._batch = batch

    def _take(self, sequence: Sequence, tokens: int) -> bool:
        """Memory for so many tokens more; False when full. Raises EngineDiedError where that is the end."""
        blocks = self.memory.resize(sequence.blocks, sequence.computed + tokens)
        if blocks is not None:
            sequence.blocks = blocks
            return True
        if self.profile.memory.when_full == DIE:
            self._die((*self.running, *self.waiting))
        return False

    def _preempt(self, sequence: Sequence) -> None:
        self._free(sequence)
        sequence.state, sequence.computed = WAITING, 0
        sequence.preemptions += 1
        self.counters.preemptions += 1
        self.waiting.appendleft(sequence)

    def _die(self, everyone: Iterable[Sequence]) -> None:
        for sequence in everyone:
            sequence.state = LOST
        self.dead, self._batch = True, []
        raise EngineDiedError

    def _free(self, sequence: Sequence) -> None:
        self.memory.release(sequence.blocks)
        sequence.blocks = 0

    def _free_slot(self) -> bool:
        return len(self.running) < self.profile.scheduler.max_num_seqs

    def _own_length(self, answers: Answers) -> int:
        """Where the model would end by itself: log-normal, rounded, 1 to `most`."""
        spread = math.log1p((answers.sd / answers.mean) ** 2)
        drawn = self._lengths.lognormvariate(math.log(answers.mean) - spread / 2, math.sqrt(spread))
        return max(1, min(answers.most, round(drawn)))
