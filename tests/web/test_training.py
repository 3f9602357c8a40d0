"""A run while it trains: its rows, and playing with its newest checkpoint."""

import json

import pytest

from helpers import pages
from housemates.agents.agent import Agent, scripted, write_partners
from housemates.policies.checkpoint import save_policy
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.run_folder import RunFolder
from housemates.web.messages import Refused
from housemates.web.server import Page, running
from housemates.web.training import TrainingRun

TRAINING = {"seed": 7, "decisions": 500, "steps": 0}


@pytest.fixture
def run(tmp_path):
    """A folder as `housemates train` leaves it in the middle of the first stage."""
    folder = tmp_path / "gt_coord-tidy_house-state-7"
    (folder / "stage1").mkdir(parents=True)
    config = {"method": "gt_coord", "task": "tidy_house", "observations": "state", "stages": [1], "training": TRAINING}
    (folder / "config.json").write_text(json.dumps(config))
    rows = [{"update": k, "decisions": 100 * k, "charts/success": k / 10, "note": "text"} for k in range(5)]
    (folder / "stage1" / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"update": 5, "dec')
    return folder


def add_members(folder) -> None:
    config = PolicyConfig(("state", "predicates"), "vector", features=16, hidden=16)
    for member in range(2):
        save_policy(folder / "stage1" / "members" / f"{member:02d}", Policy(config, seed=member), {})


def test_whole_rows_are_told_with_their_numbers_only(run):
    found = TrainingRun(run).rows(0)
    assert found["next"] == 5
    assert found["rows"][3] == {"stage": 1, "update": 3, "decisions": 300, "charts/success": 0.3}


def test_only_new_rows_are_told_the_next_time(run):
    assert [row["update"] for row in TrainingRun(run).rows(3)["rows"]] == [3, 4]


def test_the_agent_of_a_second_stage_alone_plays_with_the_partners_that_were_named(tmp_path):
    folder = tmp_path / "own"
    config = {"method": "own", "task": "tidy_house", "observations": "state", "stages": [2], "training": TRAINING}
    (folder / "stage2").mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    write_partners(RunFolder(folder).partners, [scripted("solo"), Agent("random", "random")], folder)
    watched = TrainingRun(folder)
    assert watched.rows(0)["checkpoint"] is None
    save_policy(folder / "stage2" / "agent", Policy(PolicyConfig.state(features=16, hidden=16)), {})
    assert watched.rows(0)["checkpoint"] == f"run/{watched.id}"
    assert [watched.player(robot).name for robot in (0, 1, 2)] == ["own/agent", "script/solo", "random"]


def test_a_run_without_a_checkpoint_says_so(run):
    watched = TrainingRun(run)
    assert watched.rows(0)["checkpoint"] is None
    with pytest.raises(Refused, match="no checkpoint yet"):
        watched.player(0)


def test_each_robot_gets_its_member_of_the_newest_checkpoint(run):
    add_members(run)
    watched = TrainingRun(run)
    assert [watched.player(robot).name for robot in range(2)] == [f"{run.name}/0", f"{run.name}/1"]
    assert watched.rows(0)["checkpoint"] == f"run/{watched.id}"


def test_one_drops_into_an_episode_of_the_newest_checkpoint(run):
    add_members(run)
    service = pages.hall_service(runs=(run,))
    with running(Page(service)) as port:
        (name,) = [r["id"] for r in pages.get_json(port, "/api/start")["runs"]]
        assert pages.get_json(port, f"/api/run/{name}?from=4")["next"] == 5
        with pages.visitor(port) as guest:
            game = guest.begin(robots=[f"run/{name}", "person"], reveal=True)
            assert (game["robots"], game["human"]) == ([f"{run.name}/0", "person"], 1)
            decision = guest.until("decision")
    assert len(decision["top"]) == 5


def test_a_run_whose_config_lacks_its_stages_is_refused_in_one_line(run):
    config = json.loads((run / "config.json").read_text())
    del config["stages"]
    (run / "config.json").write_text(json.dumps(config))
    with running(Page(pages.hall_service(runs=(run,)))) as port:
        (name,) = [r["id"] for r in pages.get_json(port, "/api/start")["runs"]]
        status, content = pages.get(port, f"/api/run/{name}")
    assert 400 <= status < 500
    told = json.loads(content)["error"]
    assert "stages" in told
    assert "\n" not in told


def test_a_folder_that_is_no_run_is_one_line(tmp_path):
    with pytest.raises(FileNotFoundError, match="housemates train"):
        TrainingRun(tmp_path)


@pytest.mark.parametrize(
    "content", [json.dumps({"method": "sp", "task": "tidy_house", "sha256": "0" * 64}), "[" * 100_000, "{}"]
)
def test_a_run_whose_config_is_not_what_was_written_is_refused(tmp_path, content):
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(ValueError, match=r"config\.json.*damaged"):
        TrainingRun(tmp_path)
