"""Fixtures for all tests. Real data is used where present; on CI its absence is a failure, not a skip."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Kernels compile on first use, so one example may take seconds; examples are the same in every run.
settings.register_profile("housemates", deadline=None, derandomize=True)
settings.load_profile("housemates")

# Before anything imports MuJoCo: without a screen its other ways to OpenGL end the process.
os.environ.setdefault("MUJOCO_GL", "egl")

ROOT = Path(__file__).resolve().parent.parent


def missing(what: str) -> None:
    """Skip with a reason, or fail where CI=true promises that everything is there."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} - on CI this must be there")
    pytest.skip(what)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real data: `$HOUSEMATES_SHARED`, default `../shared` beside the repository."""
    folder = Path(os.environ.get("HOUSEMATES_SHARED") or ROOT.parent / "shared")
    if not (folder / "data").is_dir():
        missing(f"no shared data at {folder} (set HOUSEMATES_SHARED)")
    return folder


@pytest.fixture(scope="session")
def replica_cad(shared: Path) -> Path:
    """The real ReplicaCAD files."""
    return shared / "data" / "replica_cad"


@pytest.fixture(scope="session")
def habitat_reference(shared: Path) -> Path:
    """Results of the real Habitat simulator on these files."""
    return shared / "data" / "habitat_reference"
