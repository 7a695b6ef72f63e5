"""The engine, step by step, on a clock of numbers: what every step holds is known in advance."""

import pytest

from loadband.sim.engine import ABORTED, FINISHED, LOST, RUNNING, WAITING, Engine, EngineDiedError, QueueFullError
from tests.sim.profiles import small


def step(engine: Engine, now: float = 0.0) -> list[int]:
    """One step; the numbers of the sequences that gained a token."""
    assert engine.begin(now) is not None
    return [each.number for each in engine.end()]


def test_a_prompt_and_its_answer_take_one_step_a_token() -> None:
    engine = Engine(small())
    sequence = engine.submit(10, 3, ignore_eos=True)
    ends = [engine.begin(now) for now in (0.0,)]
    assert ends == [pytest.approx(0.010)]
    assert engine.end() == [sequence]
    assert (sequence.state, sequence.generated, sequence.computed) == (RUNNING, 1, 10)
    assert step(engine) == [1]
    assert step(engine) == [1]
    assert (sequence.state, sequence.finish_reason, engine.memory.used) == (FINISHED, "length", 0)
    assert engine.begin(1.0) is None, "nothing to do"


def test_a_long_prompt_is_computed_in_chunks_while_others_go_on() -> None:
    engine = Engine(small(max_num_batched_tokens=64))
    short = engine.submit(10, 9, ignore_eos=True)
    assert step(engine) == [1]
    long = engine.submit(150, 2, ignore_eos=True)
    assert step(engine) == [1]
    assert (short.scheduled, long.scheduled, long.computed) == (1, 63, 63)
    assert step(engine) == [1]
    assert long.computed == 126
    assert step(engine) == [1, 2]
    assert (long.computed, long.generated) == (150, 1)


def test_first_come_first_served_and_never_more_than_the_slots() -> None:
    engine = Engine(small(max_num_seqs=2))
    sequences = [engine.submit(5, tokens, ignore_eos=True) for tokens in (1, 3, 2, 2)]
    assert step(engine) == [1, 2]
    assert [each.state for each in sequences] == [FINISHED, RUNNING, WAITING, WAITING]
    assert step(engine) == [2, 3]
    assert step(engine) == [2, 3]
    assert step(engine) == [4]
    assert step(engine) == [4]
    assert not engine.running
    assert not engine.waiting


def test_full_memory_preempts_the_newest_which_is_computed_anew_and_loses_no_token() -> None:
    engine = Engine(small(blocks=16, block_size=16, max_model_len=256))  # 256 tokens
    old = engine.submit(60, 100, ignore_eos=True)
    new = engine.submit(60, 100, ignore_eos=True)
    gained = {1: 0, 2: 0}
    while not engine.counters.preemptions:
        for number in step(engine):
            gained[number] += 1
        assert engine.memory.used <= 16
    assert (old.state, new.state, new.blocks, new.computed) == (RUNNING, WAITING, 0, 0)
    known, before = new.known, engine.counters.computed_tokens
    while engine.running or engine.waiting:
        for number in step(engine):
            gained[number] += 1
        assert engine.memory.used <= 16
    assert gained == {1: 100, 2: 100}
    assert new.preemptions >= 1
    assert engine.counters.computed_tokens - before >= known, "prompt and answer so far were computed again"
    assert engine.counters.prompt_tokens == 120, "a prompt counts once"
    assert engine.memory.used == 0


def test_a_waiting_request_that_does_not_fit_waits_and_is_not_passed() -> None:
    engine = Engine(small(blocks=16, block_size=16))
    engine.submit(60, 5, ignore_eos=True)
    step(engine)
    engine.submit(60, 5, ignore_eos=True)
    big = engine.submit(200, 5, ignore_eos=True)
    tiny = engine.submit(5, 5, ignore_eos=True)
    step(engine)
    step(engine)
    assert (big.computed > 0, tiny.state) == (True, WAITING), "chunks are budgeted, the order is kept"


