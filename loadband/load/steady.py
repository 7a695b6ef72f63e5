"""Who gets users: the workers of a test's start, less those that went, and only when a number of users is asked for.

Knows: Locust's dispatcher. Must not know: files, levels, why a worker went.

Locust deals all users anew whenever a worker comes, heals or leaves, in the middle of a level: streams are cut, and
a newcomer is given users though it knows nothing of the run. Here a worker that went is dealt no more users, and the
others get its share when the next number of users is asked for.
"""

from locust import User
from locust.dispatch import UsersDispatcher
from locust.runners import WorkerNode

from loadband.load.roll import Roll


class SteadyDispatcher(UsersDispatcher):
    """Deals users to the workers of the test's start, less those that went."""

    def __init__(self, roll: Roll, worker_nodes: list[WorkerNode], user_classes: list[type[User]]) -> None:
        fit = [node for node in worker_nodes if roll.may_work(node.id)]
        super().__init__(fit or worker_nodes, user_classes)
        self._roll = roll

    @property
    def dispatch_in_progress(self) -> bool:
        """Locust asks this before it deals anew by itself: it is never the moment."""
        return True

    def add_worker(self, worker_node: WorkerNode) -> None:
        """Who comes late gets no users."""

    def remove_worker(self, worker_node: WorkerNode) -> None:
        """Who goes is struck off."""
        self._roll.strike_off(worker_node.id)
        super().remove_worker(worker_node)
