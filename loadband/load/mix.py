"""Several scenarios in one run: the choice is made inside the user, for each conversation.

By Locust's weights a level of 1 user and one of 12 would be different work.

Knows: shares and user classes. Must not know: prompts, requests, files.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from locust.env import Environment

from loadband.errors import UsageError
from loadband.load.distribution import parse_shares
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


def choose(environment: Environment, named: Sequence[str], mix: str | None) -> dict[str, float]:
    """The shares that the words on the command line mean: `--mix`, else the named classes alike, else interactive."""
    offered = scenario_classes(environment)
    if mix:
        shares = parse_shares(mix)
        if unknown := sorted(set(shares) - set(offered)):
            raise UsageError(f"there is no scenario {unknown[0]}: choose of {', '.join(sorted(offered))}")
        if named:
            raise UsageError("--mix says which scenarios run: leave out the names of user classes")
        return shares
    return {user.scenario: 1.0 for user in offered.values() if user.__name__ in named} or {"interactive": 1.0}


def install_users(environment: Environment, shares: Mapping[str, float]) -> None:
    """Let Locust spawn one class alone on the master: the scenario's own, or the one that mixes."""
    offered = scenario_classes(environment)
    environment.user_classes = [offered[next(iter(shares))] if len(shares) == 1 else MixedUser]


def install_all_users(environment: Environment) -> None:
    """A worker learns only from the master which class runs: it offers every one."""
    environment.user_classes = [*scenario_classes(environment).values(), MixedUser]
