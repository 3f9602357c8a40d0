"""Checkpoints: what comes back is what was saved, and what does not fit is refused in one line."""

import errno
import json
import os
import time
import tracemalloc
from hashlib import sha256

import pytest
import torch
from safetensors.torch import load_file, save

from housemates.agents.agent import latents
from housemates.config import to_json
from housemates.policies.checkpoint import load_policy, read_description, save_policy
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy

SMALL = PolicyConfig.state(hidden=16, features=16)


@pytest.fixture
def folder(tmp_path):
    """A saved small policy."""
    save_policy(tmp_path / "agent", Policy(SMALL, seed=5), {"environment": "abc", "decisions": 12})
    return tmp_path / "agent"


def edit(folder, **changes):
    path = folder / "policy.json"
    changed = {**json.loads(path.read_text()), **changes}
    changed.pop("sha256", None)  # on purpose
    path.write_text(json.dumps(changed))


def put_weights(folder, tensors):
    """Other weights, described as if they belonged there."""
    content = save(tensors)
    (folder / "policy.safetensors").write_bytes(content)
    edit(folder, weights={"bytes": len(content), "sha256": sha256(content).hexdigest()})


def refused(folder):
    """The message with which a policy is refused."""
    with pytest.raises((ValueError, FileNotFoundError)) as caught:
        load_policy(folder)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    "config",
    [
        SMALL,
        PolicyConfig.laptop(hidden=16),
        PolicyConfig.paper(picture=64, hidden=16),
        PolicyConfig.laptop(rgb=True),
    ],
    ids=["state", "laptop", "paper", "rgb"],
)
def test_a_loaded_policy_acts_bit_for_bit_alike(config, tmp_path, observe):
    policy = Policy(config, seed=3)
    save_policy(tmp_path / "agent", policy, {})
    loaded = load_policy(tmp_path / "agent")
    obs, memory = observe(config, 6), torch.randn(6, config.memory_size)
    done = [p.act(obs, memory, generator=torch.Generator().manual_seed(1)) for p in (policy, loaded)]
    assert all(torch.equal(a, b) for a, b in zip(*done, strict=True))


def test_a_loaded_policy_can_learn_on(folder, observe):
    policy = load_policy(folder)
    seen = policy.evaluate(observe(SMALL, 2, 3), policy.initial_memory(3), torch.zeros(2, 3, dtype=torch.int64))
    (seen.log_prob.sum() + seen.value.sum()).backward()
    assert all(p.grad is not None for p in policy.parameters())


def test_the_same_policy_is_saved_as_the_same_bytes(folder, tmp_path):
    save_policy(tmp_path / "again", Policy(SMALL, seed=5), {"environment": "abc", "decisions": 12})
    assert all(
        (folder / n).read_bytes() == (tmp_path / "again" / n).read_bytes() for n in ("policy.json", "policy.safetensors")
    )


def test_meta_is_kept(folder):
    assert read_description(folder)["meta"] == {"environment": "abc", "decisions": 12}


def test_saving_leaves_no_temporary_files(folder):
    save_policy(folder, Policy(SMALL, seed=6), {})
    found = sorted(p.name for p in folder.parent.rglob("*"))
    assert found == ["agent", "policy.json", "policy.safetensors"]


def test_what_a_killed_writer_left_is_removed_by_the_next(folder):
    left = folder.parent / f".{folder.name}-0123abcd.tmp"
    left.mkdir()
    (left / "policy.safetensors").write_bytes(b"half")
    save_policy(folder, load_policy(folder), {})
    assert [place.name for place in folder.parent.iterdir()] == [folder.name]


def test_saving_again_replaces_the_weights(folder):
    other = Policy(SMALL, seed=6)
    save_policy(folder, other, {})
    assert torch.equal(load_policy(folder).actor.weight, other.actor.weight)


def test_saving_into_a_folder_keeps_what_else_is_there(folder):
    (folder / "start").mkdir()
    save_policy(folder, Policy(SMALL), {})
    assert (folder / "start").is_dir()


def test_a_full_disk_is_told_and_keeps_the_old_policy(folder, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = load_policy(folder).actor.weight
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device"):
        save_policy(folder, Policy(SMALL, seed=6), {})
    assert torch.equal(load_policy(folder).actor.weight, before)


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"cannot write a policy to .*agent"):
        save_policy(tmp_path / "file" / "agent", Policy(SMALL), {})


