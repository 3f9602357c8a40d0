"""`housemates speed`: it runs, counts what it says it counts, and writes everything down. No test looks at how fast."""

import json
import subprocess
import time

import numpy as np
import pytest

from helpers import batches
from housemates.cli.speed import table, write_json
from housemates.homes.generate import generate_home
from housemates.sim.batch import Batch
from housemates.sim.rules import Rules
from housemates.speed import peers
from housemates.speed import simulation as steps
from housemates.speed.measure import Figure, Job, commit, machine, measure
from housemates.speed.simulation import head_depth
from housemates.speed.suite import QUICK, Plan, Result, run

TINY = Plan(
    seconds=0.01, sizes=(16, 32), homes=(2, 4), picture_homes=2, peer_sizes=(16,), learning=("state",), updates=1, num_envs=4
)


@pytest.fixture(scope="module")
def result() -> Result:
    """Everything measured once, in the hall, in no time."""
    return run(TINY, [batches.home()], batches.episodes(), lambda what: None)


def test_every_rate_is_positive(result):
    assert all(figure.per_core > 0 and figure.wall > 0 for figure in result.figures)


@pytest.mark.parametrize(
    "name",
    [
        "depth 16x16",
        "depth 32x32",
        "steps, 2 homes",
        "steps, 4 homes",
        "steps, all 2 cameras every step, 16x16",
        "steps, cameras of deciding robots, 16x16",
        "path lengths",
        "distance fields",
        "homes generated",
        "decisions with look-ahead",
        "housemates 16x16",
    ],
)
def test_a_run_measures(result, name):
    assert name in {figure.name for figure in result.figures}


def test_two_threads_are_compared_with_one(result):
    assert set(result.two_threads) == set(result.two_batches_apart) == {"steps, 4 homes", "depth 16x16"}
    assert all(ratio > 0 for ratio in result.two_threads.values())


def test_trainings_are_measured_and_shown(result):
    assert {row.kind for row in result.learning} == {"state"}
    assert all(row.decisions_per_second > 0 for row in result.learning)
    shown = table(result)
    assert all(f"learning, state, {row.path}" in shown and f"acting from state, {row.path}" in shown for row in result.learning)


def test_the_json_holds_every_figure(result, tmp_path):
    write_json(tmp_path / "speed.json", result)
    found = json.loads((tmp_path / "speed.json").read_text())
    assert [f["name"] for f in found["figures"]] == [f.name for f in result.figures]


@pytest.mark.parametrize("key", ["machine", "figures", "two_threads", "two_batches_apart", "ratios", "agreement", "scene"])
def test_the_json_is_complete(result, tmp_path, key):
    write_json(tmp_path / "speed.json", result)
    assert key in json.loads((tmp_path / "speed.json").read_text())


@pytest.mark.parametrize(
    "key", ["processor", "cores", "load", "load_after", "taken_by_host", "python", "numba", "commit", "date"]
)
def test_the_machine_is_described(result, key):
    assert key in result.machine


def test_the_table_names_the_load_and_every_figure(result):
    text = table(result)
    assert "load" in text
    assert all(figure.name in text for figure in result.figures)


def test_quick_measures_no_size_that_the_whole_does_not():
    assert set(QUICK.sizes) <= set(Plan().sizes)
    assert set(QUICK.homes) <= set(Plan().homes)


def test_measuring_takes_the_best_turn_of_each_job():
    waits = iter([0.0, *[0.06, 0.05] * 50])

    def work() -> int:
        time.sleep(next(waits))
        return 1

    (figure,) = measure([Job("naps", "other", "naps/s", work)], seconds=0.01)
    assert figure.wall <= 1 / 0.05


def test_the_first_call_is_not_counted():
    calls = []
    measure([Job("calls", "other", "calls/s", lambda: calls.append(len(calls)) or time.sleep(0.06) or 1)], seconds=0.01)
    assert len(calls) == 6


def test_steps_without_pictures_are_steps_of_homes_the_same_every_time():
    batch = batches.make(size=3, rules=Rules(horizon=20))
    job, wanted, real = steps.without_pictures(batch), 0, batch.step

    def step(actions, max_ticks=0):
        nonlocal wanted
        start = batch.state.clock.copy()
        out = real(actions, max_ticks)
        wanted += int((np.where(out.done, batch.ended.steps, batch.state.clock) - start).sum())
        return out

    batch.step = step
    counted = [job.work() for _ in range(3)]
    assert sum(counted) == wanted
    assert len(set(counted)) == 1


def test_with_a_picture_every_step_each_home_makes_one_step():
    batch = batches.make(size=3, pixels=16)
    assert steps.with_pictures(batch, every_step=True).work() == 3


def test_every_robot_has_a_picture_taken():
    assert head_depth(batches.make(size=3, pixels=16), "depth", "depth").work() == 6


@pytest.fixture(scope="module")
def home():
    return generate_home("train", 0)


def test_the_scene_for_others_is_a_home_and_two_robots_in_boxes(home):
    from housemates.robots import FETCH

    scene, _ = peers.boxes(home)
    assert len(scene) == len(home.parts) + 2 * len(FETCH.parts)
    assert (scene.sides == 0).all()


def test_mujoco_sees_what_we_see(home):
    pytest.importorskip("mujoco")
    scene, cameras = peers.boxes(home)
    draw = peers.mujoco_pictures(scene, 32)
    if draw is None:
        pytest.skip("MuJoCo finds no OpenGL here")
    ours, _ = peers.our_pictures(scene, cameras[:4], 32)
    assert peers.agreement(ours, np.stack([draw(camera) for camera in cameras[:4]])) > 0.99


def test_pybullet_sees_what_we_see(home):
    pytest.importorskip("pybullet")
    scene, cameras = peers.boxes(home)
    draw = peers.pybullet_pictures(scene, 32)
    ours, _ = peers.our_pictures(scene, cameras[:4], 32)
    assert peers.agreement(ours, np.stack([draw(camera) for camera in cameras[:4]])) > 0.95


def test_pictures_that_differ_do_not_agree():
    assert peers.agreement(np.full((1, 4, 4), 2.0), np.full((1, 4, 4), 2.5)) == 0


def test_nothing_hit_agrees_with_the_far_plane():
    assert peers.agreement(np.zeros((1, 4, 4)), np.full((1, 4, 4), 100.0)) == 1


def test_a_figure_is_json_ready():
    figure = Figure("depth", "depth", "frames/s", 1.0, 2.0)
    assert Figure(**json.loads(json.dumps(figure.as_dict()))) == figure


def test_the_machine_can_be_written_as_json():
    assert json.loads(json.dumps(machine()))["cores"] >= 1


def test_the_commit_is_a_hash_or_nothing():
    assert commit() == "" or len(commit().rstrip("+")) == 12


def test_a_file_that_differs_from_the_commit_shows_as_a_plus(tmp_path):
    def git(*words: str) -> None:
        who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "sim").mkdir()
    (tmp_path / "sim" / "batch.py").write_text("a = 1")
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    clean = commit(tmp_path)
    assert not clean.endswith("+")
    (tmp_path / "sim" / "batch.py").write_text("a = 2")
    assert commit(tmp_path) == f"{clean}+"


def test_the_real_homes_are_drawn_as_triangles(replica_cad):
    from housemates.speed.simulation import real_batches

    (batch,) = real_batches(replica_cad, (16,), 2)
    assert isinstance(batch, Batch)
    assert head_depth(batch, "depth of meshes", "meshes").work() == 4
