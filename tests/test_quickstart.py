"""The README's promises: its Python runs as printed, its pictures and pages are there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from housemates.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def quickstart() -> str:
    """The block of Python in the README."""
    found = re.search(r"<!-- quickstart.*?-->\n```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found, "README.md has no quickstart block"
    return found.group(1)


def test_the_quickstart_runs_as_printed(tmp_path):
    done = subprocess.run([sys.executable, "-c", quickstart()], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^eval/00: \d+\.\d m2, .*024_bowl.*\nthe robots start \d+\.\d m apart\nrobot 0 sees", done.stdout)


def marked_blocks():
    """Blocks of Python on the pages that are marked as tested: page, number, text."""
    marked = re.compile(r"<!-- tested -->\n```python\n(.*?)```", re.DOTALL)
    return [(page.name, number, text) for page in PAGES for number, text in enumerate(marked.findall(page.read_text()))]


@pytest.mark.parametrize(("page", "number", "text"), marked_blocks(), ids=lambda value: str(value)[:24])
def test_a_marked_block_of_a_page_runs_as_printed(page, number, text, tmp_path):
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "docs/concepts/environments.md",
        "docs/concepts/homes.md",
        "docs/concepts/observations.md",
        "docs/howto/recordings.md",
    ],
)
def test_a_page_imports_nothing_internal(name):
    imported = re.findall(r"^\s*(?:from|import) (housemates\.\S+)", (ROOT / name).read_text(), re.MULTILINE)
    assert set(imported) <= {"housemates.envs.sb3"}


def test_the_quickstart_is_short():
    assert len([line for line in quickstart().splitlines() if line.strip()]) <= 12


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_of_a_page_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text())
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_commands_of_a_page_exist(page, capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    known = re.findall(r"• (\w+)", capsys.readouterr().out)
    named = re.findall(r"^    housemates (\w+)", page.read_text(), re.MULTILINE)
    assert set(named) <= set(known)


def test_the_contact_sheet_is_small_enough_for_a_page():
    assert (ROOT / "docs" / "images" / "homes.png").stat().st_size < 600_000
