"""The columns of `step_table.csv`: other programs read them by place too, so new ones go at the end."""

from loadband.analysis.level import STEP_TABLE_COLUMNS

STEP_TABLE = (
    "step repeat users offered_req_s in_flight hold_s requests ok failed cut error_rate req_s goodput_req_s "
    "output_tok_s prompt_tok_s total_tok_s tok_s_user output_tok_s_cv gain_pct ttft_mean_s ttft_p50_s ttft_p90_s "
    "ttft_p95_s ttft_p99_s tpot_mean_s tpot_p50_s tpot_p95_s tpot_p99_s itl_p50_s itl_p99_s e2e_mean_s e2e_p50_s "
    "e2e_p95_s e2e_p99_s output_ratio schedule_lag_p99_s valid marks reasons remark "
    "abandoned e2e_planned_mean_s e2e_planned_p95_s e2e_planned_max_s evidence_of_failure failures "
    "cached_share prompt_ratio_p50 prompt_ratio_worst conversations conversations_failed cache finish_reasons "
    "asked_shares completed_shares"
)


def test_the_columns_stand_in_their_order() -> None:
    assert list(STEP_TABLE_COLUMNS) == STEP_TABLE.split()
