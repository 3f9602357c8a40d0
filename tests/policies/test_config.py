"""Policy configs: presets, combinations that make no sense, JSON."""

import json
import subprocess
import sys

import pytest

from housemates.policies.config import PolicyConfig

PRESETS = {
    "paper": PolicyConfig.paper(),
    "paper rgb": PolicyConfig.paper(rgb=True),
    "paper_predicates": PolicyConfig.paper_predicates(latent=8),
    "laptop": PolicyConfig.laptop(),
    "laptop rgb": PolicyConfig.laptop(rgb=True),
    "blind": PolicyConfig.blind(),
    "state": PolicyConfig.state(privileged=64),
    "predicates": PolicyConfig.predicates(memory="gru"),
}


@pytest.mark.parametrize("config", PRESETS.values(), ids=PRESETS)
def test_a_config_survives_json(config):
    assert PolicyConfig.from_json(json.loads(json.dumps(config.to_json()))) == config


def test_configs_do_not_import_torch():
    code = "import sys, housemates.policies.config; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"observations": ("sonar",)}, "no observation 'sonar'"),
        ({"observations": ()}, "observations .* name one or more of"),
        ({"observations": ("depth", "depth")}, "each once"),
        ({"observations": ("state",)}, "network 'cnn' needs a picture"),
        ({"network": "vector"}, "network 'vector' cannot see depth"),
        ({"network": "mlp"}, "no network 'mlp'"),
        ({"memory": "rnn"}, "no memory 'rnn'"),
        ({"picture": 100}, "pictures of 100 pixels"),
        ({"hidden": 0}, "hidden = 0"),
        ({"layers": 0}, "layers = 0"),
        ({"robots": 0}, "robots = 0"),
        ({"latent": 1}, "latent = 1"),
        ({"taste": 0.5}, "taste = 0.5"),
        ({"latent": 4, "taste": -1.0}, "taste = -1.0"),
        ({"privileged": -1}, "privileged = -1"),
        ({"actions": 1}, "actions = 1"),
    ],
)
def test_a_senseless_config_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        PolicyConfig(**changes)


def test_an_unknown_field_is_named():
    with pytest.raises(ValueError, match="unknown field 'dropout'"):
        PolicyConfig.from_json({**PolicyConfig().to_json(), "dropout": 0.1})


def test_a_missing_field_is_named():
    values = PolicyConfig().to_json()
    del values["hidden"]
    with pytest.raises(ValueError, match="no field 'hidden'"):
        PolicyConfig.from_json(values)


@pytest.mark.parametrize(("name", "value"), [("hidden", "256"), ("hidden", True), ("memory", 3), ("observations", "depth")])
def test_an_ill_typed_field_is_named(name, value):
    with pytest.raises(ValueError, match=f"{name} = "):
        PolicyConfig.from_json({**PolicyConfig().to_json(), name: value})


def test_vectors_grow_with_the_number_of_robots():
    config = PolicyConfig.state(robots=3)
    assert (config.shape("state"), config.shape("predicates")) == ((20,), (72,))


def test_the_observation_spec_names_shapes_and_types():
    spec = PolicyConfig.laptop().observation_spec()
    assert spec["depth"] == {"shape": [64, 64, 1], "types": ["uint8", "uint16", "float32"]}
