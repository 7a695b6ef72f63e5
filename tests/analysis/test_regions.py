import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadband.analysis.curve import Curve, fit
from loadband.analysis.reach import Bounds
from loadband.analysis.regions import Operating, linear_region, operating_point, saturation_point
from loadband.analysis.thresholds import Thresholds
from tests.analysis.make_levels import LIMITS, Xs, ladder, level

SHARP = {1: 10.0, 2: 20.0, 4: 40.0, 8: 80.0, 16: 160.0, 32: 160.0, 64: 160.0}
"""A server of exactly 16 slots."""
NAMED = {1: 100.0, 2: 198.0, 4: 380.0, 8: 760.0, 16: 1430.0, 32: 1460.0, 64: 1370.0}


UNBOUND = Bounds()


def curve_of(xs: Xs, **changes: object) -> Curve:
    curve = fit(ladder(xs, **changes), "output_tok_s")
    assert curve is not None
    return curve


def best(xs: Xs, bounds: Bounds = UNBOUND) -> Operating:
    return operating_point(curve_of(xs), bounds, LIMITS)


def test_a_sharp_knee_is_found_where_it_is() -> None:
    found = best(SHARP)
    assert (found.status, found.users, found.limited_by) == ("found", 16, "curve")
    assert found.low == pytest.approx(16 * 0.9**0.5)  # P ~ N^2 below the knee with R constant
    assert found.high == pytest.approx(16 / 0.9)  # P ~ 1 / N above it


def test_powers_of_two_with_a_decline() -> None:
    found = best(NAMED)
    assert (found.status, found.users) == ("found", 16)
    saturation = saturation_point(curve_of(NAMED), found.users, LIMITS)
    assert (saturation.status, saturation.after, saturation.at) == ("found", 16, 32)


def test_the_lower_half_of_the_same_ladder_knows_only_a_direction() -> None:
    found = best({n: x for n, x in NAMED.items() if n <= 8})
    assert (found.status, found.users, found.limited_by) == ("not_reached", 8, "range")


def test_one_low_level_does_not_pull_the_answer_down() -> None:
    assert best({**NAMED, 4: 300.0}).users == 16


def test_a_server_of_one_slot_is_best_at_the_first_level() -> None:
    found = best({1: 25.0, 2: 25.2, 4: 25.0})
    assert (found.status, found.users) == ("at_or_below_first", 1)
    assert "1 user" in found.reason
    saturation = saturation_point(curve_of({1: 25.0, 2: 25.2, 4: 25.0}), 1, LIMITS)
    assert (saturation.status, saturation.at) == ("at_or_below_first", 1)


@pytest.mark.parametrize("levels", [1, 2])
def test_two_levels_say_nothing(levels: int) -> None:
    found = best(dict(list(SHARP.items())[:levels]))
    assert (found.status, found.users) == ("none", None)
    assert "at least 5 valid levels" in found.reason


def test_four_levels_do_not_tell_an_interior_optimum() -> None:
    found = best({4: 40.0, 8: 80.0, 16: 84.0, 32: 84.0})
    assert (found.status, found.users) == ("not_established", None)
    assert "between the tested levels 4 and 16" in found.reason


def test_a_grid_too_coarse_to_see_the_knee_is_not_established() -> None:
    """1, 16: 100 to 400 tokens/s. The knee may be anywhere from 4 on, where P would be 4 times larger."""
    found = best({1: 100.0, 16: 400.0, 64: 410.0, 128: 410.0, 256: 410.0})
    assert (found.status, found.users) == ("not_established", None)
    assert "too far apart" in found.reason


def test_a_coarse_grid_that_hides_nothing_is_enough() -> None:
    assert best({1: 10.0, 10: 98.0, 20: 90.0, 30: 80.0, 50: 78.0}).users == 10


