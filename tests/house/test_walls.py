"""The walls of the house, held against every file; and each wall against a source that breaks it.

A wall that finds no file at all fails: a renamed directory must not make it vacuous.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.house import walls

ROOT = Path(__file__).parents[2]
OURS = ("loadband", "scenarios", "reports", "locustfile", "tests", "deploy", "benchmarks")
CODE = ("loadband", "scenarios", "reports", "tests", "deploy", "benchmarks")
HEAVY = ("pandas", "matplotlib", "plotly", "transformers", "scipy", "rich", "loadband.analysis", "reports")
DOCTORS_JUDGES = ("check", "seen", "needs", "told", "words", "judge_answers", "judge_client", "judge_link",
                  "judge_server", "judge_streams")  # fmt: skip
MAX_LINES = 300


def sources(*places: str) -> list[Path]:
    """Python files of these directories and files, relative to the root."""
    found = [ROOT / place for place in places if place.endswith(".py") and (ROOT / place).is_file()]
    found += [path for place in places for path in (ROOT / place).rglob("*.py") if (ROOT / place).is_dir()]
    return sorted(path.relative_to(ROOT) for path in found if "__pycache__" not in path.parts)


def package_of(path: Path) -> str:
    return ".".join(path.parent.parts)


Check = Callable[[str, str], list[str]]
"""Faults of a source text, given its package."""


@dataclass(frozen=True)
class Wall:
    sentence: str
    places: tuple[str, ...]
    faults: Check
    bad: tuple[str, ...]
    """Sources that break the wall."""
    good: tuple[str, ...] = ("import json",)
    """Sources that look like it and do not."""
    required: bool = True
    """Whether there must be such a file already."""
    but: str = ""
    """The one file that may."""


def keeps_out(*modules: str) -> Check:
    return lambda source, package: walls.forbidden(source, modules, package)


WALLS = [
    Wall(
        "the contract imports the standard library only",
        tuple(f"loadband/{name}.py" for name in walls.CONTRACT),
        walls.beyond_standard_library,
        ("import pandas", "from loadband.load import reader", "import os, numpy as np", "from . import analysis",
         "def late():\n    import requests", "from loadband import load"),
        ("import os.path", "from loadband.errors import UsageError", "from .errors import UsageError",
         "from loadband import errors"),
    ),
    Wall(
        "the analysis and the reports never import Locust or gevent, nor the load half",
        ("loadband/analysis", "reports"),
        keeps_out("locust", "gevent", "geventhttpclient", "loadband.load", "locustfile", "scenarios"),
        ("import locust", "import gevent.monkey", "from locust.stats import RequestStats", "from loadband import load",
         "from ..load.reader import Reader", "def late():\n    from loadband.load import ladder",
         "import importlib\nimportlib.import_module('gevent')", "if TYPE_CHECKING:\n    import locust"),
        ("import pandas", "from loadband.rundir import read_run", "locust = 'a word'", "from loadband.loader import x"),
    ),
    Wall(
        "the load half never imports the analysis or the reports",
        ("loadband/load", "scenarios", "locustfile.py"),
        keeps_out("loadband.analysis", "reports", "loadband.tuning.cost"),
        ("from loadband.analysis import curve", "import reports", "from ..analysis.windows import cut",
         "def late():\n    import loadband.analysis.verdict"),
        ("import locust", "from loadband.slo import parse_slo", "subprocess.run([sys.executable, '-m', 'reports'])"),
    ),
    Wall(
        "the analysis never imports what tunes: only files pass from one to the other",
        ("loadband/analysis",),
        keeps_out("loadband.tuning"),
        ("from loadband.tuning.doctor import check", "from ..tuning import doctor"),
    ),
    Wall(
        "the doctor asks with the load half's sockets, and imports neither Locust nor the analysis",
        ("loadband/tuning/doctor",),
        keeps_out("locust", "loadband.analysis", "reports", "scenarios", "locustfile"),
        ("from locust import events", "from loadband.analysis import curve", "import reports"),
        ("from loadband.load.probe import Probe", "import gevent", "from rich.table import Table"),
    ),
    Wall(
        "the doctor's judges are pure: values in, checks out",
        tuple(f"loadband/tuning/doctor/{name}.py" for name in DOCTORS_JUDGES),
        keeps_out("gevent", "geventhttpclient", "socket", "time", "loadband.load.connection", "loadband.load.exchange",
                  "loadband.load.probe", "loadband.tuning.doctor.ask_link", "loadband.tuning.doctor.ask_answers",
                  "loadband.tuning.doctor.ask_pages", "loadband.tuning.doctor.ask_client"),
        ("import socket", "from loadband.load.probe import Probe", "from loadband.tuning.doctor import ask_link"),
        ("from loadband.load.distribution import Distribution", "from statistics import median"),
    ),
    Wall(
        "the load half needs neither pandas, matplotlib, plotly, transformers, SciPy nor rich",
        ("loadband/load", "scenarios", "locustfile.py"),
        keeps_out("pandas", "matplotlib", "plotly", "transformers", "scipy", "rich"),
        ("import pandas as pd", "from scipy import stats", "def late():\n    from transformers import AutoTokenizer"),
        ("import gevent", "import pandas_like"),
    ),
    Wall(
        "the simulator imports nothing of the rest",
        ("loadband/sim",),
        lambda source, package: walls.beyond(source, "loadband.sim", OURS, package),
        ("from loadband.record import Record", "from ..errors import UsageError", "import reports"),
        ("from loadband.sim.engine import Engine", "from .engine import Engine", "import heapq"),
        required=False,
    ),
    Wall(
        "what is changed inside Locust stands in one module",
        ("loadband", "scenarios", "reports", "deploy", "benchmarks", "locustfile.py"),
        lambda source, _package: walls.patches(source),
        ("import locust.stats\nlocust.stats.CSV_STATS_INTERVAL_SEC = 1",
         "import locust.stats as s\ns.sort_stats = None", "import gevent\nsetattr(gevent, 'x', 1)",
         "from locust import runners\nrunners.MasterRunner.quit = quit_cleanly",
         "from locust.env import Environment\ndel Environment.run_single_user",
         "from locust.stats import RequestStats as R\nR.total, other = 1, 2",
         "import locust\nlocust.stats.HEARTBEAT += 1",
         "from locust import stats\nstats.STATS['x'] = 1", "from geventhttpclient import client\nclient.A: int = 1"),
        ("import locust\nlocust = None", "def f(environment):\n    environment.shape_class = 1",
         "from locust import events\n@events.init.add_listener\ndef f(**_): pass",
         "from locust import User\nclass Mine(User):\n    abstract = True"),
        but="loadband/load/locust_patches.py",
    ),
]  # fmt: skip


@pytest.mark.parametrize("wall", WALLS, ids=[wall.sentence for wall in WALLS])
def test_the_wall_stands(wall: Wall) -> None:
    files = sources(*wall.places)
    if wall.required:
        missing = [place for place in wall.places if place.startswith("loadband") and not sources(place)]
        assert not missing, "a wall around nothing"
    faults = {
        str(path): told
        for path in files
        if path.as_posix() != wall.but
        and (told := wall.faults((ROOT / path).read_text(encoding="utf-8"), package_of(path)))
    }
    assert faults == {}, wall.sentence


@pytest.mark.parametrize(("wall", "bad"), [(wall, bad) for wall in WALLS for bad in wall.bad])
def test_a_source_that_breaks_the_wall_is_found(wall: Wall, bad: str) -> None:
    package = wall.places[0].removesuffix(".py").replace("/", ".")
    package = "loadband" if wall.places[0].endswith(".py") else package
    assert wall.faults(bad, package) != [], f"{wall.sentence}: {bad}"


@pytest.mark.parametrize(("wall", "good"), [(wall, good) for wall in WALLS for good in wall.good])
def test_a_source_that_keeps_the_wall_is_left_alone(wall: Wall, good: str) -> None:
    package = "loadband" if wall.places[0].endswith(".py") else wall.places[0].replace("/", ".")
    assert wall.faults(good, package) == [], f"{wall.sentence}: {good}"


def test_every_place_of_the_house_is_there() -> None:
    gone = [place for place in ("loadband", "loadband/analysis", "loadband/load", "scenarios", "reports", "tests")
            if not sources(place)]  # fmt: skip
    assert gone == []


LONG = "x = 1\n" * (MAX_LINES + 1)


def too_long(source: str, most: int) -> bool:
    return len(source.splitlines()) > most


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    assert too_long(LONG, MAX_LINES)
    assert not too_long(LONG[6:], MAX_LINES)
    files = sources(*CODE)
    assert [str(path) for path in files if too_long((ROOT / path).read_text(encoding="utf-8"), MAX_LINES)] == []


def test_a_scenario_fits_a_screen() -> None:
    files = sources("scenarios")
    assert [str(path) for path in files if too_long((ROOT / path).read_text(encoding="utf-8"), 80)] == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert walls.careless("loadband/load/utils.py") == ["utils"]
    assert walls.careless("loadband/common/reader.py") == ["common"]
    assert walls.careless("loadband/load/uncommon.py") == []
    assert [str(path) for path in sources(*CODE) if walls.careless(path.as_posix())] == []


MENU = "import sys\nfrom scenarios.interactive import InteractiveUser\n__all__ = ['InteractiveUser']\n"


def test_the_locustfile_is_a_menu() -> None:
    assert walls.logic(MENU) == []
    assert walls.logic(MENU + "def f(): pass") == ["line 4: FunctionDef"]
    assert walls.logic(MENU + "for x in y: pass") == ["line 4: For"]
    source = (ROOT / "locustfile.py").read_text(encoding="utf-8")
    assert not too_long(source, 40)
    assert walls.logic(source) == []


PRIVATE = [
    ("cd /wo" "rk/main", True, "a checkout"),
    ("see `/ro" "ot`", True, "somebody's home"),
    ("/ho" "me/me/models", True, "somebody's home, below"),
    ("C:\\Us" "ers\\me", True, "somebody's home, on another system"),
    ("as sha" "red/design.md says", True, "a page that is not here"),
    ("net/wo" "rk/layer, ~/models, /root_path, file:///tmp/x", False, "paths of nobody"),
    ("the shared/prefix, /usr/share, /dev/shm, /proc", False, "paths of everybody"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "private", "sentence"), PRIVATE, ids=[row[2] for row in PRIVATE])
def test_private_paths_are_found(text: str, private: bool, sentence: str) -> None:
    assert bool(walls.private_paths(text)) is private, sentence


def committed() -> list[Path]:
    """Files that git keeps."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return [ROOT / name for name in listing.split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.skipif(not shutil.which("git") or not (ROOT / ".git").exists(), reason="no git checkout")
