"""A small language model made on the spot: its sizes, its trained tokenizer, its chat template.

Knows: byte-level BPE, how to put a file in place at once. Must not know: servers, nor how an engine wants its model
(`tiny_gguf` and `tiny_folder` do).

The model speaks gibberish, but everything around it is real: a chat template, a vocabulary that covers any text byte by
byte, attention over a cache that grows with the prompt. So an engine that serves it batches, queues and caches as it
would with a model worth money.
"""

import fcntl
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

END_OF_TEXT, TURN_START, TURN_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
SPECIAL = (END_OF_TEXT, TURN_START, TURN_END)
"""The first tokens of the vocabulary, in this order."""
VOCABULARY = 8192
TRAINING_CHARS = 6_000_000
HEAD_WIDTH = 64

CHAT_TEMPLATE = (
    "{%- for message in messages -%}"
    "{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n' }}{%- endif -%}"
)

# How Qwen2 cuts text into words; llama.cpp has the same rule built in under the name `qwen2`.
WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@dataclass(frozen=True, slots=True)
class Size:
    """Width and depth of a Llama."""

    width: int
    layers: int

    @property
    def heads(self) -> int:
        """Heads of attention."""
        return self.width // HEAD_WIDTH

    @property
    def shared_heads(self) -> int:
        """Heads of keys and values: each serves two of attention."""
        return self.heads // 2

    @property
    def inner(self) -> int:
        """Width inside the feed-forward part."""
        return 2 * self.width


SIZES = {"tiny": Size(width=256, layers=2), "mid": Size(width=512, layers=6)}
"""`tiny` sends as fast as the server can; with `mid` the arithmetic counts, so few users fill it and the rest wait."""
NORM_EPSILON, ROPE_BASE, LONGEST = 1e-6, 10000.0, 1 << 17

FORMAT = 1
"""Part of the file name: raised when the same size would become another file."""


def tokenizer_file(folder: Path) -> Path:
    """The tokenizer in `folder`, trained now unless it is there; safe with many processes at once."""
    return make_once(folder / f"tokenizer-{FORMAT}.json", lambda path: train_tokenizer().save(str(path)))


def make_once(target: Path, make: Callable[[Path], object]) -> Path:
    """`target`, made now unless it is there: under another name first, so that nobody ever sees half of it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            with tempfile.TemporaryDirectory(dir=target.parent) as beside:
                unfinished = Path(beside) / target.name
                make(unfinished)
                unfinished.replace(target)
    return target


def texts() -> Iterator[str]:
    """Text that every machine with Python has: its library's sources, then a few scripts of the world."""
    left = TRAINING_CHARS
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")):
        if "site-packages" in path.parts:
            continue
        text = path.read_text(encoding="utf-8", errors="ignore")
        yield text
        left -= len(text)
        if left < 0:
            break
    for first in (0x4E00, 0x3040, 0xAC00, 0x0400, 0x0370, 0x0600):
        yield " ".join(chr(code) for code in islice(range(first, first + 512), 512))


def train_tokenizer() -> Any:
    """A byte-level BPE tokenizer; the byte alphabet makes every text encodable, whatever it was trained on."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORDS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts(), trainer=trainer)
    return tokenizer


def default_folder() -> Path:
    """Where models are kept: `.engine/` of the checkout."""
    return Path(__file__).resolve().parents[2] / ".engine"