def test_two_optima_with_a_deep_dip_between_are_several() -> None:
    found = best({1: 50.0, 2: 52.0, 4: 78.0, 8: 95.0})
    assert (found.status, found.users) == ("several", None)
    assert "1 and 4" in found.reason


def test_errors_bound_what_is_admissible() -> None:
    levels = [*ladder({1: 10, 2: 20, 4: 40, 8: 78}), level(16, 150, failed=40), level(32, 300, failed=300)]
    curve = fit(levels, "output_tok_s")
    assert curve is not None
    found = operating_point(curve, Bounds(), LIMITS)
    assert (found.status, found.users, found.limited_by, found.high) == ("found", 8, "errors", 8)


def test_an_error_rate_that_is_not_resolved_is_admitted() -> None:
    levels = [*ladder({1: 10, 2: 20, 4: 40, 8: 78}), level(16, 150, n=100, failed=2)]
    curve = fit(levels, "output_tok_s")
    assert curve is not None
    assert operating_point(curve, Bounds(), LIMITS).users == 16


def test_nothing_is_concluded_across_a_level_that_failed() -> None:
    levels = [level(1, 10), level(2, 20), level(4, 40, failed=40), level(8, 78), level(16, 100), level(32, 100)]
    curve = fit(levels, "output_tok_s")
    assert curve is not None
    found = operating_point(curve, Bounds(), LIMITS)
    assert found.users in (8, 16)
    assert found.low is not None
    assert found.low >= 8


def test_the_failure_point_bounds_the_band() -> None:
    found = best(SHARP, Bounds(failure=16))
    assert (found.status, found.users, found.limited_by, found.high) == ("found", 8, "failure", 8)


def test_an_slo_below_the_optimum_sets_the_band() -> None:
    found = best(SHARP, Bounds(slo=10.0))
    assert (found.status, found.users, found.limited_by) == ("found", 10, "slo")
    assert (found.low, found.high, found.band_limited_by) == (8, 10, "slo")


def test_an_slo_above_the_optimum_only_cuts_the_band() -> None:
    found = best(SHARP, Bounds(slo=17.0))
    assert (found.users, found.limited_by) == (16, "curve")
    assert (found.high, found.band_limited_by) == (17, "slo")


def test_an_slo_that_no_level_keeps() -> None:
    found = best(SHARP, Bounds(slo=0.0))
    assert (found.status, found.users, found.limited_by) == ("none", None, "slo")


RISING = st.lists(st.floats(1.0, 2.2), min_size=5, max_size=7)


@settings(deadline=None)
@given(RISING, st.floats(1, 200), st.floats(1, 200))
def test_a_looser_slo_never_lowers_the_band(growth: list[float], one: float, other: float) -> None:
    xs, x = {}, 10.0
    for place, factor in enumerate(growth):
        xs[float(2**place)] = x
        x *= factor
    strict, loose = best(xs, Bounds(slo=min(one, other))), best(xs, Bounds(slo=max(one, other)))
    if strict.high is not None and loose.high is not None:
        assert loose.high >= strict.high - 1e-9


@settings(deadline=None)
@given(RISING, st.floats(0.3, 0.99))
def test_more_overloaded_levels_never_move_the_upper_edge(growth: list[float], share: float) -> None:
    xs, x = {}, 10.0
    for place, factor in enumerate(growth):
        xs[float(2**place)] = x
        x *= factor
    last = max(xs)
    flat = {**xs, last * 2: xs[last]}
    more = {**flat, last * 4: xs[last] * share, last * 8: xs[last] * share**2}
    one, other = best(flat), best(more)
    if one.status == other.status == "found" and one.band_limited_by == "curve":
        assert other.high == pytest.approx(one.high)


def test_linear_up_to_where_a_user_gets_four_fifths() -> None:
    """Straight to 16, then flat: X / N = 0.8 of the best at 16 / 0.8; saturation caps it at 16."""
    curve = curve_of(SHARP)
    saturation = saturation_point(curve, 16, LIMITS)
    assert linear_region(curve, saturation, None, LIMITS) == pytest.approx(16)
    assert linear_region(curve, saturation, 8, LIMITS) == 8


