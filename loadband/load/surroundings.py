"""`LOADBAND_...` variables: one that is empty counts as unset, one that means nothing is told.

Knows: names of variables. Must not know: what an option does.
"""

import argparse
import difflib
from collections.abc import Collection, MutableMapping

from loadband.load import native
from loadband.load.options import KEY_VARIABLE

PREFIX = "LOADBAND_"


def drop_empty(environ: MutableMapping[str, str]) -> None:
    """Take empty variables of ours out: `LOADBAND_SLO=` in a compose file means that there is none."""
    for name in [name for name, value in environ.items() if name.startswith(PREFIX) and not value.strip()]:
        del environ[name]


def variables_of(parser: argparse.ArgumentParser, key_variable: str) -> set[str]:
    """The variables that options read, those that hold a key, and the one that is for each process alone."""
    told = {getattr(action, "env_var", None) for action in parser._actions}
    return {name for name in told if name} | {KEY_VARIABLE, key_variable, native.VARIABLE}


def unknown(environ: Collection[str], known: Collection[str]) -> list[str]:
    """A sentence for each variable of ours that nothing reads."""
    sentences = []
    for name in sorted(name for name in environ if name.startswith(PREFIX) and name not in known):
        near = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]}?" if near else "--help names each option, the variable is named after it"
        sentences.append(f"the variable {name} means nothing: {hint}")
    return sentences
