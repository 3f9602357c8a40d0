"""Runs, agents and rows are pushed to a place and pulled; what was changed on the way is refused and never put in place."""

from __future__ import annotations

import inspect
import json
import shutil
import sys
from pathlib import Path

import pytest

from helpers.evaluation_rows import row
from helpers.small_runs import small_run
from housemates.agents.agent import agent, population
from housemates.cli.main import main
from housemates.evaluation.rows import make_rows, read_rows, write_rows
from housemates.hub.contents import LIST
from housemates.hub.share import names, pull, push
from housemates.io import seal_again
from housemates.run_folder import RunFolder


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    folder = small_run(tmp_path_factory.mktemp("run") / "pbt", "pbt")
    rows = [row(), row(episode=1)]
    write_rows(RunFolder(folder).rows("dev"), make_rows({name: [one[name] for one in rows] for name in rows[0]}))
    return folder


@pytest.fixture
def shared(run, tmp_path) -> Path:
    push(run, f"file:{tmp_path / 'hub'}")
    return tmp_path / "hub"


def told(capsys, *words: str) -> str:
    assert main(list(words)) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    return line


def rewrite(shared: Path, change) -> None:
    """Change the list of a pushed run, and give it a checksum that fits."""
    path = shared / "pbt" / LIST
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))
    seal_again(path)


def test_a_run_comes_back_as_it_was(run, shared, tmp_path, capsys):
    assert main(["hub", "pull", str(shared), "pbt", "--out", str(tmp_path / "again")]) == 0
    assert f"next: housemates evaluate {tmp_path / 'again'}" in capsys.readouterr().out
    again = tmp_path / "again"
    assert RunFolder(again).complete()
    assert agent(again).meta["sha256"] == agent(run).meta["sha256"]
    assert [p.meta["sha256"] for p in population(again)] == [p.meta["sha256"] for p in population(run)]
    assert read_rows(RunFolder(again).rows("dev")).equals(read_rows(RunFolder(run).rows("dev")))
    assert not list(again.rglob("resume"))


def test_an_agent_is_pushed_with_its_card(run, tmp_path):
    push(RunFolder(run).agent, str(tmp_path / "hub"))
    assert names(str(tmp_path / "hub")) == ["pbt"]
    target, contents = pull(str(tmp_path / "hub"), "pbt", tmp_path / "mine")
    assert contents.kind == "agent"
    assert "training budget" in (target / "README.md").read_text()
    assert (target / "policy.safetensors").read_bytes() == (RunFolder(run).agent / "policy.safetensors").read_bytes()


def test_rows_come_back_as_one_file(run, tmp_path):
    push(RunFolder(run).rows("dev"), str(tmp_path / "hub"), "rows")
    target, _ = pull(str(tmp_path / "hub"), "rows", tmp_path / "mine.parquet")
    assert read_rows(target).num_rows == 2


def test_nothing_is_overwritten(run, shared, tmp_path, capsys):
    assert "exists already" in told(capsys, "hub", "push", str(run), str(shared))
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").touch()
    assert "exists already" in told(capsys, "hub", "pull", str(shared), "pbt", "--out", str(tmp_path / "there"))


@pytest.mark.parametrize("name", ["stage2/agent/policy.safetensors", "config.json", "evaluation/episodes-dev.parquet"])
def test_a_changed_file_is_refused_and_nothing_is_put_in_place(shared, tmp_path, name):
    path = shared / "pbt" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not the file that was pushed"):
        pull(str(shared), "pbt", tmp_path / "again")
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("name", ["setup.py", "../../evil.json", "/etc/evil.json", "stage1/resume/state.pkl", "stage2\\agent"])
def test_a_list_with_anything_but_data_is_refused(shared, tmp_path, name):
    def add(values):
        values["files"][name] = {"bytes": 0, "sha256": "0" * 64}

    rewrite(shared, add)
    with pytest.raises(ValueError, match="nothing is taken"):
        pull(str(shared), "pbt", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_files_that_are_not_on_the_list_stay_behind(shared, tmp_path):
    (shared / "pbt" / "evil.py").write_text("raise SystemExit")
    target, _ = pull(str(shared), "pbt", tmp_path / "again")
    assert not list(target.rglob("*.py"))


def test_a_link_is_not_followed(shared, tmp_path):
    path = shared / "pbt" / "config.json"
    shutil.move(path, tmp_path / "elsewhere.json")
    path.symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(FileNotFoundError, match=r"no config\.json"):
        pull(str(shared), "pbt", tmp_path / "again")


def test_a_run_without_one_of_its_policies_is_refused(shared, tmp_path):
    rewrite(shared, lambda values: values["files"].pop("stage2/agent/policy.safetensors"))
    with pytest.raises((ValueError, FileNotFoundError), match=r"policy\.safetensors"):
        pull(str(shared), "pbt", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_a_changed_list_is_refused(shared, tmp_path):
    path = shared / "pbt" / LIST
    path.write_text(path.read_text().replace('"run"', '"rows"'))
    with pytest.raises(ValueError, match="is damaged"):
        pull(str(shared), "pbt", tmp_path / "again")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("hub push nowhere file:x", "is no run, agent or file of rows"),
        ("hub pull file:gone pbt", "no housemates.json"),
        ("hub pull what pbt", "is no place to share"),
        ("hub pull file:x ../y", "odd characters"),
    ],
)
def test_wrong_words_are_answered_in_one_line(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert said in told(capsys, *words.split())


def test_without_the_extra_one_line_says_what_to_install(run, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert "pip install 'housemates[hub]'" in told(capsys, "hub", "push", str(run), "somebody/robots")


class FakeHub:
    """The calls of the Hub's client that are used, over a folder; their arguments must fit the real ones."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def create_repo(self, repo_id, **options):
        (self.folder / repo_id).mkdir(parents=True, exist_ok=options["exist_ok"])

    def file_exists(self, repo_id, filename):
        return (self.folder / repo_id / filename).is_file()

    def list_repo_files(self, repo_id):
        root = self.folder / repo_id
        return [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]

    def upload_folder(self, **options):
        shutil.copytree(options["folder_path"], self.folder / options["repo_id"] / options["path_in_repo"])

    def hf_hub_download(self, repo_id, filename):
        if not self.file_exists(repo_id, filename):
            raise RuntimeError("404 entry not found")
        return str(self.folder / repo_id / filename)


@pytest.fixture
def hub(tmp_path, monkeypatch):
    huggingface_hub = pytest.importorskip("huggingface_hub", reason="the extra `hub` is not installed")
    fake = FakeHub(tmp_path / "online")

    class Checked:
        def __getattr__(self, name):
            def call(*placed, **named):
                inspect.signature(getattr(huggingface_hub.HfApi, name)).bind(None, *placed, **named)
                return getattr(fake, name)(*placed, **named)

            return call

    monkeypatch.setattr("housemates.hub.places.api", Checked)
    return fake


def test_a_run_goes_through_the_hub_and_comes_back(run, hub, tmp_path):
    assert push(run, "somebody/robots") == "somebody/robots/pbt"
    assert names("somebody/robots") == ["pbt"]
    target, _ = pull("somebody/robots", "pbt", tmp_path / "again")
    assert RunFolder(target).complete()
    with pytest.raises(ValueError, match="already"):
        push(run, "somebody/robots")


def test_errors_of_the_hub_are_told_in_one_line(hub, capsys):
    said = told(capsys, "hub", "pull", "somebody/robots", "gone")
    assert "404" in said
    assert "hf auth login" in said
