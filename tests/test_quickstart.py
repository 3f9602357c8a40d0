"""README and docs: Python runs as printed, commands are ones that the command line takes, links lead somewhere."""

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import housemates
from housemates.agents.agent import resolve, shipped
from housemates.cli.main import commands, main
from housemates.cli.parse import check, with_list
from housemates.tasks.tasks import TASKS

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"(?:^<!-- (?P<note>[^\n]*?) -->\n)?^```python\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL)
ELSEWHERE = {
    "your own method": "tests/methods/test_your_own_method.py",
    "python": "tests/methods/test_your_own_method.py",
    "my_house.py": "tests/tasks/test_your_own_task.py",
    "cloning": "tests/datasets/test_documentation.py",
    "loop": "tests/test_quickstart.py",
}
"""Notes above blocks that other tests run, and where those are; a note may also name its test itself."""
FENCE = re.compile(r"^(?:<!-- (?P<note>[^\n]*?) -->\n)?```(?P<kind>[^\n]*)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)
PROSE = ("text", "bibtex")
"""Blocks that are not meant to be run: diagrams, addresses, citations."""
FIRST, REAL = "run first: housemates ", "needs ReplicaCAD"
PLACEHOLDER = re.compile(r"\b[A-Z][A-Z_]*\b|\bmy_|clear_table|flats")
AUDIT = ("evaluation.diversity", "evaluation.metrics", "evaluation.rows", "evaluation.stats")
OTHER = ("envs.sb3", "homes.splits", "agents.agent", "tasks.episodes")
ALLOWED = {f"housemates.{module}" for module in (*AUDIT, *OTHER)}
"""Modules that pages import beside `housemates`: those of the audit and of reports, which have no public function yet."""


def name(page: Path) -> str:
    """A page by its place in the repository."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[tuple[str, str]]:
    """Blocks of Python that this file runs: the note above each, and its text. A block with a title shows an example."""
    found = [(match["note"] or "", match["code"]) for match in BLOCK.finditer(page.read_text())]
    return [(note, code) for note, code in found if not note.startswith(tuple(ELSEWHERE)) and "tests/" not in note]


def lines_of_commands(page: Path) -> list[str]:
    """Lines that begin with `housemates`, in blocks of a shell or indented; comments are cut off, continued lines joined."""
    text = page.read_text().replace("\\\n", " ")
    fences = re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    fenced = [block for language, block in fences if language in ("", "sh")]
    indented = re.findall(r"^    (housemates .*)$", text, re.MULTILINE)
    return [*indented, *(line for block in fenced for line in block.splitlines() if line.startswith("housemates "))]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name)
def test_the_python_of_a_page_runs_as_printed(page, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    for note, code in blocks(page):
        if note.startswith(FIRST):
            assert main(shlex.split(note.removeprefix(FIRST))) == 0
        if note == REAL:
            (tmp_path / "data").mkdir()
            (tmp_path / "data" / "replica_cad").symlink_to(request.getfixturevalue("replica_cad"))
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, f"{code}\n{done.stderr}"


def test_the_loop_of_the_readme_trains(tmp_path):
    found = re.search(r"<!-- loop.*?-->\n```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found, "README.md has no training loop"
    shorter = {
        "range(2400)": "range(3)",
        "num_envs=256": "num_envs=8",
        'observations="state")': 'observations="state", split="dev")',
    }
    code = found.group(1)
    for printed, run in shorter.items():
        assert printed in code
        code = code.replace(printed, run)
    code += "\nassert torch.isfinite(loss) and seen.shape == (8, 75)\n"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_of_a_page_is_run_or_checked(page):
    text = page.read_text()
    for fence in FENCE.finditer(text):
        kind, note, content = fence["kind"].strip(), fence["note"] or "", fence["text"]
        if kind == "toml":
            tomllib.loads(content)
        elif kind.startswith("{ .python"):
            (example,) = re.findall(r'title="(.*?)"', kind)
            assert content.strip() == f'--8<-- "{example}"'
            assert f'"{Path(example).stem}"' in (ROOT / "tests" / "examples" / "test_examples.py").read_text()
        elif kind == "python" and (note.startswith(tuple(ELSEWHERE)) or "tests/" in note):
            test = next((file for word, file in ELSEWHERE.items() if note.startswith(word)), "")
            test = test or re.findall(r"tests/[\w/]+\.py", note)[0]
            assert page.name in (ROOT / test).read_text()
        else:
            assert kind in ("", "sh", "python", *PROSE), f"nothing runs a block of kind '{kind}'"
    assert not re.findall(r"^    (?:import|from) \w+", FENCE.sub("", text), re.MULTILINE), "Python belongs into ```python"


def shell_lines(page: Path) -> list[str]:
    """Lines of blocks for a shell that call Python or make."""
    fenced = [fence["text"] for fence in FENCE.finditer(page.read_text()) if fence["kind"].strip() == "sh"]
    return [line for block in fenced for line in block.splitlines() if line.startswith(("python ", "make "))]


@pytest.mark.parametrize("page", [page for page in PAGES if shell_lines(page)], ids=name)
def test_scripts_and_targets_that_a_page_calls_are_there(page):
    targets = set(re.findall(r"^([a-z][\w -]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    known = {target for line in targets for target in line.split()}
    for line in shell_lines(page):
        words = shlex.split(line, comments=True)
        if words[0] == "make":
            assert set(words[1:]) <= known, line
        elif words[1].endswith(".py"):
            code = (ROOT / words[1]).read_text()
            options = [word.removeprefix("--").replace("-", "_") for word in words[2:] if word.startswith("--")]
            assert [option for option in options if f"{option}:" not in code] == [], line


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_imports_public_names_only(page):
    imported = {
        word for _, code in blocks(page) for word in re.findall(r"^(?:from|import) (housemates\.\S+)", code, re.MULTILINE)
    }
    assert imported <= ALLOWED


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_of_a_page_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


def refusal(line: str) -> str:
    """What the command line says against a line of a page; names of the reader's own (RUN, my_house) are let through."""
    words = shlex.split(line.replace("[", "").replace("]", ""), comments=True)[1:]
    words = [word for at, word in enumerate(words) if word != "--use" and (at == 0 or words[at - 1] != "--use")]
    try:
        check(commands(), with_list(commands(), words))
    except ValueError as error:
        return "" if PLACEHOLDER.search(str(error)) else f"{line}: {error}"
    return ""


@pytest.mark.parametrize("page", [page for page in PAGES if lines_of_commands(page)], ids=name)
def test_commands_of_a_page_are_taken(page, monkeypatch):
    monkeypatch.chdir(ROOT / "examples")
    assert [said for line in lines_of_commands(page) if (said := refusal(line))] == []


def test_pictures_are_small_enough_for_a_page():
    sizes = {path.name: path.stat().st_size for path in (ROOT / "docs" / "images").iterdir()}
    assert {file: size for file, size in sizes.items() if size > 3_000_000} == {}


def test_the_api_page_has_every_public_name():
    page = (ROOT / "docs" / "api" / "index.md").read_text()
    shown = set(re.findall(r"(?:^::: |`)housemates\.(\w+)", page, re.MULTILINE))
    assert set(housemates.__all__) - shown == set()


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize("task", list(TASKS))
def test_the_demo_takes_a_task_and_an_agent_that_comes_with_the_package(task):
    said = subprocess.run(
        ["make", "-n", "demo", f"TASK={task}", "BASIC="], cwd=ROOT, capture_output=True, text=True, check=True
    )
    (command,) = [line.split() for line in said.stdout.splitlines() if " evaluate " in line]
    assert command[command.index("--task") + 1] == task
    (agent,) = resolve(command[command.index("--agents") + 1], task)
    there = [p for p in shipped() if p.meta["task"] == task and p.meta["method"] == "bdp"]
    assert agent.trained == bool(there)
