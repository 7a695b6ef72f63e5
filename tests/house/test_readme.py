"""The READMEs name what there is: every option, no other, and no file that is gone; and both say the same."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Collection
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READMES = ("README.md", "README.zh-CN.md")
PAGES = (*READMES, "CONTRIBUTING.md", "prompts/README.md")

LIST_OPTIONS = """
import json
from locust.argument_parser import get_empty_argument_parser, setup_parser_arguments
from loadband.load.options import add_options
def options(add):
    parser = get_empty_argument_parser(default_config_files=[])
    add(parser)
    return {string: str(action.default) for action in parser._actions for string in action.option_strings}
bare = options(lambda parser: None)
print(json.dumps({
    "ours": {name: default for name, default in options(add_options).items() if name not in bare},
    "locusts": options(setup_parser_arguments),
}))
"""
"""In a process of its own: importing Locust patches the interpreter."""


@pytest.fixture(scope="module")
def options() -> dict[str, dict[str, str]]:
    """Option -> default, of Loadband (`ours`) and of Locust (`locusts`)."""
    told = subprocess.run([sys.executable, "-c", LIST_OPTIONS], cwd=ROOT, capture_output=True, text=True, check=True)
    read: dict[str, dict[str, str]] = json.loads(told.stdout)
    return read


def text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def option_cells(page: str) -> list[tuple[str, str]]:
    """The first two cells of each row of a README's table of options."""
    return re.findall(r"^\| (`--.*?) \| (.*?) \|", text(page), flags=re.MULTILINE)


def table_rows(page: str) -> dict[str, str]:
    """Options in a README's table, each with its row's second cell."""
    return {option: default for cell, default in option_cells(page) for option in re.findall(r"`(--[a-z-]+)`", cell)}


@pytest.mark.process
@pytest.mark.parametrize("page", READMES)
def test_the_table_holds_every_option_with_its_default_and_no_other(
    page: str, options: dict[str, dict[str, str]]
) -> None:
    rows = table_rows(page)
    assert set(rows) == set(options["ours"])
    literal = {name: told[1] for name, cell in rows.items() if (told := re.fullmatch(r"`([^`<]+)`", cell))}
    assert literal == {name: options["ours"][name] for name in literal}


@pytest.mark.process
@pytest.mark.parametrize("page", PAGES)
def test_no_command_uses_an_option_that_does_not_exist(page: str, options: dict[str, dict[str, str]]) -> None:
    commands = re.findall(r"^locust .*$", text(page), flags=re.MULTILINE)
    used = {option for command in commands for option in re.findall(r"(?<!\S)--?[a-zA-Z][a-z-]*", command)}
    assert used <= set(options["ours"]) | set(options["locusts"])


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_links_is_there(page: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", text(page))
    assert [link for link in links if not ((ROOT / page).parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_make_target_that_a_page_names_is_there(page: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert "check" in targets
    named = re.findall(r"(?:^|`)make ([a-z-]+)", text(page), flags=re.MULTILINE)
    assert set(named) <= targets


FENCED = re.compile(r"^```.*?^```$", flags=re.MULTILINE | re.DOTALL)


def fenced(page: str) -> list[str]:
    """Fenced blocks: commands and the example of a verdict, byte for byte."""
    return FENCED.findall(text(page))


def first_cells(page: str) -> list[str]:
    """The first cell of every row of every table; what heads a table or parts it from its head left out."""
    rows = re.findall(r"(?:^\|.*\n)+", text(page), flags=re.MULTILINE)
    return [line.split(" | ")[0] for table in rows for line in table.splitlines()[2:]]


def links(page: str) -> set[str]:
    """Where a page links to, the other language left out."""
    return set(re.findall(r"\]\(([^)]+)\)|<(https?:[^>]+)>", text(page))) - {(other, "") for other in READMES}


def code(page: str) -> set[str]:
    """What stands between single backticks in the text and the tables."""
    return set(re.findall(r"`([^`\n]+)`", FENCED.sub("", text(page))))


def sections(page: str) -> list[str]:
    """The level of every heading."""
    return re.findall(r"^(#+) ", FENCED.sub("", text(page)), flags=re.MULTILINE)


SAME: list[tuple[Callable[[str], Collection[object]], str]] = [
    (fenced, "commands and example output, in the same order"),
    (option_cells, "options and defaults"),
    (first_cells, "words, exit codes and options of the tables"),
    (links, "links"),
    (code, "words in backticks"),
    (sections, "sections"),
]


@pytest.mark.parametrize(("read", "sentence"), SAME, ids=[row[1] for row in SAME])
def test_both_readmes_say_the_same(read: Callable[[str], Collection[object]], sentence: str) -> None:
    english, chinese = (read(page) for page in READMES)
    assert english, "nothing to compare"
    assert chinese == english, f"README.md and README.zh-CN.md differ: {sentence}"


@pytest.mark.parametrize(
    ("page", "line"), [("README.md", "[中文](README.zh-CN.md)"), (READMES[1], "[English](README.md)")]
)
def test_each_readme_names_the_other_at_its_top(page: str, line: str) -> None:
    assert line in text(page).splitlines()[:4]