def test_meta_that_is_not_json_is_refused(tmp_path):
    with pytest.raises(ValueError, match="is not JSON"):
        save_policy(tmp_path / "agent", Policy(SMALL), {"when": object()})


def test_a_policy_of_other_actions_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="the policy has 13 actions"):
        save_policy(tmp_path / "agent", Policy(PolicyConfig.state(actions=13)), {})


@pytest.mark.parametrize("name", ["policy.json", "policy.safetensors"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    assert f"no {name} in" in refused(folder)


def test_truncated_weights_are_refused(folder):
    path = folder / "policy.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    assert "policy.safetensors has" in refused(folder)


def test_edited_weights_are_refused(folder):
    path = folder / "policy.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert "is not the file that policy.json was written with" in refused(folder)


def test_weights_that_are_no_safetensors_are_refused(folder):
    content = b"not a tensor in sight"
    (folder / "policy.safetensors").write_bytes(content)
    edit(folder, weights={"bytes": len(content), "sha256": sha256(content).hexdigest()})
    assert "policy.safetensors is damaged" in refused(folder)


def test_a_truncated_description_is_refused(folder):
    path = folder / "policy.json"
    path.write_text(path.read_text()[:50])
    assert "policy.json is damaged" in refused(folder)


def test_json_that_describes_no_policy_is_refused(folder):
    (folder / "policy.json").write_text('{"a": 1}')
    assert "does not describe a policy" in refused(folder)


def test_a_description_without_actions_is_refused(folder):
    edit(folder, actions=None)
    assert "has no valid 'actions'" in refused(folder)


def test_a_newer_format_is_refused(folder):
    edit(folder, format=99)
    assert "format 99, newer than 1 - update housemates" in refused(folder)


def test_an_unknown_config_key_is_refused(folder):
    edit(folder, config={**to_json(SMALL), "dropout": 0.5})
    assert "policy.json: config has an unknown key 'dropout'" in refused(folder)


@pytest.mark.parametrize("name", ["features", "hidden", "layers", "latent", "privileged", "robots", "actions"])
@pytest.mark.parametrize("number", [20_928 * 5, 10**9, 2**63, 10**4000])
def test_numbers_that_no_network_has_are_refused_at_once(folder, name, number):
    edit(folder, config=to_json(SMALL) | {name: number})
    began = time.monotonic()
    tracemalloc.start()
    try:
        assert f"{name} is more than" in refused(folder)
        with pytest.raises(ValueError, match="is more than"):
            latents(folder, "it")
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert time.monotonic() - began < 10


def test_many_numbers_that_are_too_many_together_are_refused(folder):
    edit(folder, config=to_json(SMALL) | {"hidden": 8000, "features": 8000, "layers": 16})
    assert "choose fewer layers" in refused(folder)


@pytest.mark.parametrize(
    "config", [{"observations": [[]]}, {"observations": [{}]}, {"hidden": 1.5}, {"latent_logit_std": 1e300}]
)
def test_a_config_of_anything_else_is_refused_in_one_line(folder, config):
    edit(folder, config=to_json(SMALL) | config)
    assert "policy.json" in refused(folder)


def test_another_number_of_actions_is_refused(folder):
    edit(folder, actions=["wait"] * 13)
    assert "is for 13 other actions than the 25 here" in refused(folder)


def test_observations_of_another_length_are_refused(folder):
    spec = SMALL.observation_spec()
    edit(folder, observations={**spec, "predicates": {**spec["predicates"], "shape": [54]}})
    assert "is for predicates" in refused(folder)


def test_weights_of_another_shape_are_refused(folder):
    tensors = load_file(folder / "policy.safetensors")
    put_weights(folder, {**tensors, "actor.weight": torch.zeros(25, 8)})
    assert "has actor.weight of shape [25, 8] instead of [25, 16]" in refused(folder)


def test_a_lacking_tensor_is_named(folder):
    tensors = load_file(folder / "policy.safetensors")
    del tensors["critic.bias"]
    put_weights(folder, tensors)
    assert "lacks tensor critic.bias" in refused(folder)


def test_an_unknown_tensor_is_named(folder):
    put_weights(folder, {**load_file(folder / "policy.safetensors"), "extra": torch.zeros(1)})
    assert "has the unknown tensor extra" in refused(folder)
