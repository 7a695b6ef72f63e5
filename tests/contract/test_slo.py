"""The grammar of --slo, and that a limit printed is the limit read."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadband.errors import UsageError
from loadband.slo import LATENCIES, RATES, SHARES, Limit, parse_slo

UNDERSTOOD = [
    ("ttft_p95<=1s", Limit("ttft", "<=", 1.0, "p95"), "seconds"),
    ("ttft_p95<=800ms", Limit("ttft", "<=", 0.8, "p95"), "milliseconds"),
    ("tpot_mean<=9ms", Limit("tpot", "<=", 0.009, "mean"), "9 ms is 0.009 s, not the rounding beside it"),
    ("ttft<=1s", Limit("ttft", "<=", 1.0, "p95"), "a latency without a statistic means p95"),
    ("e2e_p99.9<=30s", Limit("e2e", "<=", 30.0, "p99.9"), "a fraction of a percent"),
    ("itl_p99.0<=0.2s", Limit("itl", "<=", 0.2, "p99"), "one percentile has one spelling"),
    ("ttfa_p05<=2s", Limit("ttfa", "<=", 2.0, "p5"), "one percentile has one spelling, with a zero in front"),
    ("ttft_p50>=10ms", Limit("ttft", ">=", 0.01, "p50"), "a lower bound"),
    ("error_rate<=1%", Limit("error_rate", "<=", 0.01), "percent"),
    ("error_rate<=0.01", Limit("error_rate", "<=", 0.01), "a share"),
    ("error_rate<=0", Limit("error_rate", "<=", 0.0), "no error at all"),
    ("error_rate<=100%", Limit("error_rate", "<=", 1.0), "every error there can be"),
    ("output_tok_s>=2000", Limit("output_tok_s", ">=", 2000.0), "a rate"),
    ("output_tok_s>=0.5", Limit("output_tok_s", ">=", 0.5), "a slow rate"),
    ("ttft_p95<=1s@32", Limit("ttft", "<=", 1.0, "p95", None, 32), "judged at 32 users"),
    ("interactive.tpot_mean<=50ms", Limit("tpot", "<=", 0.05, "mean", "interactive"), "of one scenario"),
    ("long_context.error_rate<=5%@8", Limit("error_rate", "<=", 0.05, None, "long_context", 8), "all parts at once"),
    ("ttft_p95 <= 1 s @ 32", Limit("ttft", "<=", 1.0, "p95", None, 32), "spaces between the parts"),
]


@pytest.mark.parametrize(("text", "limit", "sentence"), UNDERSTOOD, ids=[row[2] for row in UNDERSTOOD])
def test_one_limit(text: str, limit: Limit, sentence: str) -> None:
    assert parse_slo(text) == (limit,), sentence
    assert parse_slo(str(limit)) == (limit,), sentence


def test_limits_are_joined_by_commas_and_keep_their_order() -> None:
    both = parse_slo("ttft_p95<=1s@32, error_rate<=1%")
    assert [str(limit) for limit in both] == ["ttft_p95<=1s@32", "error_rate<=1%"]


REFUSED = [
    ("", "''", "write metric<=value", "nothing"),
    ("ttft_p95<=1s,", "''", "write metric<=value", "a comma at the end"),
    ("latency<=1s", "'latency<=1s'", "ttft", "a metric that is not measured"),
    ("TTFT<=1s", "'TTFT<=1s'", "ttft_p95<=1s", "capitals"),
    ("ttft_p95<1s", "'ttft_p95<1s'", "metric<=value", "a strict comparison"),
    ("ttft_p95=<1s", "'ttft_p95=<1s'", "metric<=value", "a sign turned round"),
    ("ttft_p95==1s", "'ttft_p95==1s'", "metric<=value", "an equality"),
    ("ttft_p95<=", "'ttft_p95<='", "metric<=value", "no value"),
    ("ttft_p95<=-1s", "'ttft_p95<=-1s'", "metric<=value", "a time before the request"),
    ("ttft_p95<=1e3s", "'ttft_p95<=1e3s'", "metric<=value", "an exponent"),
    ("ttft_p95<=nans", "'ttft_p95<=nans'", "metric<=value", "not a number"),
    ("ttft_p95<=1m", "'ttft_p95<=1m'", "metric<=value", "minutes"),
    ("ttft_p95<=1", "'ttft_p95<=1'", "write 1ms or 1s", "a latency without its unit"),
    ("ttft_p95<=1%", "'ttft_p95<=1%'", "write 1ms or 1s", "a latency in percent"),
    ("ttft_p100<=1s", "'ttft_p100<=1s'", "metric<=value", "the maximum is no percentile"),
    ("ttft_p0<=1s", "'ttft_p0<=1s'", "between p1 and p99.99", "the minimum is no percentile"),
    ("ttft_p99.999<=1s", "'ttft_p99.999<=1s'", "between p1 and p99.99", "a percentile no run can tell"),
    ("ttft_max<=1s", "'ttft_max<=1s'", "metric<=value", "a statistic that is not offered"),
    ("error_rate_p95<=1%", "no p95", "write error_rate<=1%", "a statistic of a share"),
    ("output_tok_s_mean>=5", "no mean", "write output_tok_s>=5", "a statistic of a rate"),
    ("error_rate<=1s", "'error_rate<=1s'", "write 1%", "an error rate in seconds"),
    ("error_rate<=1", "'error_rate<=1'", "write 1%", "1 could mean one percent or all"),
    ("error_rate<=5", "'error_rate<=5'", "write 5%", "percent without the sign"),
    ("error_rate<=101%", "'error_rate<=101%'", "at most 100%", "more than all"),
    ("output_tok_s>=5s", "'output_tok_s>=5s'", "without a unit", "a rate in seconds"),
    ("output_tok_s>=5%", "'output_tok_s>=5%'", "without a unit", "a rate in percent"),
    ("ttft_p95<=1s@0", "'ttft_p95<=1s@0'", "write @1", "no users"),
    ("ttft_p95<=1s@", "'ttft_p95<=1s@'", "metric<=value", "users without their number"),
    ("ttft_p95<=1s@x", "'ttft_p95<=1s@x'", "metric<=value", "users that are a word"),
    ("Long.ttft<=1s", "'Long.ttft<=1s'", "metric<=value", "a scenario in capitals"),
    (".ttft<=1s", "'.ttft<=1s'", "metric<=value", "a scenario without a name"),
    ("ttft<=" + "9" * 5000 + "s", "'ttft<=999", "metric<=value", "more digits than Python reads"),
    ("ttft<=1s@" + "9" * 5000, "'ttft<=1s@999", "metric<=value", "more users than Python reads"),
]


@pytest.mark.parametrize(("text", "names", "mends", "sentence"), REFUSED, ids=[row[3] for row in REFUSED])
def test_a_bad_limit_is_named_and_mended(text: str, names: str, mends: str, sentence: str) -> None:
    with pytest.raises(UsageError) as told:
        parse_slo(text)
    assert names in str(told.value), sentence
    assert mends in str(told.value), sentence
    assert len(str(told.value)) < 300, "one line that a person reads"


def test_of_several_limits_the_bad_one_is_named() -> None:
    with pytest.raises(UsageError, match="SLO 'tpot<=9'") as told:
        parse_slo("ttft<=1s,tpot<=9,error_rate<=1%")
    assert "ttft" not in str(told.value)


shares = st.floats(0, 1)
values = st.floats(0, 1e12)
scenarios = st.none() | st.from_regex(r"[a-z][a-z0-9_]{0,12}", fullmatch=True)
operators = st.sampled_from(("<=", ">="))
levels = st.none() | st.integers(1, 1_000_000)
statistics = st.just("mean") | st.integers(100, 9999).map(lambda n: f"p{n / 100:g}")
limits = (
    st.builds(Limit, st.sampled_from(LATENCIES), operators, values, statistics, scenarios, levels)
    | st.builds(Limit, st.sampled_from(SHARES), operators, shares, st.none(), scenarios, levels)
    | st.builds(Limit, st.sampled_from(RATES), operators, values, st.none(), scenarios, levels)
)


@given(limits)
def test_a_limit_printed_is_the_limit_read_to_the_last_bit(limit: Limit) -> None:
    if 0 < limit.value < 1e-20:
        return
    assert parse_slo(str(limit)) == (limit,)


@given(st.lists(limits.filter(lambda limit: limit.value == 0 or limit.value > 1e-20), min_size=1, max_size=4))
def test_a_list_printed_is_the_list_read(many: list[Limit]) -> None:
    assert parse_slo(",".join(map(str, many))) == tuple(many)


@given(st.text("ttftperoae2_d.<>=@%ms0123456789, ", max_size=24))
def test_any_other_text_is_read_or_refused_with_a_sentence(text: str) -> None:
    try:
        read = parse_slo(text)
    except UsageError:
        return
    assert parse_slo(",".join(map(str, read))) == read


HOLDS = [
    ("ttft_p95<=1s", 1.0, True, "the limit itself is kept"),
    ("ttft_p95<=1s", 1.0000001, False, "above it is missed"),
    ("output_tok_s>=2000", 2000.0, True, "the lower limit itself is kept"),
    ("output_tok_s>=2000", 1999.9, False, "below it is missed"),
    ("error_rate<=1%", 0.01, True, "a share of exactly one percent"),
    ("ttft_p95<=1s", math.nan, False, "what is not known does not hold"),
    ("output_tok_s>=1", math.nan, False, "what is not known does not hold, from below either"),
]


@pytest.mark.parametrize(("text", "measured", "holds", "sentence"), HOLDS, ids=[row[3] for row in HOLDS])
def test_whether_a_limit_holds(text: str, measured: float, holds: bool, sentence: str) -> None:
    (limit,) = parse_slo(text)
    assert limit.holds(measured) is holds, sentence


def test_a_limit_knows_its_column_and_its_percentile() -> None:
    ttft, mean, share = parse_slo("ttft_p99.9<=1s,tpot_mean<=1s,error_rate<=1%")
    assert (ttft.quantity, ttft.percentile) == ("ttft_p99.9", 99.9)
    assert (mean.quantity, mean.percentile) == ("tpot_mean", None)
    assert (share.quantity, share.percentile) == ("error_rate", None)


@pytest.mark.parametrize(
    ("text", "measured", "told"),
    [
        ("ttft_p95<=1ms", 0.0312, "31.2 ms"),
        ("ttft_p95<=0.5s", 0.0312, "0.0312 s"),
        ("tpot_mean<=0.25ms", 0.0005, "0.5 ms"),
        ("error_rate<=1%@32", 0.0183, "1.83%"),
        ("error_rate<=0.01", 0.0183, "0.0183"),
        ("output_tok_s>=2000", 1234.5678, "1235"),
        ("ttft_p95<=1s", math.inf, "beyond any limit"),
    ],
)
def test_a_limit_keeps_the_unit_it_was_written_in(text: str, measured: float, told: str) -> None:
    (limit,) = parse_slo(text)
    assert str(limit) == text
    assert limit.told(measured) == told


def test_one_limit_in_two_units_is_one() -> None:
    assert parse_slo("tpot<=9ms") == parse_slo("tpot<=0.009s")
    assert parse_slo("error_rate<=1%") == parse_slo("error_rate<=0.01")
