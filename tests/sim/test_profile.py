"""Profiles: those that are shipped can be used and say where they come from; a fault is one line with the key."""

import dataclasses
from pathlib import Path

import pytest

from loadband.sim.profile import Answers, Memory, ProfileError, Refusal, Scheduler, StepTime, load, parse, shipped

GOOD = """
about = "a test"
model = "m"
max_model_len = 100
[scheduler]
max_num_seqs = 2
max_num_batched_tokens = 32
[memory]
blocks = 10
[step]
base_ms = 5
[answers]
mean = 10
"""


def test_the_least_profile_has_defaults_for_the_rest() -> None:
    profile = parse(GOOD, "mine")
    assert (profile.name, profile.memory.block_size, profile.memory.when_full) == ("mine", 16, "preempt")
    assert (profile.scheduler.max_waiting, profile.step.base_ms) == (None, 5)


FAULTS = [
    ("max_model_len = 100", "", "max_model_len is missing"),
    ("base_ms = 5", "", "step.base_ms is missing"),
    ("base_ms = 5", "base_ms = 'five'", "step.base_ms must be of type float"),
    ("base_ms = 5", "base_ms = true", "step.base_ms must be of type float"),
    ("base_ms = 5", "base_ms = inf", "step.base_ms must be a finite number"),
    ("base_ms = 5", "base_ms = 0", "step.base_ms must be above 0"),
    ("blocks = 10", "blocks = 10.5", "memory.blocks must be of type int"),
    ("blocks = 10", "blocks = 6", "memory.blocks must hold at least one sequence"),
    ("blocks = 10", "blocks = 10\nwhen_full = 'cry'", "memory.when_full must be preempt or die"),
    ("mean = 10", "mean = 10\nmeen = 11", "unknown key answers.meen"),
    ("max_num_seqs = 2", "max_num_seqs = 64", "scheduler.max_num_batched_tokens must be at least max_num_seqs"),
    ("[step]\nbase_ms = 5", "", "step.base_ms is missing"),
    ('about = "a test"', 'about = "a test"\nstep = 5', "not TOML"),
    ("[step]\nbase_ms = 5", "", "step.base_ms is missing"),
    ("max_model_len = 100", "max_model_len =", "not TOML"),
    ("[answers]", "[answer]", "unknown key answer; known: about, model"),
    ('about = "a test"', 'about = "a test"\nname = "n"', "unknown key name"),
    ("base_ms = 5", "base_ms = 5\njitter = 3.0", "step.jitter must be at most 1"),
    ("base_ms = 5", "base_ms = 1e9", "step.base_ms must be above 0, and at most 60000"),
    ("mean = 10", "mean = 10\nsd = 1e300", "answers.sd must be at most 100 times the mean"),
]


@pytest.mark.parametrize(("old", "new", "sentence"), FAULTS)
def test_a_fault_is_one_line_with_the_key(old: str, new: str, sentence: str) -> None:
    assert old in GOOD
    with pytest.raises(ProfileError) as told:
        parse(GOOD.replace(old, new), "mine")
    assert sentence in str(told.value)
    assert str(told.value).startswith("profile mine: ")
    assert "\n" not in str(told.value)


def test_a_profile_is_found_by_name_or_by_file(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(GOOD, encoding="utf-8")
    assert load(str(tmp_path / "mine.toml")).name == "mine"
    with pytest.raises(ProfileError, match=r"there is no profile 'mine': choose .*vllm-small"):
        load("mine")
    with pytest.raises(ProfileError, match=r"cannot read the profile nowhere\.toml"):
        load("nowhere.toml")


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_profile_says_where_it_comes_from(name: str) -> None:
    about = load(name).about
    assert all(word in about for word in ("Source", "Fit", "Not reproduced"))


PAGE = (Path(__file__).parents[2] / "docs" / "simulator.md").read_text(encoding="utf-8")


def test_the_page_shows_every_key_in_a_profile_that_can_be_used() -> None:
    text = PAGE.partition("```toml\n")[2].partition("```")[0]
    parse(text, "mine")
    for part in (Scheduler, Memory, StepTime, Answers, Refusal):
        assert [each.name for each in dataclasses.fields(part) if f"{each.name} =" not in text] == []


def test_the_page_has_a_section_for_each_shipped_profile() -> None:
    assert [name for name in shipped() if f"\n## {name}\n" not in PAGE] == []
