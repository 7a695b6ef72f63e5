"""Small profiles for tests: everything is free and exact unless a test says otherwise."""

import dataclasses
from typing import Any

from loadband.sim.profile import Answers, Memory, Profile, Refusal, Scheduler, StepTime, checked

PARTS = {"scheduler": Scheduler, "memory": Memory, "step": StepTime, "answers": Answers, "refusal": Refusal}


def small(**changes: Any) -> Profile:
    """A profile with exact steps of 10 ms; `changes` are fields of any part, or of the profile."""
    profile = Profile(
        name="small", about="", model="small", max_model_len=256,
        scheduler=Scheduler(4, 64), memory=Memory(1000), step=StepTime(10.0), answers=Answers(20.0),
    )  # fmt: skip
    for part, kind in PARTS.items():
        names = {each.name for each in dataclasses.fields(kind)}
        own = {name: changes.pop(name) for name in list(changes) if name in names}
        profile = dataclasses.replace(profile, **{part: dataclasses.replace(getattr(profile, part), **own)})
    return checked(dataclasses.replace(profile, **changes))
