"""Policy configs: presets, combinations that make no sense, JSON."""

import json
import subprocess
import sys

import pytest

from housemates.config import from_json, to_json
from housemates.policies.config import PolicyConfig

PRESETS = {
    "paper": PolicyConfig.paper(),
    "paper rgb": PolicyConfig.paper(rgb=True),
    "paper_predicates": PolicyConfig.paper_predicates(latent=8),
    "laptop": PolicyConfig.laptop(),
    "laptop rgb": PolicyConfig.laptop(rgb=True),
    "blind": PolicyConfig.blind(),
    "state": PolicyConfig.state(privileged=64),
    "predicates": PolicyConfig.predicates(layers=2),
}


@pytest.mark.parametrize("config", PRESETS.values(), ids=PRESETS)
def test_a_config_survives_json(config):
    assert from_json(PolicyConfig, json.loads(json.dumps(to_json(config))), "policy.json") == config


def test_configs_do_not_import_torch():
    code = "import sys, housemates.policies.config; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"observations": ("sonar",)}, "no observation 'sonar'"),
        ({"observations": ()}, "observations .* name one or more of"),
        ({"observations": ("depth", "depth")}, "each once"),
        ({"observations": ("state",)}, "network 'patches' needs a picture"),
        ({"network": "vector"}, "network 'vector' cannot see depth"),
        ({"network": "mlp"}, "no network 'mlp'"),
        ({"memory": "rnn"}, "no memory 'rnn'"),
        ({"picture": 100}, "pictures of 100 pixels"),
        ({"hidden": 0}, "hidden = 0"),
        ({"layers": 0}, "layers = 0"),
        ({"robots": 0}, "robots = 0"),
        ({"latent": 1}, "latent = 1"),
        ({"latent_logit_std": 0.5}, "latent_logit_std = 0.5"),
        ({"latent": 4, "latent_logit_std": -1.0}, "latent_logit_std = -1.0"),
        ({"privileged": -1}, "privileged = -1"),
        ({"actions": 1}, "actions = 1"),
    ],
)
def test_a_senseless_config_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        PolicyConfig(**changes)


def test_an_unknown_field_is_named():
    with pytest.raises(ValueError, match="unknown key 'dropout'"):
        from_json(PolicyConfig, {**to_json(PolicyConfig()), "dropout": 0.1}, "policy.json")


def test_a_missing_field_is_named():
    values = to_json(PolicyConfig())
    del values["hidden"]
    with pytest.raises(ValueError, match="lacks 'hidden'"):
        from_json(PolicyConfig, values, "policy.json")


@pytest.mark.parametrize(("name", "value"), [("hidden", "256"), ("hidden", True), ("memory", 3), ("observations", "depth")])
def test_an_ill_typed_field_is_named(name, value):
    with pytest.raises(ValueError, match=f"{name} = "):
        from_json(PolicyConfig, {**to_json(PolicyConfig()), name: value}, "policy.json")


def test_vectors_grow_with_the_number_of_robots():
    config = PolicyConfig.state(robots=3)
    assert (config.shape("state"), config.shape("predicates")) == ((20,), (72,))


def test_the_observation_spec_names_shapes_and_types():
    spec = PolicyConfig.laptop().observation_spec()
    assert spec["depth"] == {"shape": [64, 64, 1], "types": ["uint8", "uint16", "float32"]}
