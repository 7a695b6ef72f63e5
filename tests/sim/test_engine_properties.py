"""Whatever is asked, in whatever order: nothing is lost, no budget is exceeded, the same seed does the same."""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from loadband.sim.engine import ABORTED, FINISHED, RUNNING, WAITING, Engine, Sequence
from tests.sim.profiles import small

BLOCKS, SLOTS, BUDGET = 24, 5, 48


@dataclass(frozen=True)
class Ask:
    prompt: int
    tokens: int


@dataclass(frozen=True)
class HangUp:
    place: int


ACTS = st.lists(
    st.one_of(
        st.builds(Ask, st.integers(1, 200), st.integers(1, 56)), st.builds(HangUp, st.integers(0, 30)), st.just(None)
    ),
    max_size=80,
)  # fmt: skip


def play(acts: list[Ask | HangUp | None], seed: int = 1) -> tuple[Engine, list[Sequence], list[float]]:
    """Requests, hang-ups and steps (None), then steps until nothing is left; checks hold at every step."""
    engine = Engine(small(blocks=BLOCKS, max_num_seqs=SLOTS, max_num_batched_tokens=BUDGET, jitter=0.1), seed)
    asked: list[Sequence] = []
    ends: list[float] = []
    now = 0.0

    def step() -> bool:
        nonlocal now
        ends_at = engine.begin(now)
        if ends_at is None:
            return False
        assert ends_at > now
        assert sum(each.scheduled for each in engine.running if each.state == RUNNING) >= 1
        assert len(engine.running) <= SLOTS
        assert engine.memory.used == sum(each.blocks for each in engine.running) <= BLOCKS
        assert all(each.blocks == 0 for each in engine.waiting)
        before = engine.counters.computed_tokens
        gained = engine.end()
        assert len(set(gained)) == len(gained)
        assert engine.counters.computed_tokens - before <= BUDGET
        now = ends_at
        ends.append(now)
        return True

    for act in acts:
        if isinstance(act, Ask):
            asked.append(engine.submit(act.prompt, act.tokens, ignore_eos=True))
        elif isinstance(act, HangUp):
            if act.place < len(asked):
                engine.abort(asked[act.place])
        else:
            step()
    for _ in range(20_000):
        if not step():
            break
    return engine, asked, ends


@given(ACTS)
@settings(max_examples=60, deadline=None)
def test_every_token_asked_for_is_generated_once_or_its_user_hung_up(acts: list[Ask | HangUp | None]) -> None:
    engine, asked, _ = play(acts)
    assert {each.state for each in asked} <= {FINISHED, ABORTED}
    assert all(each.generated == each.answer_tokens for each in asked if each.state == FINISHED)
    counters = engine.counters
    assert counters.generated_tokens == sum(each.generated for each in asked)
    assert counters.prompt_tokens == sum(each.prompt_tokens for each in asked if each.generated)
    assert counters.finished + counters.aborted == len(asked)
    assert engine.memory.used == 0


@given(ACTS, st.integers(0, 3))
@settings(max_examples=30, deadline=None)
def test_the_same_seed_does_the_same(acts: list[Ask | HangUp | None], seed: int) -> None:
    first, second = play(acts, seed), play(acts, seed)
    assert first[0].counters == second[0].counters
    assert first[2] == second[2]


@given(st.lists(st.builds(Ask, st.integers(1, 200), st.integers(1, 56)), min_size=2, max_size=20))
@settings(max_examples=30, deadline=None)
def test_first_tokens_come_in_the_order_of_asking(asks: list[Ask]) -> None:
    engine = Engine(small(max_num_seqs=SLOTS, max_num_batched_tokens=BUDGET))
    sequences = [engine.submit(ask.prompt, ask.tokens, ignore_eos=True) for ask in asks]
    firsts: list[int] = []
    while engine.begin(0.0) is not None:
        firsts += [each.number for each in engine.end() if each.generated == 1]
    assert firsts == sorted(firsts)
    assert len(firsts) == len(sequences)
    assert all(each.state != WAITING for each in sequences)
