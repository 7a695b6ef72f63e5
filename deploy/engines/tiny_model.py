"""A small language model made on the spot: a trained tokenizer, random weights, one GGUF file.

Knows: byte-level BPE, the GGUF layout of a Llama, how to put a file in place at once. Must not know: servers.

The model speaks gibberish, but everything around it is real: a chat template, a vocabulary that covers any text byte by
byte, attention over a cache that grows with the prompt. So an engine that serves it batches, queues and caches as it
would with a model worth money.
"""

import contextlib
import fcntl
import json
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

END_OF_TEXT, TURN_START, TURN_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
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
    """Width and depth of a model."""

    width: int
    layers: int


SIZES = {"tiny": Size(width=256, layers=2), "mid": Size(width=512, layers=6)}
"""`tiny` sends as fast as the server can; with `mid` the arithmetic counts, so few users fill it and the rest wait."""

FORMAT = 1
"""Part of the file name: raised when the same size would become another file."""


def model_file(folder: Path, size: str) -> Path:
    """The GGUF file of that size in `folder`, made now unless it is there; safe with many processes at once."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer, model = folder / f"tokenizer-{FORMAT}.json", folder / f"{size}-{FORMAT}.gguf"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not tokenizer.exists():
            with _in_place(tokenizer) as unfinished:
                train_tokenizer().save(str(unfinished))
        if not model.exists():
            with _in_place(model) as unfinished:
                write_gguf(unfinished, json.loads(tokenizer.read_text(encoding="utf-8")), SIZES[size])
    return model


@contextlib.contextmanager
def _in_place(target: Path) -> Iterator[Path]:
    """A file beside `target` that takes its name only when it is whole."""
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        unfinished = Path(folder) / target.name
        yield unfinished
        unfinished.replace(target)


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
        special_tokens=[END_OF_TEXT, TURN_START, TURN_END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts(), trainer=trainer)
    return tokenizer


def write_gguf(path: Path, tokenizer: dict[str, Any], size: Size) -> None:
    """Write a Llama of random weights, always the same ones, with the tokenizer and chat template inside."""
    heads = size.width // HEAD_WIDTH
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("random")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_context_length(1 << 17)
    writer.add_embedding_length(size.width)
    writer.add_block_count(size.layers)
    writer.add_feed_forward_length(2 * size.width)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads // 2)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(HEAD_WIDTH)
    vocabulary = _add_vocabulary(writer, tokenizer)
    _add_weights(writer, size, vocabulary)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_vocabulary(writer: Any, tokenizer: dict[str, Any]) -> int:
    """Add tokens, merges and the chat template; the number of tokens."""
    special = {entry["content"]: entry["id"] for entry in tokenizer["added_tokens"]}
    ids: dict[str, int] = {**tokenizer["model"]["vocab"], **special}
    names = sorted(ids, key=ids.__getitem__)
    kinds = [gguf.TokenType.CONTROL if name in special else gguf.TokenType.NORMAL for name in names]
    merges = tokenizer["model"]["merges"]
    writer.add_vocab_size(len(names))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(names)
    writer.add_token_types(kinds)
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in merges])
    writer.add_bos_token_id(special[END_OF_TEXT])
    writer.add_eos_token_id(special[TURN_END])
    writer.add_pad_token_id(special[END_OF_TEXT])
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)
    return len(names)


def _add_weights(writer: Any, size: Size, vocabulary: int) -> None:
    generator = np.random.default_rng(20)
    width, inner, shared = size.width, 2 * size.width, size.width // HEAD_WIDTH // 2 * HEAD_WIDTH
    matrices = {
        "attn_q": (width, width),
        "attn_k": (shared, width),
        "attn_v": (shared, width),
        "attn_output": (width, width),
        "ffn_gate": (inner, width),
        "ffn_up": (inner, width),
        "ffn_down": (width, inner),
    }

    def add(name: str, shape: tuple[int, int]) -> None:
        writer.add_tensor(f"{name}.weight", (generator.standard_normal(shape, np.float32) * 0.05).astype(np.float16))

    def add_norm(name: str) -> None:
        writer.add_tensor(f"{name}.weight", np.ones(width, np.float32))

    add("token_embd", (vocabulary, width))
    for layer in range(size.layers):
        add_norm(f"blk.{layer}.attn_norm")
        add_norm(f"blk.{layer}.ffn_norm")
        for name, shape in matrices.items():
            add(f"blk.{layer}.{name}", shape)
    add_norm("output_norm")
    add("output", (vocabulary, width))


def default_folder() -> Path:
    """Where models are kept: `.engine/` of the checkout."""
    return Path(__file__).resolve().parents[2] / ".engine"
