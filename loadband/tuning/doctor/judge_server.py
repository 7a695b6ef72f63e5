"""What the server tells of itself, held against what the run assumes.

Pure. Knows: `Told`, the probe's findings as values. Must not know: sockets.
"""

from collections.abc import Sequence

from loadband.tuning.doctor.check import Check, bad, good, unknown, warn
from loadband.tuning.doctor.needs import Needs
from loadband.tuning.doctor.told import Told
from loadband.tuning.doctor.words import counted

SHOWN = 5


def judge_refusal(stage: str, sentence: str) -> Check:
    """`stage`: where the probe could not get past; its sentence holds the next step."""
    said, step = parted(sentence)
    return bad(stage, said, step or "look at the server's log")


def parted(sentence: str) -> tuple[str, str]:
    """What is wrong and what to do: parted at the first `: `, else the first `; `, outside brackets."""
    for joint in (": ", "; "):
        depth = 0
        for place, sign in enumerate(sentence):
            depth += (sign == "(") - (sign == ")")
            if depth == 0 and sentence.startswith(joint, place):
                return sentence[:place], sentence[place + 2 :]
    return sentence, ""


def judge_key(variable: str, *, given: bool, needed: bool | None) -> Check:
    """Whether the key was accepted; `needed`: the same without a key was refused, None where it was not tried."""
    if not given:
        return good("key", f"none is wanted ({variable} is not set)")
    also = {True: ", and needed", False: "; the server lists its models without it, too", None: ""}[needed]
    return good("key", f"the one in {variable} is accepted{also}")


def judge_models(asked: str, offered: Sequence[str] | None, answered: str | None) -> Check:
    """The model that is asked, those that are listed, and the one that answers name."""
    values = {"model": asked, "offered": None if offered is None else list(offered[:SHOWN]), "answered": answered}
    if offered is None:
        return warn("models", f"{asked}; the server lists none", "make sure that the name is right", **values)
    if asked not in offered:
        few = ", ".join(offered[:SHOWN])
        return warn("models", f"the server does not list the model {asked}", f"choose of {few}", **values)
    if answered is not None and answered != asked:
        return warn("models", f"asked for {asked}, answers name {answered}", "is that the same model?", **values)
    return good("models", asked if len(offered) == 1 else f"{asked}, one of {len(offered)}", **values)


def judge_version(told: Told) -> Check:
    """Engine and version, for the report."""
    values = {"engine": told.engine, "version": told.version, "cache_tokens": told.cache_tokens}
    if told.version is None:
        who = f" ({told.engine} answers)" if told.engine else ""
        return unknown("version", f"not told{who}", "note it with --label version=...", **values)
    room = "" if told.cache_tokens is None else f", KV cache of {told.cache_tokens:,} tokens"
    return good("version", f"{told.engine or 'unknown engine'} {told.version}{room}", **values)


def judge_parallel(told: Told, needs: Needs) -> Check:
    """Slots and devices the server tells, against the users and `--accelerators`."""
    values = {
        "slots": told.slots, "devices": told.devices, "replicas": told.replicas, "accelerators": needs.accelerators,
    }  # fmt: skip
    parts = []
    if told.slots is not None:
        waits = needs.users is not None and needs.users > told.slots
        parts.append(
            f"{counted(told.slots, 'answer')} at once" + (", further users wait in its queue" if waits else "")
        )
    if told.devices is not None:
        parts.append(counted(told.devices, "device"))
    elif told.replicas is not None and told.replicas > 1:
        parts.append(counted(told.replicas, "replica"))
    said = ", ".join(parts)
    least = told.devices or told.replicas
    asked = needs.accelerators
    step = "figures per accelerator would be off by that factor: correct --accelerators"
    if asked is not None and least is not None and (asked < least or (told.devices is not None and asked != least)):
        return warn("parallel", f"the server tells {said}, --accelerators is {asked}", step, **values)
    if told.devices is None:
        trust = "" if asked is None else f"--accelerators {asked} is taken on trust"
        said = f"{said}; it does not tell its devices" if said else "the server tells neither slots nor devices"
        return unknown("parallel", said, trust, **values)
    return good("parallel", said, **values)