def test_a_cold_first_level_does_not_end_the_linear_region() -> None:
    curve = curve_of({1: 6.0, 2: 20.0, 4: 40.0, 8: 60.0, 16: 61.0})
    saturation = saturation_point(curve, 8, LIMITS)
    upto = linear_region(curve, saturation, None, LIMITS)
    assert upto is not None
    assert 6 < upto <= 8


def test_saturation_needs_levels_beyond_it() -> None:
    climb = {1: 10.0, 2: 20.0, 4: 40.0, 8: 80.0, 16: 84.0}
    assert saturation_point(curve_of(climb), 8, LIMITS).status == "found"
    assert saturation_point(curve_of({**SHARP, 64: 320.0}), None, LIMITS).status == "not_reached"
    near = {8: 80.0, 9: 90.0, 10: 100.0, 11: 100.5}
    assert saturation_point(curve_of(near), 10, LIMITS).status == "not_confirmed"
    assert saturation_point(curve_of({**near, 11: 90.0}), 10, LIMITS).status == "found"


def test_a_dip_at_few_users_is_not_saturation() -> None:
    """Two users gain nothing over one, then it grows again: saturated only at the end."""
    saturation = saturation_point(curve_of({1: 40, 2: 41, 4: 80, 8: 150, 16: 155, 32: 156}), 8, LIMITS)
    assert (saturation.status, saturation.after, saturation.at) == ("found", 8, 16)


ARTICLE = {16: 2439.85, 32: 2915.96, 64: 4092.61, 128: 4218.27, 256: 4265.51}


@pytest.mark.parametrize(
    ("operating", "bracket"),
    [(64, (64, 128)), (None, (32, 64)), (32, (32, 64)), (100.0, (100, 128)), (48.0, (48, 64)), (128, (128, 256))],
    ids=[
        "crossed below it",
        "none",
        "a level lower",
        "an SLO in between",
        "an SLO below the crossing",
        "a level higher",
    ],
)
def test_what_still_pays_for_its_users_is_not_saturated(operating: float | None, bracket: tuple[float, float]) -> None:
    """The exponent falls to 0.15 between 32 and 64 users; no bracket begins below the operating point."""
    saturation = saturation_point(curve_of(ARTICLE), operating, LIMITS)
    assert (saturation.status, saturation.after, saturation.at) == ("found", *bracket)
    assert saturation.exact is not None
    assert bracket[0] <= saturation.exact <= bracket[1]


def test_no_bracket_without_a_level_above_the_operating_point() -> None:
    assert saturation_point(curve_of(ARTICLE), 256, LIMITS).status == "not_confirmed"
    assert saturation_point(curve_of({16: 100.0, 32: 100.0, 64: 100.0}), 64, LIMITS).status == "not_confirmed"


def test_saturated_from_the_first_level_but_best_above_it() -> None:
    """Flat throughput, and an operating point that something else set: the bracket follows it."""
    flat = curve_of({8: 100.0, 16: 101.0, 32: 101.0, 64: 101.0})
    saturation = saturation_point(flat, 16, LIMITS)
    assert (saturation.after, saturation.at) == (16, 32)
    assert saturation_point(flat, 8, LIMITS).status == "at_or_below_first"


def test_weights_are_options() -> None:
    """A wide knee: latency first stops earlier than throughput first."""
    soft = {1: 10.0, 2: 19.0, 4: 34.0, 8: 55.0, 16: 75.0, 32: 88.0, 64: 95.0}
    points = [operating_point(curve_of(soft), Bounds(), Thresholds(weight=w)).users for w in (1.2, 2.0, 3.0)]
    assert points == sorted(points, key=lambda users: users or 0)
    assert points[0] != points[-1]
