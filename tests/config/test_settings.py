"""Configs as JSON: everything comes back, a misspelt key is answered with the nearest one."""

from dataclasses import dataclass

import pytest

from housemates.config import change, from_json, to_json
from housemates.sim.rules import Reward, Rules
from housemates.training.ppo import PPO
from housemates.training.trainer import Training

CONFIG = Training(seed=7, ppo=PPO(entropy_end=0.0), rules=Rules(thresholds=(2.0, 1.0), reward=Reward(collision="timeout")))


def test_a_config_comes_back_from_json():
    assert from_json(Training, to_json(CONFIG), "x") == CONFIG


def test_a_misspelt_key_is_answered_with_the_nearest_one():
    values = to_json(CONFIG)
    values["ppo"]["epoch"] = 3
    with pytest.raises(ValueError, match=r"run\.json.*'epoch'.*'epochs'"):
        from_json(Training, values, "run.json")


def test_a_missing_key_is_told():
    values = to_json(CONFIG)
    del values["rules"]["speed"]
    with pytest.raises(ValueError, match="rules lacks 'speed'"):
        from_json(Training, values, "run.json")


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("num_envs", "many", "must be of type int"),
        ("num_envs", True, "must be of type int"),
        ("ppo", 3, "must hold the fields of PPO"),
    ],
)
def test_a_value_of_the_wrong_type_is_told(key, value, told):
    with pytest.raises(ValueError, match=told):
        from_json(Training, to_json(CONFIG) | {key: value}, "run.json")


def test_a_word_that_is_no_choice_is_answered_with_the_nearest_one():
    values = to_json(CONFIG)
    values["rules"]["speed"] = "slwo"
    with pytest.raises(ValueError, match="did you mean 'slow'"):
        from_json(Training, values, "run.json")


@pytest.mark.parametrize(
    ("key", "text", "read"),
    [
        ("ppo.epochs", "4", lambda c: c.ppo.epochs == 4),
        ("ppo.discount", "1", lambda c: isinstance(c.ppo.discount, float)),
        ("rules.speed", "slow", lambda c: c.rules.speed == "slow"),
        ("rules.thresholds", "[1.5, 1]", lambda c: c.rules.thresholds == (1.5, 1.0)),
        ("ppo.entropy_end", "null", lambda c: c.ppo.entropy_end is None),
    ],
)
def test_a_setting_is_changed_by_its_name(key, text, read):
    assert read(change(CONFIG, key, text))


@pytest.mark.parametrize(
    ("key", "told"),
    [("ppo.epoch", "did you mean 'epochs'"), ("num_env", "did you mean 'num_envs'"), ("num_envs.x", "single value")],
)
def test_an_unknown_setting_is_answered_with_the_nearest_one(key, told):
    with pytest.raises(ValueError, match=told):
        change(CONFIG, key, "1")


@dataclass(frozen=True)
class Entry:
    """A config with values by name."""

    name: str
    values: dict[str, float]

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("no name - give one")


def test_values_by_name_come_back_and_are_checked():
    assert from_json(Entry, to_json(Entry("x", {"a": 1.5})), "x") == Entry("x", {"a": 1.5})
    with pytest.raises(ValueError, match=r"values\.a.*'b'"):
        from_json(Entry, {"name": "x", "values": {"a": "b"}}, "file")
    with pytest.raises(ValueError, match="must be an object"):
        from_json(Entry, {"name": "x", "values": [1]}, "file")


def test_a_config_that_is_refused_names_its_file():
    with pytest.raises(ValueError, match="file: no name - give one"):
        from_json(Entry, {"name": "", "values": {}}, "file")


@pytest.mark.parametrize(("key", "now"), [("homes", "num_envs"), ("ppo.decay", "gae_lambda"), ("rollout", "rollout_decisions")])
def test_an_earlier_name_of_a_setting_is_answered_with_the_present_one(key, now):
    with pytest.raises(ValueError, match=f"it is called '{now}' now"):
        change(Training(), key, "1")