def test_an_engine_that_grows_until_death_loses_everybody_and_takes_nobody() -> None:
    engine = Engine(small(blocks=16, block_size=16, when_full="die", max_num_seqs=8))
    sequences = [engine.submit(60, 100, ignore_eos=True) for _ in range(2)]
    while engine.memory.used < 16:
        step(engine)
    while sum(each.computed % 16 == 0 for each in sequences) == 0:
        step(engine)
    with pytest.raises(EngineDiedError):
        step(engine)
    assert engine.dead
    assert [each.state for each in sequences] == [LOST, LOST]
    with pytest.raises(EngineDiedError):
        engine.submit(1, 1)
    with pytest.raises(EngineDiedError):
        engine.begin(0.0)


def test_memory_beside_the_tokens_counts_for_each_running_sequence() -> None:
    engine = Engine(small(blocks=100, reserve_blocks=30, when_full="die"))
    for _ in range(3):
        engine.submit(5, 50, ignore_eos=True)
    step(engine)
    assert engine.memory.used == 3 * 31
    engine.submit(5, 50, ignore_eos=True)
    with pytest.raises(EngineDiedError):
        engine.begin(0.0)


def test_a_full_queue_refuses_and_a_free_place_takes_again() -> None:
    engine = Engine(small(max_num_seqs=2, max_waiting=1))
    taken = [engine.submit(5, 2, ignore_eos=True) for _ in range(3)]
    with pytest.raises(QueueFullError):
        engine.submit(5, 2)
    assert engine.counters.refused == 1
    engine.abort(taken[2])
    engine.submit(5, 2)
    assert len(engine.waiting) == 3


def test_an_abort_frees_slot_and_memory_at_once_also_in_mid_step() -> None:
    engine = Engine(small(max_num_seqs=1))
    gone = engine.submit(40, 50, ignore_eos=True)
    following = engine.submit(5, 2, ignore_eos=True)
    assert engine.begin(0.0) is not None
    engine.abort(gone)
    engine.abort(gone)
    assert (gone.state, engine.memory.used, engine.counters.aborted) == (ABORTED, 0, 1)
    assert engine.end() == []
    assert step(engine) == [2]
    assert following.generated == 1


def test_an_engine_hangs_without_a_word() -> None:
    engine = Engine(small(hang_at=2))
    engine.submit(5, 50, ignore_eos=True)
    assert step(engine) == [1]
    engine.submit(5, 50, ignore_eos=True)
    assert engine.begin(0.0) is None
    assert engine.hung
    assert engine.begin(1.0) is None


def test_the_server_ends_answers_by_itself_or_at_the_most() -> None:
    engine = Engine(small(mean=20.0, sd=10.0, most=40))
    lengths = [engine.submit(5, 25) for _ in range(500)]
    assert {each.finish_reason for each in lengths} == {"stop", "length"}
    assert all(each.answer_tokens == 25 for each in lengths if each.finish_reason == "length")
    drawn = [engine.submit(5, 1000) for _ in range(4000)]
    assert max(each.answer_tokens for each in drawn) == 40
    assert sum(each.answer_tokens for each in drawn) / len(drawn) == pytest.approx(20, rel=0.05)
    assert engine.submit(5, 77, ignore_eos=True).answer_tokens == 77


def test_a_step_grows_with_prompt_sequences_and_context() -> None:
    engine = Engine(small(base_ms=10, prefill_token_ms=0.1, sequence_ms=1, context_token_ms=0.01))
    engine.submit(40, 5, ignore_eos=True)
    assert engine.begin(2.0) == pytest.approx(2.0 + 0.010 + 0.004 + 0.001)
    engine.end()
    assert engine.begin(3.0) == pytest.approx(3.0 + 0.010 + 0.001 + 0.0004)


def test_calls_out_of_order_are_a_fault_of_the_caller() -> None:
    engine = Engine(small())
    with pytest.raises(RuntimeError):
        engine.end()
    engine.submit(5, 2)
    engine.begin(0.0)
    with pytest.raises(RuntimeError):
        engine.begin(0.0)
