"""Where compiled kernels are kept."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import housemates


def cache_dir(source: Path, cache: Path) -> str:
    code = "import housemates.parallel, numba; print(numba.config.CACHE_DIR)"
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    environment |= {"PYTHONPATH": str(source), "HOUSEMATES_CACHE": str(cache)}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("changed", ["geometry/sight.py", "tasks/actions.py"], ids=["a kernel", "a constant of kernels"])
def test_a_change_gives_compiled_kernels_a_new_folder(changed, tmp_path):
    source = tmp_path / "source"
    shutil.copytree(Path(housemates.__file__).parent, source / "housemates", ignore=shutil.ignore_patterns("__pycache__"))
    before = cache_dir(source, tmp_path / "cache")
    file = source / "housemates" / changed
    file.write_text(file.read_text() + "\n# another\n")
    after = cache_dir(source, tmp_path / "cache")
    assert before.startswith(str(tmp_path / "cache"))
    assert after != before
