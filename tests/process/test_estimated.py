"""A run against a server without usage, with `--tokenizer`: counted after it, over whole texts, and said so."""

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from loadband import rundir
from tests.oracle import Oracle, answer, at, content, done, finish, reasoning, rule, tokens
from tests.process.running import Files, run

pytestmark = pytest.mark.process

EVENTS = 10
TEXT = "tok, "
"""Five tokens, of a vocabulary of bytes."""
KEY = "sk-0123456789"


def byte_tokenizer(path: Path) -> Path:
    """A tokenizer for which each byte is a token, and which puts a special one before every text."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={sign: n for n, sign in enumerate([*alphabet, "[BOS]"])}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[BOS] $A", special_tokens=[("[BOS]", len(alphabet))]
    )
    tokenizer.save(str(path))
    return path


def test_tokens_are_counted_once_over_the_whole_text_after_the_run(oracle: Oracle, tmp_path: Path) -> None:
    events = [at(20 + 10 * n, reasoning(TEXT) if n < 3 else content(TEXT)) for n in range(EVENTS)]
    quiet = answer(*events, at(20 + 10 * EVENTS, content(KEY), finish(), done()))
    oracle.script(rule(quiet, equals=("max_tokens", 77)), rule(tokens(usage="never")))
    path = tmp_path / "run"
    ended = run(
        ["--headless", "-H", oracle.url, "--steps", "2", "--hold", "3s", "--settle", "0s", "--warmup", "0s",
         "--no-doctor", "--max-tokens", "77", "--think-time", "0.1", "--run-dir", str(path),
         "--tokenizer", str(byte_tokenizer(tmp_path / "tokenizer.json"))],
        {"LOADBAND_API_KEY": KEY},
    )  # fmt: skip
    print(ended.out, ended.err)
    files = Files(path)
    assert not (path / rundir.TEXTS).exists()
    assert files.run["estimated"]["tokenizer"] == "tokenizer.json"
    ok = [row for row in files.rows(rundir.REQUESTS) if row["status"] == "ok"]
    assert len(ok) > 10
    shown = len(TEXT) * EVENTS + len("***")
    assert {(row["token_source"], row["events"], row["output_tokens"]) for row in ok} == {
        ("estimated", str(EVENTS + 1), str(shown)),
    }  # fmt: skip
    for row in ok:
        pace = (float(row["e2e_s"]) - float(row["ttft_s"])) / (shown - 1)
        assert float(row["tpot_s"]) == pytest.approx(pace, abs=2e-6)
    assert files.total("output_tokens_ok") == shown * len(ok)
    assert "output tokens of 100% of the answers are estimated" in ended.out
    assert "tokens/s" in ended.out
    (level,) = json.loads((path / "report" / "verdict.json").read_text())["levels"]
    assert level["output_tok_s"] > 100
    assert all(KEY.encode() not in each.read_bytes() for each in path.rglob("*") if each.is_file())
