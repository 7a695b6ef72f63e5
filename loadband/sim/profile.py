"""What kind of server is simulated: a small TOML file, read and checked.

Knows: the profile format, where the shipped profiles are. Must not know: how the engine uses a value.

The format is described in `docs/simulator.md`; every shipped profile is an example. A key that is unknown, missing,
of a wrong type or out of its range is one line that names the file and the key.
"""

import dataclasses
import math
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).with_name("profiles")

PREEMPT, DIE = "preempt", "die"
LONGEST_STEP_MS = 60_000
"""A step of more than a minute is a slip of the unit."""


class ProfileError(ValueError):
    """A profile that cannot be used; the text is one line."""


@dataclass(frozen=True, slots=True)
class Scheduler:
    """What may run at once."""

    max_num_seqs: int
    """Sequences that run at once; the others wait."""
    max_num_batched_tokens: int
    """Tokens of a step, prompts and answers together; a longer prompt is computed in chunks."""
    max_waiting: int | None = None
    """Requests that may wait; one more is refused. None: no limit."""
    hang_at: int | None = None
    """Sequences running at which the engine stops for good, without a word. None: never."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The KV cache."""

    blocks: int
    block_size: int = 16
    """Tokens of a block."""
    reserve_blocks: int = 0
    """Blocks that every running sequence takes beside those of its tokens."""
    when_full: str = PREEMPT
    """`preempt`: the newest sequence gives its blocks back and is computed anew later. `die`: the engine ends."""


@dataclass(frozen=True, slots=True)
class StepTime:
    """How long one step takes; see `step_time`."""

    base_ms: float
    prefill_token_ms: float = 0.0
    sequence_ms: float = 0.0
    context_token_ms: float = 0.0
    jitter: float = 0.0
    """Standard deviation of ln(step time)."""
    swap_from: float = 0.0
    """Sequences near which swapping sets in."""
    swap_width: float = 1.0
    """Sequences over which it sets in."""
    swap_ms: float = 0.0
    """Mean milliseconds that each sequence beyond adds to a step."""
    swap_chance: float = 1.0
    """Share of the steps that pay for it all: the smaller, the more the throughput jitters."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Length in tokens where the server decides by itself: log-normal."""

    mean: float
    sd: float = 0.0
    most: int = 4096


@dataclass(frozen=True, slots=True)
class Refusal:
    """How a full queue is told."""

    in_band: bool = True
    """For a stream: as an error inside a 200, as vLLM and SGLang do; else 503."""
    message: str = "The engine is currently busy and cannot accept new requests. Please try again later."
    death_message: str = "EngineCore encountered an issue. See stack trace (above) for the root cause."
    """Last words in every open stream when the engine dies."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A kind of server."""

    name: str
    about: str
    """Source, fit and what is not reproduced, for people."""
    model: str
    max_model_len: int
    scheduler: Scheduler
    memory: Memory
    step: StepTime
    answers: Answers
    refusal: Refusal = field(default_factory=Refusal)


PARTS = {"scheduler": Scheduler, "memory": Memory, "step": StepTime, "answers": Answers, "refusal": Refusal}
KINDS: dict[object, tuple[type, ...]] = {
    int: (int,), float: (int, float), str: (str,), bool: (bool,), int | None: (int,),
}  # fmt: skip


def shipped() -> list[str]:
    """Names of the profiles that come with Loadband."""
    return sorted(path.stem for path in HERE.glob("*.toml"))


def load(name: str) -> Profile:
    """A shipped profile by its name, or anybody's by the path of its file. Raises ProfileError."""
    path = Path(name) if name.endswith(".toml") else HERE / f"{name}.toml"
    if not name.endswith(".toml") and name not in shipped():
        raise ProfileError(f"there is no profile {name!r}: choose {', '.join(shipped())}, or name a .toml file")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ProfileError(f"cannot read the profile {name} ({getattr(error, 'strerror', None) or error})") from None
    return parse(text, path.stem)


