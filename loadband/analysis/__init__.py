"""From a run directory, a table or Locust's own files to a verdict: windows, levels, curve, regions, failure point.

Knows: files of a finished (or killed) run, numbers, statistics. Must not know: Locust, gevent, sockets, or how
anything is printed or drawn.

    run_files -> windows -> measure + validity -> level -> curve -> regions, failure -> verdict
    table_file -> table_checks ----------------> level -> the same
    locust_files -> stretches -> locust_levels -> table_checks -> the same
"""
