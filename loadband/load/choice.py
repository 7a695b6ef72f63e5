"""Which users run: what the words on the command line mean, and which class Locust spawns for it.

Knows: scenarios, shares, that an open loop has a source and a closed one has users. Must not know: requests, files.
"""

import argparse
from collections.abc import Mapping, Sequence

from locust import User
from locust.env import Environment

from loadband.errors import UsageError
from loadband.load.distribution import parse_shares
from loadband.load.mix import MixedUser, scenario_classes
from loadband.load.scenario_options import Settings
from loadband.load.source import SourceUser

OPEN_LOOP, MULTI_TURN, REPLAY = "open_loop", "multi_turn", "replay"


def user_class(name: str) -> str:
    """Name of a user class that was loaded, as an argparse type; of a stranger Locust would say so with exit code 1."""
    known, waiting = set(), [User]
    while waiting:
        for user in waiting.pop().__subclasses__():
            waiting.append(user)
            known |= set() if user.abstract else {user.__name__}
    if name not in known:
        raise argparse.ArgumentTypeError(f"there is no user class {name}: choose of {', '.join(sorted(known))}")
    return name


def choose(
    environment: Environment, named: Sequence[str], mix: str | None, *, at_rates: bool, recorded: bool
) -> dict[str, float]:
    """The shares that are meant: `--mix`, else the named classes alike, else the default. Raises UsageError.

    The default is interactive alone, `at_rates` (an open loop) open_loop alone, of `recorded` requests replay alone.
    """
    offered = scenario_classes(environment)
    if mix:
        shares = parse_shares(mix)
        if unknown := sorted(set(shares) - set(offered)):
            raise UsageError(f"there is no scenario {unknown[0]}: choose of {', '.join(sorted(offered))}")
        if named:
            raise UsageError("--mix says which scenarios run: leave out the names of user classes")
    else:
        default = {REPLAY if recorded else OPEN_LOOP if at_rates else "interactive": 1.0}
        shares = {user.scenario: 1.0 for user in offered.values() if user.__name__ in named} or default
    if at_rates and MULTI_TURN in shares:
        raise UsageError("the turns of a conversation wait for answers, which no rate can: leave multi_turn out")
    if (REPLAY in shares) != recorded:
        want = "say with --dataset FILE which" if not recorded else "let replay run, or leave --dataset out"
        raise UsageError(f"replay asks recorded requests: {want}")
    if not at_rates and OPEN_LOOP in shares:
        raise UsageError("open_loop needs a rate: say how many requests per second with --rates 0.5,1,2,4")
    return shares


def check_settings(environment: Environment, shares: Mapping[str, float], settings: Settings) -> None:
    """Refuse what `--set` says to no effect. Raises UsageError."""
    offered = scenario_classes(environment)
    for scenario, keys in settings.items():
        if scenario not in offered:
            raise UsageError(f"--set: there is no scenario {scenario}: choose of {', '.join(sorted(offered))}")
        if scenario not in shares:
            raise UsageError(f"--set: {scenario} does not run: leave it out, or name it in --mix")
        if useless := sorted(set(keys) - offered[scenario].takes):
            takes = ", ".join(sorted(offered[scenario].takes))
            raise UsageError(f"--set: {useless[0]} means nothing to {scenario}, which takes {takes}")


def install_users(environment: Environment, shares: Mapping[str, float], *, at_rates: bool) -> None:
    """Let Locust spawn one class alone on the master: the scenario's own, the one that mixes, or the source."""
    offered = scenario_classes(environment)
    closed = offered[next(iter(shares))] if len(shares) == 1 else MixedUser
    environment.user_classes = [SourceUser if at_rates else closed]


def install_all_users(environment: Environment) -> None:
    """A worker learns only from the master which class runs: it offers every one."""
    environment.user_classes = [*scenario_classes(environment).values(), MixedUser, SourceUser]
