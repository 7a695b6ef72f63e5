"""The small model as one GGUF file, as llama.cpp reads it: random weights, tokenizer and chat template inside.

Knows: the GGUF layout of a Llama. Must not know: servers, nor how the tokenizer is trained.
"""

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from tiny_model import (
    CHAT_TEMPLATE,
    END_OF_TEXT,
    FORMAT,
    HEAD_WIDTH,
    LONGEST,
    NORM_EPSILON,
    ROPE_BASE,
    SIZES,
    TURN_END,
    Size,
    make_once,
    tokenizer_file,
)


def model_file(folder: Path, size: str) -> Path:
    """The GGUF file of that size in `folder`, made now unless it is there; safe with many processes at once."""
    tokenizer = tokenizer_file(folder)
    return make_once(
        folder / f"{size}-{FORMAT}.gguf",
        lambda path: write_gguf(path, json.loads(tokenizer.read_text(encoding="utf-8")), SIZES[size]),
    )


def write_gguf(path: Path, tokenizer: dict[str, Any], size: Size) -> None:
    """Write a Llama of random weights, always the same ones, with the tokenizer and chat template inside."""
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("random")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_context_length(LONGEST)
    writer.add_embedding_length(size.width)
    writer.add_block_count(size.layers)
    writer.add_feed_forward_length(size.inner)
    writer.add_head_count(size.heads)
    writer.add_head_count_kv(size.shared_heads)
    writer.add_layer_norm_rms_eps(NORM_EPSILON)
    writer.add_rope_freq_base(ROPE_BASE)
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
    width, inner, shared = size.width, size.inner, size.shared_heads * HEAD_WIDTH
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
