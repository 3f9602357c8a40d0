"""docs/tutorials/your_own_method.md, a learning algorithm: what is printed there trains and resumes exactly."""

import re
from pathlib import Path

import pytest

from helpers.learners import SHORT, trainer, weights
from housemates.training.algorithm import Algorithm
from housemates.training.algorithms import ALGORITHMS, find_algorithm, register_algorithm

PAGE = next((Path(__file__).resolve().parents[2] / "docs").rglob("your_own_method.md")).read_text()


@pytest.fixture(autouse=True)
def reinforce():
    """The algorithm of the page; it is unknown again after the test."""
    block = re.search(r"<!-- my_algorithms\.py.*?-->\n```python\n(.*?)```", PAGE, re.DOTALL)
    made: dict = {"__name__": "my_algorithms"}
    exec(compile(block.group(1), "my_algorithms.py", "exec", dont_inherit=True), made)
    yield made["Reinforce"]
    ALGORITHMS.pop("reinforce", None)


def test_it_trains_by_its_name_and_its_losses_are_logged(tmp_path):
    run = trainer(tmp_path, SHORT, learner="reinforce")
    before = weights(run)
    row = run.step()
    assert row["losses/value_loss"] > 0
    assert row["charts/learning_rate"] == pytest.approx(SHORT.ppo.learning_rate)
    assert any((a != b).any() for a, b in zip(before, weights(run), strict=True))


def test_it_resumes_exactly_with_what_it_keeps_beside_the_weights(tmp_path):
    whole = trainer(tmp_path / "whole", SHORT, learner="reinforce")
    assert whole.run()
    complete = False
    while not complete:
        run = trainer(tmp_path / "paused", SHORT, learner="reinforce")
        run.load()
        complete = run.run(seconds=0)
    assert all((a == b).all() for a, b in zip(weights(run), weights(whole), strict=True))
    assert [one.mean for one in run.algorithms] == [one.mean for one in whole.algorithms]


def test_a_run_does_not_go_on_with_another_algorithm(tmp_path):
    trainer(tmp_path, SHORT, learner="reinforce").run(seconds=0)
    with pytest.raises(ValueError, match=r"config\.json"):
        trainer(tmp_path, SHORT, learner="torch").load()


@pytest.mark.parametrize("learner", ["auto", "torch", "fused", "ppo"])
def test_the_paths_of_ppo_are_the_algorithm_ppo(learner):
    assert find_algorithm(learner) is ALGORITHMS["ppo"]


@pytest.mark.parametrize(("thing", "named"), [(dict, "dict"), (type("Odd", (Algorithm,), {"name": "fused"}), "fused")])
def test_what_is_no_algorithm_is_refused(thing, named):
    with pytest.raises(ValueError, match=named):
        register_algorithm(thing)


def test_a_misspelt_algorithm_is_told(tmp_path):
    with pytest.raises(ValueError, match="reinforce"):
        trainer(tmp_path, SHORT, learner="reinforced")