def parse(text: str, name: str) -> Profile:
    """A profile from the text of its file. Raises ProfileError."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(f"profile {name}: not TOML ({error})") from None
    known = [each.name for each in dataclasses.fields(Profile) if each.name != "name"]  # that is the file's
    for key in data:
        if key not in known:
            raise ProfileError(f"profile {name}: unknown key {key}; known: {', '.join(known)}")
    parts = {}
    for part, kind in PARTS.items():
        values = data.pop(part, {})
        if not isinstance(values, dict):
            raise ProfileError(f"profile {name}: [{part}] must be a table")
        parts[part] = _built(kind, values, name, f"{part}.")
    profile: Profile = _built(Profile, data | {"name": name} | parts, name, "")
    return checked(profile)


def _built(kind: type, values: dict[str, Any], name: str, prefix: str) -> Any:
    fields = {each.name: each for each in dataclasses.fields(kind)}
    for key in values:
        if key not in fields:
            raise ProfileError(f"profile {name}: unknown key {prefix}{key}; known: {', '.join(fields)}")
    for key, each in fields.items():
        missing = each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING
        if missing and key not in values:
            raise ProfileError(f"profile {name}: {prefix}{key} is missing")
        wanted, given = KINDS.get(each.type), values.get(key)
        mistaken = wanted and (not isinstance(given, wanted) or (isinstance(given, bool) and bool not in wanted))
        if key in values and wanted and mistaken:
            raise ProfileError(f"profile {name}: {prefix}{key} must be of type {wanted[-1].__name__}")
        if isinstance(given, float) and not math.isfinite(given):
            raise ProfileError(f"profile {name}: {prefix}{key} must be a finite number")
    return kind(**values)


def checked(profile: Profile) -> Profile:
    """The profile itself, when its values fit together. Raises ProfileError."""
    scheduler, memory, step, answers = profile.scheduler, profile.memory, profile.step, profile.answers
    rules = [
        (profile.max_model_len >= 2, "max_model_len must be at least 2"),
        (scheduler.max_num_seqs >= 1, "scheduler.max_num_seqs must be at least 1"),
        (
            scheduler.max_num_batched_tokens >= scheduler.max_num_seqs,
            "scheduler.max_num_batched_tokens must be at least max_num_seqs, a token for each sequence",
        ),
        (scheduler.max_waiting is None or scheduler.max_waiting >= 0, "scheduler.max_waiting must be at least 0"),
        (scheduler.hang_at is None or scheduler.hang_at >= 1, "scheduler.hang_at must be at least 1"),
        (memory.when_full in (PREEMPT, DIE), f"memory.when_full must be {PREEMPT} or {DIE}"),
        (memory.block_size >= 1 and memory.reserve_blocks >= 0, "memory: block_size from 1, reserve_blocks from 0"),
        (
            memory.blocks >= memory.reserve_blocks + math.ceil(profile.max_model_len / max(1, memory.block_size)),
            "memory.blocks must hold at least one sequence of max_model_len",
        ),
        (0 < step.base_ms <= LONGEST_STEP_MS, f"step.base_ms must be above 0, and at most {LONGEST_STEP_MS}"),
        (step.jitter <= 1, "step.jitter must be at most 1: it is a deviation of the logarithm"),
        (
            min(step.prefill_token_ms, step.sequence_ms, step.context_token_ms, step.jitter, step.swap_ms) >= 0,
            "step: no value may be negative",
        ),
        (step.swap_width > 0 and 0 < step.swap_chance <= 1, "step: swap_width above 0, swap_chance in (0, 1]"),
        (answers.mean >= 1 and answers.sd >= 0 and answers.most >= 1, "answers: mean and most from 1, sd from 0"),
        (answers.sd <= 100 * answers.mean, "answers.sd must be at most 100 times the mean"),
    ]
    for sound, sentence in rules:
        if not sound:
            raise ProfileError(f"profile {profile.name}: {sentence}")
    return profile