def test_no_committed_file_names_a_place_on_somebodys_machine() -> None:
    files = committed()
    assert ROOT / "loadband" / "record.py" in files
    faults = {}
    for path in files:
        data = path.read_bytes()
        if b"\0" not in data and (told := walls.private_paths(data.decode("utf-8", errors="replace"))):
            faults[str(path.relative_to(ROOT))] = told
    assert faults == {}


def loaded_by(code: str, names: tuple[str, ...]) -> list[str]:
    """Which of the modules are loaded once `code` ran in an interpreter of its own."""
    told = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*[n for n in {names!r} if n in sys.modules])"],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    return told.stdout.split()


@pytest.mark.process
def test_a_worker_loads_nothing_heavy() -> None:
    assert loaded_by("import locustfile", HEAVY) == []


@pytest.mark.process
def test_the_analysis_loads_neither_locust_nor_gevent_by_any_way() -> None:
    modules = [".".join(path.with_suffix("").parts) for path in sources("loadband/analysis", "reports")]
    code = "\n".join(f"import {name.removesuffix('.__init__')}" for name in modules if not name.endswith("__main__"))
    assert loaded_by(code, ("locust", "gevent", "geventhttpclient", "loadband.load")) == []


@pytest.mark.process
def test_a_loaded_module_would_be_seen() -> None:
    assert loaded_by("import json.decoder", ("json.decoder", "gevent")) == ["json.decoder"]
