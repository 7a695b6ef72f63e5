"""Turns texts into token numbers with a tokenizer of Hugging Face, in a process of its own.

`python -m loadband.tokenizer NAME` reads a JSON list of texts a line and writes a JSON list of their lists of numbers.

Knows: the libraries `tokenizers` and, where it is installed, `transformers`. Must not know: prompts, servers.

A process of its own because these libraries take seconds to import and hundreds of megabytes; no process that sends
load ever loads them.
"""

import contextlib
import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Encode = Callable[[list[str]], list[list[int]]]


class TokenizerError(Exception):
    """Why there is no tokenizer of that name, in one sentence."""


def load(name: str) -> Encode:
    """From a file (`tokenizer.json`), a folder that holds one, any folder that transformers reads, or a hub name."""
    path = Path(name)
    file = path / "tokenizer.json" if path.is_dir() else path
    if file.is_file():
        return _of_tokenizers(lambda library: library.from_file(str(file)))
    if path.exists() or path.is_absolute() or name.startswith("."):
        if not path.is_dir():
            raise TokenizerError(f"there is no tokenizer at {name}")
        return _of_transformers(name)
    try:
        return _of_tokenizers(lambda library: library.from_pretrained(name))
    except TokenizerError as error:
        with contextlib.suppress(TokenizerError):
            return _of_transformers(name)
        raise error from None


def _of_tokenizers(make: Callable[[Any], Any]) -> Encode:
    try:
        tokenizer = make(importlib.import_module("tokenizers").Tokenizer)
    except ImportError:
        raise TokenizerError("the library is missing: pip install tokenizers") from None
    except Exception as error:  # the library raises bare exceptions
        raise TokenizerError(str(error)) from None
    tokenizer.no_truncation()
    return lambda texts: [each.ids for each in tokenizer.encode_batch(texts, add_special_tokens=False)]


def _of_transformers(name: str) -> Encode:
    try:
        tokenizer = importlib.import_module("transformers").AutoTokenizer.from_pretrained(name)
    except ImportError:
        raise TokenizerError(f"{name} has no tokenizer.json, and transformers is missing: pip install it") from None
    except Exception as error:
        raise TokenizerError(str(error)) from None
    return lambda texts: [tokenizer.encode(text, add_special_tokens=False) for text in texts]


def main() -> int:
    """Answer each line of standard input, a JSON list of texts; an error is one line on standard error."""
    try:
        encode = load(sys.argv[1])
    except TokenizerError as error:
        print(" ".join(str(error).split())[:300], file=sys.stderr)
        return 2
    for line in sys.stdin:
        print(json.dumps(encode(json.loads(line))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
