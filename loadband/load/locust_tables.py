"""Locust's own CSV files, with full history, in the run directory.

Knows: Locust's CSV writer. Must not know: anything of Loadband's files.

Locust's `--csv` must be chosen before any hook runs, and it leaves out the last second; this does neither.
"""

from pathlib import Path

import gevent
from locust import stats
from locust.env import Environment


class LocustTables:
    """Writes `<prefix>_stats.csv`, `_stats_history.csv`, `_failures.csv`, `_exceptions.csv` until `finish`."""

    def __init__(self, environment: Environment, prefix: Path) -> None:
        self._writer = stats.StatsCSVFileWriter(environment, stats.PERCENTILES_TO_REPORT, str(prefix), True)
        self._environment = environment
        self._greenlet = gevent.spawn(self._writer.stats_writer)

    def finish(self, now: float) -> None:
        """Write the last state once more and close."""
        self._greenlet.kill()
        writer = self._writer
        for handle, table, write in (
            (writer.requests_csv_filehandle, writer.requests_csv_writer, writer.requests_csv),
            (writer.failures_csv_filehandle, writer.failures_csv_writer, writer.failures_csv),
            (writer.exceptions_csv_filehandle, writer.exceptions_csv_writer, writer.exceptions_csv),
        ):
            handle.seek(0)
            write(table)
            handle.truncate()
        writer._stats_history_data_rows(writer.stats_history_csv_writer, now)
        writer.close_files()
