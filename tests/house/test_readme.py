"""The README names what there is: every option, no other, and no file that is gone."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "CONTRIBUTING.md", "prompts/README.md")
README = (ROOT / "README.md").read_text(encoding="utf-8")

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


def table_rows() -> dict[str, str]:
    """Options in the README's table, each with its row's second cell."""
    rows = re.findall(r"^\| (`--.*?) \| (.*?) \|", README, flags=re.MULTILINE)
    return {option: default for cell, default in rows for option in re.findall(r"`(--[a-z-]+)`", cell)}


@pytest.mark.process
def test_the_table_holds_every_option_with_its_default_and_no_other(options: dict[str, dict[str, str]]) -> None:
    rows = table_rows()
    assert set(rows) == set(options["ours"])
    literal = {name: told[1] for name, cell in rows.items() if (told := re.fullmatch(r"`([^`<]+)`", cell))}
    assert literal == {name: options["ours"][name] for name in literal}


@pytest.mark.process
@pytest.mark.parametrize("page", PAGES)
def test_no_command_uses_an_option_that_does_not_exist(page: str, options: dict[str, dict[str, str]]) -> None:
    commands = re.findall(r"^locust .*$", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    used = {option for command in commands for option in re.findall(r"(?<!\S)--?[a-zA-Z][a-z-]*", command)}
    assert used <= set(options["ours"]) | set(options["locusts"])


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_links_is_there(page: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", (ROOT / page).read_text(encoding="utf-8"))
    assert [link for link in links if not ((ROOT / page).parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_make_target_that_a_page_names_is_there(page: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert "check" in targets
    named = re.findall(r"(?:^|`)make ([a-z-]+)", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert set(named) <= targets
