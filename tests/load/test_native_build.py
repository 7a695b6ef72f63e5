"""Building the library in C: where it cannot be built the same is done without, and one sentence says why."""

import shutil
from pathlib import Path

import pytest

from loadband.load import native
from loadband.load.native import __main__ as building
from tests.load.native_library import needed

INSTEAD = "streams are read in Python"


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sources, in a place where nothing was built."""
    needed()
    for source in (*native.SOURCES, *native.HEADERS):
        shutil.copy(source, tmp_path)
    sources = tuple(tmp_path / source.name for source in native.SOURCES)
    monkeypatch.setattr(native, "HERE", tmp_path)
    monkeypatch.setattr(native, "SOURCES", sources)
    monkeypatch.setattr(native, "HEADERS", tuple(tmp_path / header.name for header in native.HEADERS))
    monkeypatch.setattr(building, "HERE", tmp_path)
    monkeypatch.setattr(building, "SOURCES", sources)
    monkeypatch.delenv("LOADBAND_NATIVE", raising=False)
    monkeypatch.setattr(native, "library", native.library.__wrapped__)
    return tmp_path


def built(house: Path) -> list[str]:
    return [path.name for path in house.iterdir() if path.suffix not in (".c", ".h")]


def test_it_is_built_once_and_serves(house: Path) -> None:
    assert native.library() is None
    assert building.build() == f"built {native.place().name}"
    assert native.library() is not None
    assert building.build() == f"{native.place().name} is there"
    assert built(house) == [native.place().name]


def test_other_sources_are_another_library(house: Path) -> None:
    building.build()
    before = native.place()
    native.SOURCES[1].write_text(native.SOURCES[1].read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert native.library() is None, "what was built of the old sources is not loaded"
    building.build()
    assert native.place() != before
    assert built(house) == [native.place().name], "what is stale is gone"


def test_without_a_compiler(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(house))
    told = building.build()
    assert INSTEAD in told and "apt install gcc" in told
    assert (native.library(), built(house)) == (None, [])


def test_with_a_compiler_that_fails(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = house / "bin"
    broken.mkdir()
    (broken / "cc").write_text("#!/bin/sh\necho no such header >&2\nexit 1\n", encoding="utf-8")
    (broken / "cc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{broken}:/bin:/usr/bin")
    monkeypatch.delenv("CC", raising=False)
    told = building.build()
    assert INSTEAD in told and "no such header" in told
    assert built(house) == ["bin"]


def test_on_another_system(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert "needs Linux" in building.build()
    assert built(house) == []


def test_a_file_that_is_no_library_is_not_used(house: Path) -> None:
    native.place().write_bytes(b"no library")
    assert native.library() is None
    assert building.build().startswith("built"), "and is built anew"
    assert native.library() is not None


@pytest.mark.parametrize("word", ["0", "false", "No", " off "])
def test_it_can_be_unwanted(house: Path, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    building.build()
    assert native.library() is not None
    monkeypatch.setenv("LOADBAND_NATIVE", word)
    assert native.library() is None
    monkeypatch.setenv("LOADBAND_NATIVE", "1")
    assert native.library() is not None
