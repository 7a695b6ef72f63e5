"""The small model as a folder, as Hugging Face's libraries read it: configuration, tokenizer, chat template.

It holds no weights: an engine that takes such a folder can make them up itself (vLLM: `--load-format dummy`).

Knows: names and keys of these files. Must not know: servers, nor how the tokenizer is trained.
"""

import json
import shutil
from pathlib import Path
from typing import Any

from tiny_model import (
    CHAT_TEMPLATE,
    END_OF_TEXT,
    FORMAT,
    HEAD_WIDTH,
    LONGEST,
    NORM_EPSILON,
    ROPE_BASE,
    SIZES,
    SPECIAL,
    TURN_END,
    VOCABULARY,
    Size,
    make_once,
    tokenizer_file,
)


def model_folder(folder: Path, size: str) -> Path:
    """The model's folder of that size in `folder`, made now unless it is there; safe with many processes at once."""
    tokenizer = tokenizer_file(folder)

    def write(path: Path) -> None:
        path.mkdir()
        shutil.copy(tokenizer, path / "tokenizer.json")
        for name, content in (("config", config(SIZES[size])), ("tokenizer_config", tokenizer_config())):
            (path / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

    return make_once(folder / f"{size}-{FORMAT}", write)


def config(size: Size) -> dict[str, Any]:
    """`config.json`: a Llama of the same shape as the GGUF file's."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "bfloat16",
        "hidden_act": "silu",
        "hidden_size": size.width,
        "intermediate_size": size.inner,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "num_key_value_heads": size.shared_heads,
        "head_dim": HEAD_WIDTH,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": LONGEST,
        "rms_norm_eps": NORM_EPSILON,
        "rope_theta": ROPE_BASE,
        "tie_word_embeddings": False,
        "initializer_range": 0.05,
        "bos_token_id": SPECIAL.index(END_OF_TEXT),
        "eos_token_id": SPECIAL.index(TURN_END),
    }


def tokenizer_config() -> dict[str, Any]:
    """`tokenizer_config.json`."""
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": TURN_END,
        "pad_token": END_OF_TEXT,
        "model_max_length": LONGEST,
        "chat_template": CHAT_TEMPLATE,
    }
