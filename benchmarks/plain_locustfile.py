"""What people write for Locust when they have an hour: HttpUser, `iter_lines`, `json.loads`. A peer to compare with.

Knows: nothing of Loadband, on purpose.
"""

import json
import time

from locust import HttpUser, constant, task


class PlainUser(HttpUser):
    """Asks, reads the lines of the stream, tells Locust when the first token came."""

    wait_time = constant(0)

    @task
    def ask(self) -> None:
        """One request; its first token is an event of its own."""
        asked = {"model": "bench", "messages": [{"role": "user", "content": "hello " * 50}], "stream": True}
        begun, first = time.perf_counter(), None
        with self.client.post("/v1/chat/completions", json=asked, stream=True, catch_response=True) as answer:
            for line in answer.iter_lines():
                if not line.startswith(b"data: ") or line == b"data: [DONE]":
                    continue
                choices = json.loads(line[6:])["choices"]
                if choices and choices[0]["delta"].get("content") and first is None:
                    first = time.perf_counter()
            answer.success()
        if first is not None:
            self.environment.events.request.fire(
                request_type="TTFT", name="ttft", response_time=(first - begun) * 1000, response_length=0,
                exception=None, context={},
            )  # fmt: skip
