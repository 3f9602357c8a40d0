"""Training on the fused path: the same decisions as by torch, exact resume, groups of workers, and where it cannot be taken."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from helpers.batches import make
from helpers.learners import SHORT, TINY, player, slots, trainer, weights
from housemates.fused import gemm
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.sim.sensors import privileged_size
from housemates.training.distributed import Group
from housemates.training.path import choose
from housemates.training.ppo import PPO
from housemates.training.rollout import Collector

INFORMED = PolicyConfig.state(hidden=8, features=8, privileged=privileged_size(2))
LONGER = replace(SHORT, decisions=1200, ppo=PPO(chunk=4, num_minibatches=3, auxiliary=0.1, normalise_value=True))


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("policy", [TINY, INFORMED])
def test_both_paths_take_the_same_decisions(tmp_path, policy):
    one, other = (trainer(tmp_path / way, LONGER, policy, learner=way) for way in ("torch", "fused"))
    assert (one.path, other.path) == ("torch", "fused")
    for _ in range(4):
        rows = one.step(), other.step()
        assert rows[0]["decisions"] == rows[1]["decisions"]
        for name in rows[0]:
            if name.startswith("losses/"):
                assert rows[1][name] == pytest.approx(rows[0][name], rel=1e-3, abs=1e-5), name
    for mine, theirs in zip(weights(one), weights(other), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-2, atol=1e-4)


def test_an_interrupted_run_goes_on_with_the_same_bits(tmp_path):
    whole = trainer(tmp_path / "whole", LONGER, INFORMED, learner="fused")
    whole.run()
    first = trainer(tmp_path / "parts", LONGER, INFORMED, learner="fused")
    for _ in range(3):
        first.step()
    first.save()
    second = trainer(tmp_path / "parts", LONGER, INFORMED, learner="fused")
    assert second.load()
    second.run()
    assert second.decisions == whole.decisions
    for mine, theirs in zip(weights(second), weights(whole), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(("before", "after"), [("torch", "fused"), ("fused", "torch")])
def test_a_run_that_goes_on_by_the_other_path_says_so(tmp_path, capsys, before, after):
    first = trainer(tmp_path, LONGER, learner=before)
    first.step()
    first.save()
    second = trainer(tmp_path, LONGER, learner=after)
    assert second.load()
    said = capsys.readouterr().err
    assert before in said
    assert after in said
    first.step()
    assert second.step()["decisions"] == first.decisions


def test_a_run_that_goes_on_by_the_same_path_says_nothing(tmp_path, capsys):
    first = trainer(tmp_path, LONGER, learner="fused")
    first.step()
    first.save()
    capsys.readouterr()
    trainer(tmp_path, LONGER, learner="fused").load()
    assert capsys.readouterr().err == ""


def test_without_a_matrix_product_training_goes_by_torch_with_one_note(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(gemm, "SOURCE", "")
    made = trainer(tmp_path, SHORT)
    assert made.path == "torch"
    made.step()
    assert len([line for line in capsys.readouterr().err.splitlines() if "torch" in line]) == 1
    with pytest.raises(ValueError, match="learner=torch"):
        trainer(tmp_path, SHORT, learner="fused")


def test_other_networks_and_devices_go_by_torch():
    deep = Policy(PolicyConfig.state(layers=2, hidden=8, features=8))
    assert choose("auto", [deep], "cpu", Group()) == "torch"
    assert choose("auto", [Policy(TINY)], "cuda", Group()) == "torch"
    with pytest.raises(ValueError, match="2 layers"):
        choose("fused", [deep], "cpu", Group())


@pytest.mark.parametrize("library", [*gemm.LIBRARIES, "none"])
def test_a_chosen_library_is_used_or_refused_in_a_process_of_its_own(library):
    code = (
        "import numpy as np; from housemates.fused import gemm\n"
        "x, y = np.ones((3, 5), np.float32), np.zeros((3, 2), np.float32)\n"
        "gemm.available() and gemm.product(x, np.full((2, 5), 2, np.float32), 0.0, y)\n"
        "print(gemm.SOURCE, float(y.sum()))"
    )
    found = subprocess.run([sys.executable, "-c", code], env=_environment(library), capture_output=True, text=True, check=True)
    assert found.stdout.split() in ([library, "60.0"], ["0.0"])


def _environment(library: str) -> dict[str, str]:
    import os

    return os.environ | {gemm.CHOICE: library, "PYTHONPATH": str(Path(gemm.__file__).parents[2])}


def test_a_library_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="numpy"):
        gemm.bind("fast")


@pytest.mark.parametrize(
    "config", [TINY, PolicyConfig.laptop(hidden=8, features=8), PolicyConfig.state(hidden=8, features=8, latent=3)]
)
def test_frozen_partners_at_once_decide_as_one_by_one(config):
    seen = []
    for fused in (False, True):
        batch = make(size=6, pixels=64)
        players = [player(batch, TINY, 0), *(player(batch, config, seed, learns=False) for seed in range(1, 6))]
        who = slots([[0, 1 + home % 5] for home in range(6)], [[True, False]] * 6)
        collector = Collector(batch, players, who, fused=fused)
        collector.collect(60)
        seen.append((players[0].store.action.copy(), collector.actions.copy(), collector.state()))
    for mine, theirs in zip(*(run[:2] for run in seen), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert seen[0][2].keys() == seen[1][2].keys()
