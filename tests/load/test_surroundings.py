"""Variables named LOADBAND_...: an empty one is none, an unknown one is told."""

from loadband.load.surroundings import drop_empty, unknown


def test_an_empty_variable_counts_as_unset() -> None:
    environ = {"LOADBAND_SLO": "", "LOADBAND_REPORT": "  ", "LOADBAND_STEPS": "1,2", "HOME": ""}
    drop_empty(environ)
    assert environ == {"LOADBAND_STEPS": "1,2", "HOME": ""}


def test_an_unknown_variable_is_told_with_the_likely_one() -> None:
    known = {"LOADBAND_STEPS", "LOADBAND_SLO", "LOADBAND_API_KEY"}
    assert unknown({"LOADBAND_STEPS": "1", "LOADBAND_API_KEY": "k", "PATH": ""}, known) == []
    near, far = unknown({"LOADBAND_STEP": "1", "LOADBAND_XYZZYXYZZY": "1"}, known)
    assert near == "the variable LOADBAND_STEP means nothing: did you mean LOADBAND_STEPS?"
    assert far.startswith("the variable LOADBAND_XYZZYXYZZY means nothing: --help")
