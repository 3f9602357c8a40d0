"""The pages under docs: what the code cites is there, and the list of packages is right."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = [path for folder in ("src", "tests") for path in sorted((ROOT / folder).rglob("*.py")) if path != Path(__file__)]
CITATIONS = {
    "spec.md": r"\bspec(?:\.md)?(?: section)? (\d+(?:\.\d+)?)",
    "replicacad.md": r"\breplicacad\.md(?: section)? (\d+(?:\.\d+)?)",
}
DECISION = r"\bsection 14, (\d+)"
ROW = re.compile(r"^\| `(\w+)(?:/|\.py)` \|", re.MULTILINE)
"""A package or module of the architecture page."""


def cited(pattern: str) -> dict[str, str]:
    """What the sources cite, and one file that does."""
    return {number: path.name for path in SOURCES for number in re.findall(pattern, path.read_text())}


def packages() -> list[str]:
    """The packages in the order of the import layers, lowest first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(c["layers"] for c in contracts if c["type"] == "layers")
    return [name for layer in reversed(layers) for name in re.findall(r"\w+", layer) if name != "__main__"]


@pytest.mark.parametrize("page", CITATIONS)
def test_every_section_that_the_code_cites_is_on_the_page(page):
    headings = set(re.findall(r"^##+ (\d+(?:\.\d+)?)\.? ", (ROOT / "docs" / "concepts" / page).read_text(), re.MULTILINE))
    found = cited(CITATIONS[page])
    assert found, f"nobody cites {page}"
    assert {number: file for number, file in found.items() if number not in headings} == {}


def test_every_decision_that_the_code_cites_is_in_the_list():
    page = (ROOT / "docs" / "concepts" / "spec.md").read_text()
    rows = set(re.findall(r"^\| (\d+) \|", page[page.index("## 14.") :], re.MULTILINE))
    assert {number: file for number, file in cited(DECISION).items() if number not in rows} == {}


def test_the_architecture_page_lists_the_packages_in_the_order_of_the_layers():
    assert ROW.findall((ROOT / "docs" / "concepts" / "architecture.md").read_text()) == packages()


def sentences(page: str) -> list[str]:
    """The sentences of a page without code, tables and headings; links and code in a line count as one word."""
    paragraphs, lines = [], []
    for line in [*re.sub(r"```.*?```", "", page, flags=re.DOTALL).splitlines(), ""]:
        item = re.match(r"\s*(?:[*-]|\d+\.)\s", line)
        if (item or not line.strip() or line.startswith(("|", "#", "<!--", "![", "!!!"))) and lines:
            paragraphs.append(" ".join(lines))
            lines = []
        if item:
            lines = [line[item.end() :]]
        elif line.strip() and not line.startswith(("|", "#", "<!--", "![", "!!!")) and (lines or not line.startswith("    ")):
            lines.append(line.strip())
    plain = [re.sub(r"`[^`]*`", "code", re.sub(r"\]\([^)]*\)", "]", text)) for text in paragraphs]
    return [sentence for text in plain for sentence in re.split(r"(?<=[.!?:;])\s+", text)]


def test_sentences_have_at_most_25_words_as_a_rule():
    pages = [path for path in sorted((ROOT / "docs").rglob("*.md")) if "lab_notes" not in path.parts]
    every = [sentence for path in (*pages, ROOT / "README.md") for sentence in sentences(path.read_text())]
    long = [sentence for sentence in every if len(re.findall(r"\S*\w\S*", sentence)) > 25]
    assert len(every) > 1000
    assert len(long) <= 0.03 * len(every), sorted(long, key=len)[-5:]


def test_sentences_are_found():
    page = "# A title\n\nOne `a b` two. Three\nfour: five\n\n    code here\n\n| a | b |\n* six [s e v](x y)\n* eight\n"
    assert sentences(page) == ["One code two.", "Three four:", "five", "six [s e v]", "eight"]
