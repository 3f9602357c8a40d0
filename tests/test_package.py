"""The package as a whole: what importing costs, what a wheel holds, what the licence notice promises."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from housemates.evaluation.holdouts import MOST_BYTES
from housemates.homes.files import FOLDER

ROOT = Path(__file__).resolve().parents[1]
HEAVY = ("torch", "trimesh", "matplotlib")


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """What a command prints; PYTHONPATH must not show it this repository."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([str(c) for c in command], cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("module", HEAVY)
def test_importing_the_package_does_not_import(module):
    code = f"import sys, housemates; sys.exit('{module}' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("module", HEAVY)
def test_asking_for_help_does_not_import(module):
    words = "['train', '--seed', '1']"
    code = f"import sys, housemates.cli.main as c; c.parse(c.commands(), {words}, ''); sys.exit('{module}' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_every_public_name_can_be_found():
    import housemates

    assert [name for name in housemates.__all__ if not hasattr(housemates, name)] == []


def test_no_public_name_is_hidden_by_a_package():
    import housemates

    # Importing a package sets it as an attribute of `housemates`, in place of a function of the same name.
    packages = {path.stem for path in (ROOT / "src" / "housemates").iterdir()}
    assert packages & set(housemates.__all__) == set()


def test_an_unknown_name_is_an_attribute_error():
    import housemates

    with pytest.raises(AttributeError, match="no attribute 'lodgers'"):
        housemates.lodgers  # noqa: B018


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    # A copy, so that building leaves nothing behind in the repository.
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for path in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / path, source / path)
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, source)
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_code_the_page_trained_robots_and_the_benchmark_but_no_assets(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = [n for n in archive.namelist() if ".dist-info/" not in n]
    policies, homes = "housemates/agents/pretrained/", "housemates/homes/data/"
    assert {Path(n).suffix for n in names if not n.startswith(("housemates/web/static/", policies, homes))} <= {".py", ".typed"}
    assert {Path(n).suffix for n in names if n.startswith(policies)} <= {".json", ".safetensors", ".md"}
    assert {n for n in names if n.startswith(homes)} == {f"{homes}{path.name}" for path in FOLDER.iterdir()}


def test_trained_robots_in_the_wheel_stay_small(wheel):
    with zipfile.ZipFile(wheel) as archive:
        sizes = [info.file_size for info in archive.infolist() if info.filename.startswith("housemates/agents/pretrained/")]
    assert 0 < sum(sizes) < MOST_BYTES


def test_the_wheel_carries_licence_and_notice(wheel):
    with zipfile.ZipFile(wheel) as archive:
        found = {Path(n).name for n in archive.namelist()}
    assert {"LICENSE", "NOTICE"} <= found


def test_the_installed_wheel_runs_outside_the_repository(wheel, tmp_path):
    home = tmp_path / "env"
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index", wheel)
    # The dependencies come from this environment, so nothing is downloaded; housemates itself must not. A .pth inside it
    # (the editable install's) is not followed from here, because only site folders' own .pth files are.
    packages.joinpath("dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    where = run(python, "-c", "import housemates; print(housemates.__file__)", cwd=tmp_path).strip()
    assert Path(where).is_relative_to(home)
    assert "housemates" in run(home / "bin" / "housemates", "info", cwd=tmp_path)


@pytest.mark.parametrize("page", ["CITATION.cff", "docs/licences.md", "CHANGELOG.md"])
def test_pages_name_the_version_of_the_package(page):
    import housemates

    assert housemates.__version__ in (ROOT / page).read_text()


def test_the_wheel_is_fit_for_publication(wheel):
    pytest.importorskip("twine")
    run(sys.executable, "-m", "twine", "check", "--strict", wheel)


def test_every_direct_dependency_is_pinned():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    # `cluster` is not part of `all`: the Makefile does not install it.
    wanted = project["dependencies"] + [r for extra, rows in extras.items() if extra not in ("all", "cluster") for r in rows]
    pinned = {line.split("==")[0] for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line}
    assert {plain(r) for r in wanted} - {plain(p) for p in pinned} == set()


def plain(requirement: str) -> str:
    """A requirement's name as package indexes compare it."""
    return re.split(r"[\[<>=!~ ]", requirement)[0].lower().replace("_", "-")
