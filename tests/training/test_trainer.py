"""The training loop: the same seed gives the same bits, also through pauses; what is refused and what is written."""

import json
from dataclasses import replace

import numpy as np
import pytest

from helpers.batches import episodes, home
from helpers.learners import SHORT, TINY, trainer, weights
from housemates.methods.self_play import GTCoord
from housemates.policies.checkpoint import load_policy, read_description
from housemates.policies.config import PolicyConfig
from housemates.sim.sensors import privileged_size
from housemates.training.distributed import Group
from housemates.training.ppo import PPO
from housemates.training.trainer import Trainer, Training

EVERYTHING = replace(SHORT, ppo=PPO(chunk=4, auxiliary=0.1, normalise_value=True, entropy_end=0.0))
INFORMED = PolicyConfig.blind(hidden=8, features=8, privileged=privileged_size(2))


def same(a: list[np.ndarray], b: list[np.ndarray]) -> bool:
    return all((x == y).all() for x, y in zip(a, b, strict=True))


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory) -> list[np.ndarray]:
    """Weights of a short run that was left alone."""
    run = trainer(tmp_path_factory.mktemp("run"), EVERYTHING, INFORMED)
    assert run.run()
    return weights(run)


def test_the_same_seed_gives_the_same_weights(uninterrupted, tmp_path):
    run = trainer(tmp_path, EVERYTHING, INFORMED)
    run.run()
    assert same(weights(run), uninterrupted)


def test_another_seed_gives_other_weights(uninterrupted, tmp_path):
    run = trainer(tmp_path, replace(EVERYTHING, seed=1), INFORMED)
    run.run()
    assert not same(weights(run), uninterrupted)


def test_a_run_that_pauses_after_every_update_ends_with_the_same_weights(uninterrupted, tmp_path):
    complete = False
    while not complete:
        run = trainer(tmp_path, EVERYTHING, INFORMED)
        run.load()
        complete = run.run(seconds=0)
    assert run.update > 3
    assert same(weights(run), uninterrupted)


def test_what_was_done_after_the_last_resume_point_is_done_again(tmp_path):
    run = trainer(tmp_path, SHORT)
    for _ in range(3):
        run.run(seconds=0)
    run.step()
    expected = weights(run)
    again = trainer(tmp_path, SHORT)
    again.load()
    assert again.update == 3
    again.step()
    assert same(weights(again), expected)


def test_the_log_has_each_update_once_however_often_it_was_interrupted(tmp_path):
    run = trainer(tmp_path, SHORT)
    run.run(seconds=0)
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"update": 2, "half a li')
    again = trainer(tmp_path, SHORT)
    again.load()
    again.run()
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [row["update"] for row in rows] == list(range(1, len(rows) + 1))


def test_a_log_without_a_resume_point_begins_anew(tmp_path):
    (tmp_path / "metrics.jsonl").write_text("something old\n")
    run = trainer(tmp_path, SHORT)
    assert not run.load()
    assert (tmp_path / "metrics.jsonl").read_text() == ""


def test_a_complete_run_leaves_a_policy_for_each_learner(tmp_path):
    run = trainer(tmp_path, SHORT)
    run.run()
    for index in range(2):
        saved = load_policy(tmp_path / "members" / f"{index:02d}")
        assert all((a == b).all() for a, b in zip(saved.parameters(), run.players[index].policy.parameters(), strict=True))


def test_a_paused_run_leaves_its_policies_as_they_are(tmp_path):
    run = trainer(tmp_path, SHORT)
    assert not run.run(seconds=0)
    assert read_description(tmp_path / "members" / "00")["meta"]["decisions"] == run.decisions


def test_a_policy_says_what_it_was_trained_in(tmp_path):
    run = trainer(tmp_path, SHORT)
    run.run()
    assert read_description(tmp_path / "members" / "00")["meta"]["environment"] == run.environment


def test_a_run_killed_between_its_last_resume_point_and_its_policies_still_writes_them(tmp_path):
    run = trainer(tmp_path, SHORT)
    run.write_members = lambda moment="": None
    run.run()
    again = trainer(tmp_path, SHORT)
    again.load()
    assert again.run()
    assert (tmp_path / "members" / "01" / "policy.json").exists()


def test_other_settings_are_refused_on_resume(tmp_path):
    trainer(tmp_path, SHORT).run(seconds=0)
    with pytest.raises(ValueError, match="another configuration"):
        trainer(tmp_path, replace(SHORT, ppo=PPO(chunk=8))).load()


def test_homes_that_workers_cannot_share_are_refused(tmp_path):
    group = Group()
    group.size = 3
    with pytest.raises(ValueError, match=r"4 homes.*3 workers"):
        Trainer(SHORT, GTCoord(TINY), episodes(), [home()], tmp_path, group=group)


def test_decisions_and_steps_are_counted_as_they_happened(tmp_path):
    run = trainer(tmp_path, SHORT)
    row = run.step()
    stores = [p.store for p in run.players]
    assert row["decisions"] == sum(int(s.closed.sum()) for s in stores)
    ended = int(run.recent["steps"].sum())
    assert row["steps"] == ended + int(run.batch.state.clock.sum())


