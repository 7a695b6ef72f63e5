"""Several scenarios in one run: the choice is made inside the user, for each conversation.

By Locust's weights a level of 1 user and one of 12 would be different work.

Knows: shares and user classes. Must not know: prompts, requests, files.
"""

import random
from collections.abc import Mapping
from typing import Any

from locust.env import Environment

from loadband.load.user import ModelUser


class MixedUser(ModelUser):
    """Picks a scenario by its share for each conversation."""

    abstract = True
    scenario = "mixed"

    def converse(self, source: random.Random) -> None:
        """One conversation of the scenario that the draw picks."""
        shares, classes = self.session.work.mix, scenario_classes(self.environment)
        picked = classes[source.choices(list(shares), list(shares.values()))[0]]
        self.scenario = picked.scenario  # type: ignore[misc]
        picked.converse(self, source)


def scenario_classes(environment: Environment) -> dict[str, type[ModelUser]]:
    """Scenario -> its user class, of all that the locustfile offers."""
    offered: Mapping[str, Any] = environment.available_user_classes or {}
    return {user.scenario: user for user in offered.values() if issubclass(user, ModelUser)}
