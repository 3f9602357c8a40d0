"""The pages under docs: what the code cites is there, and the list of rooms is the package's."""

import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "housemates"
SOURCES = [path for folder in ("src", "tests") for path in sorted((ROOT / folder).rglob("*.py")) if path != Path(__file__)]
CITATIONS = {
    "spec.md": r"\bspec(?:\.md)?(?: section)? (\d+(?:\.\d+)?)",
    "replicacad.md": r"\breplicacad\.md(?: section)? (\d+(?:\.\d+)?)",
}
DECISION = r"\bsection 14, (\d+)"
ROW = re.compile(r"^\| `(\w+)[/*]`[^|]*\|[^|]*\|([^|]*)\|", re.MULTILINE)
"""A room of the architecture page: its name and its files."""


def cited(pattern: str) -> dict[str, str]:
    """What the sources cite, and one file that does."""
    return {number: path.name for path in SOURCES for number in re.findall(pattern, path.read_text())}


def rooms() -> list[str]:
    """The package's rooms in the order of the import layers, cellar first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(c["layers"] for c in contracts if c["type"] == "layers")
    names = [re.findall(r"\w+", layer) for layer in reversed(layers)]
    return [layer[0] for layer in names if (PACKAGE / layer[0]).is_dir() or layer[0] == "cli"]


@pytest.mark.parametrize("page", CITATIONS)
def test_every_section_that_the_code_cites_is_on_the_page(page):
    headings = set(re.findall(r"^##+ (\d+(?:\.\d+)?)\.? ", (ROOT / "docs" / page).read_text(), re.MULTILINE))
    found = cited(CITATIONS[page])
    assert found, f"nobody cites {page}"
    assert {number: file for number, file in found.items() if number not in headings} == {}


def test_every_decision_that_the_code_cites_is_in_the_list():
    page = (ROOT / "docs" / "spec.md").read_text()
    rows = set(re.findall(r"^\| (\d+) \|", page[page.index("## 14.") :], re.MULTILINE))
    assert {number: file for number, file in cited(DECISION).items() if number not in rows} == {}


def test_the_architecture_page_lists_the_rooms_in_the_order_of_the_layers():
    listed = [room for room, _ in ROW.findall((ROOT / "docs" / "architecture.md").read_text())]
    assert listed == rooms()


def test_contributing_lists_the_rooms_in_the_order_of_the_layers():
    chain = re.search(r"`(kernels <[^`]*)`", (ROOT / "CONTRIBUTING.md").read_text())
    assert chain is not None
    assert re.split(r"\s*<\s*", chain.group(1)) == rooms()


def test_the_architecture_page_names_every_file_of_every_room():
    missing = []
    for room, text in ROW.findall((ROOT / "docs" / "architecture.md").read_text()):
        named = ["__init__", *re.findall(r"`([\w*]+)`", text)]
        stems = sorted(file.stem for file in (PACKAGE / room).glob("*.py"))
        missing += [f"{room}/{stem}" for stem in stems if not any(fnmatch(stem, name) for name in named)]
    assert missing == []
