"""What our hooks add to Locust's own messages. In a process of their own: they change the one that imports them."""

import subprocess
import sys

import pytest

EARLY = """
from locust import events
from loadband.load import hooks
early, counted = {}, {"user_classes_count": {"InteractiveUser": 3}, "user_count": 3}
for data in (early, dict(counted)):
    events.report_to_master.fire(client_id="w", data=data)
assert early == {"user_classes_count": {}, "user_count": 0}, early
assert data == counted, data
"""


@pytest.mark.process
def test_a_report_has_counts_before_locust_counts() -> None:
    """The master fails on one without, which a worker sends that is told to quit while it connects."""
    done = subprocess.run([sys.executable, "-c", EARLY], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
