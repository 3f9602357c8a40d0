"""Scripts that only slow tests and people start: what they import is there, so that a rename does not break them unseen."""

import ast
import importlib
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
SCRIPTS = ("web/campaign.py", "campaigns/killable.py", "browser/pictures.py", "browser/latency.py")
OURS = ("helpers", "web", "browser", "methods", "housemates")
"""Other packages may be missing."""


@pytest.mark.parametrize("script", SCRIPTS)
def test_everything_that_a_script_imports_is_there(script, monkeypatch):
    for folder in (TESTS, TESTS / "methods", TESTS / "campaigns"):
        monkeypatch.syspath_prepend(str(folder))
    tree = ast.parse((TESTS / script).read_text())
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    ours = [node for node in found if str(node.module).split(".")[0] in OURS]
    assert ours
    for node in ours:
        module = importlib.import_module(str(node.module))
        for alias in node.names:
            assert hasattr(module, alias.name) or importlib.import_module(f"{node.module}.{alias.name}")