def test_a_stop_signal_ends_the_run_after_its_update_with_a_resume_point(tmp_path):
    run = trainer(tmp_path, SHORT)
    run.stopping = True
    assert not run.run()
    assert (tmp_path / "resume" / "LATEST").read_text() == "00000001"


@pytest.mark.parametrize(("field", "value"), [("num_envs", 0), ("decisions", -1), ("rollout_steps", -1), ("seed", -1)])
def test_senseless_settings_are_refused(field, value):
    with pytest.raises(ValueError, match=f"{field} = "):
        Training(**{field: value})


@pytest.mark.parametrize("changes", [{"decisions": 0}, {"steps": 5}, {"rollout_decisions": 0}, {"rollout_steps": 5}])
def test_a_budget_and_a_rollout_are_given_in_one_unit(changes, tmp_path):
    with pytest.raises(ValueError, match="one of them must be positive and the other 0"):
        trainer(tmp_path, SHORT, **changes)


STEPS = replace(SHORT, decisions=0, steps=1500, ppo=PPO(chunk=4, anneal_lr=True))
"""A budget of simulation steps."""


def test_a_budget_of_steps_ends_when_they_are_played_and_rules_rate_progress_and_middle(tmp_path):
    run, progress = trainer(tmp_path, STEPS), []
    step = run.step
    run.step = lambda: (step(), progress.append(run.method.progress))[0]
    assert run.run()
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert rows[-2]["steps"] < 1500 <= rows[-1]["steps"]
    before = [0, *(row["steps"] for row in rows[:-1])]
    assert progress == pytest.approx([steps / 1500 for steps in before])
    assert [row["charts/learning_rate"] for row in rows] == pytest.approx(
        [STEPS.ppo.learning_rate * (1 - steps / 1500) for steps in before]
    )
    half = next(row["steps"] for row in rows if row["steps"] >= 750)
    meta = {name: read_description(tmp_path / "members" / "00" / name)["meta"] for name in ("", "start", "middle")}
    assert (meta["start"]["steps"], meta["middle"]["steps"], meta[""]["steps"]) == (0, half, rows[-1]["steps"])
    assert meta[""]["decisions"] == rows[-1]["decisions"]


def test_a_run_of_steps_that_pauses_after_every_update_is_the_same(tmp_path):
    config = replace(STEPS, rollout_decisions=0, rollout_steps=40)
    trainer(tmp_path / "whole", config).run()
    complete = False
    while not complete:
        run = trainer(tmp_path / "pausing", config)
        run.load()
        complete = run.run(seconds=0)
    one, two = (tmp_path / name / "members" / "01" / "policy.safetensors" for name in ("whole", "pausing"))
    assert one.read_bytes() == two.read_bytes()


def test_rollouts_in_which_no_decision_ends_change_nothing_and_count_their_steps(tmp_path):
    run = trainer(tmp_path, replace(STEPS, rollout_decisions=0, rollout_steps=1))
    row = run.step()
    assert row["steps"] == 4
    assert all(np.isfinite(v) for v in row.values())


def test_two_different_discounts_are_refused(tmp_path):
    with pytest.raises(ValueError, match="make them equal"):
        trainer(tmp_path, SHORT, ppo=PPO(discount=0.9))


def test_the_papers_credit_per_decision_has_its_own_discount(tmp_path):
    assert trainer(tmp_path, SHORT, ppo=PPO(discount=0.9, per_step=False)).step()["decisions"] > 0


def test_members_are_kept_as_they_began_and_at_half_of_the_decisions(tmp_path):
    run = trainer(tmp_path, SHORT)
    first = weights(run)
    run.run()
    kept = [load_policy(tmp_path / "members" / f"{index:02d}" / "start") for index in range(2)]
    assert same([v.numpy() for policy in kept for v in policy.state_dict().values()], first)
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    half = next(row["decisions"] for row in rows if row["decisions"] >= SHORT.decisions / 2)
    assert read_description(tmp_path / "members" / "00" / "middle")["meta"]["decisions"] == half


def test_a_run_that_pauses_after_every_update_has_the_same_middle(tmp_path):
    trainer(tmp_path / "whole", SHORT).run()
    complete = False
    while not complete:
        run = trainer(tmp_path / "pausing", SHORT)
        run.load()
        complete = run.run(seconds=0)
    one, two = (tmp_path / name / "members" / "01" / "middle" / "policy.safetensors" for name in ("whole", "pausing"))
    assert one.read_bytes() == two.read_bytes()


def test_a_members_standing_counts_its_own_episodes(tmp_path):
    run = trainer(tmp_path, SHORT)
    run.recent = {
        "outcome": np.array([1.0, 2.0, 1.0, 3.0]),
        "player": np.array([[0, 0], [0, 1], [1, 1], [1, 0]]),
        "latent": np.zeros((4, 2)),
    }
    assert run.standing(0) == {"success": 1 / 3, "episodes": 3, "self_play_success": 1.0, "self_play_episodes": 1}
    assert run.standing(0, latent=5)["success"] is None
