"""Made-up rollouts for the tests of the fused path: networks of every supported kind, and decisions nobody has taken."""

import numpy as np
import torch

from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Auxiliary, Policy
from housemates.sim.sensors import predicates_size, privileged_size
from housemates.training.partner_model import ACTION, VIEW, PartnerModel, sizes
from housemates.training.ppo import PPO, Batched, prepare
from housemates.training.store import Store

NO_MODEL = PartnerModel()
SMALL = {"features": 24, "hidden": 16}
CONFIGS = {
    "state": PolicyConfig.state(**SMALL),
    "state alone": PolicyConfig.blind(**SMALL),
    "bits alone": PolicyConfig.predicates(**SMALL),
    "bits first": PolicyConfig.state(observations=("predicates", "state"), **SMALL),
    "latent": PolicyConfig.state(latent=4, **SMALL),
    "latent_logit_std": PolicyConfig.state(latent=4, latent_logit_std=1.0, **SMALL),
    "informed": PolicyConfig.state(privileged=privileged_size(2), **SMALL),
    "three robots": PolicyConfig.state(robots=3, **SMALL),
    "depth": PolicyConfig.laptop(**SMALL),
    "depth, informed, latent": PolicyConfig.laptop(privileged=privileged_size(2), latent=3, latent_logit_std=0.5, **SMALL),
    "depth alone": PolicyConfig.laptop(observations=("depth",), **SMALL),
    "depth 128": PolicyConfig.laptop(picture=128, **SMALL),
    "rgb": PolicyConfig.laptop(rgb=True, **SMALL),
}
PICTURED = [name for name, config in CONFIGS.items() if config.pictures]
KINDS = {"depth": np.uint8, "rgb": np.uint8, "state": np.float32, "predicates": np.uint8, "privileged": np.float32}


def observations(config: PolicyConfig, n: int, rng: np.random.Generator, also: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
    """Random observations [n, ...] of a policy; also: further names."""
    found = {}
    for name in dict.fromkeys((*config.observations, *also)):
        if name in config.pictures:
            found[name] = rng.integers(0, 256, (n, *config.shape(name)), np.uint8)
        elif name == "predicates":
            found[name] = rng.integers(0, 2, (n, predicates_size(config.robots)), np.uint8)
        elif name == "privileged":
            found[name] = rng.standard_normal((n, config.privileged)).astype(np.float32)
        else:
            found[name] = rng.uniform(0, 3, (n, *config.shape(name))).astype(np.float32)
    return found


def learner(
    config: PolicyConfig, bits: bool = False, seed: int = 0, model: PartnerModel = NO_MODEL
) -> tuple[Policy, Auxiliary | None, torch.optim.Adam]:
    """A policy with weights that are not close to zero anywhere, its head, and its optimiser."""
    policy = Policy(config, seed=seed)
    count, classes = sizes(float(bits), predicates_size(config.robots), model, config.robots)
    head = Auxiliary(config.hidden, count, seed, classes) if count or classes else None
    learnt = [*policy.parameters(), *(head.parameters() if head is not None else ())]
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(seed + 1)
        for parameter in learnt:
            parameter += 0.1 * torch.randn_like(parameter)
    return policy, head, torch.optim.Adam(learnt, lr=1e-3, eps=1e-5, fused=True)


def store(
    config: PolicyConfig, n: int = 300, streams: int = 12, seed: int = 0, bits: bool = False, model: PartnerModel = NO_MODEL
) -> Store:
    """Decisions of some streams in any order, some episodes ended, the newest of each stream still open."""
    rng = np.random.default_rng(seed)
    also = (*(("privileged",) if config.informed else ()), *(("predicates",) if bits else ()))
    seen = observations(config, n, rng, also)
    shapes = {name: (values.shape[1:], values.dtype.type) for name, values in seen.items()}
    made = Store(shapes, config.memory_size, n, labels=model.columns(config.robots))
    made.append(n)
    for name, values in seen.items():
        made.observations[name][:] = values
    numbers = made.numbers
    numbers["stream"][:] = rng.integers(0, streams, n)
    numbers["latent"][:] = rng.integers(0, max(config.latent, 1), streams)[numbers["stream"]]
    numbers["action"][:] = rng.integers(0, config.actions, n)
    numbers["log_prob"][:] = -np.log(config.actions) + 0.3 * rng.standard_normal(n)
    numbers["value"][:] = rng.standard_normal(n)
    numbers["memory"][:] = rng.uniform(-1, 1, (n, config.memory_size))
    numbers["discounted"][:] = numbers["reward"][:] = rng.standard_normal(n)
    numbers["duration"][:] = rng.integers(1, 9, n)
    done = rng.random(n) < 0.1
    numbers["done"][:] = done
    closed = np.ones(n, bool)
    for stream in range(streams):
        mine = np.flatnonzero(numbers["stream"] == stream)
        numbers["start"][mine[1:]] = done[mine[:-1]]
        if len(mine):
            closed[mine[-1]] = False
    numbers["closed"][:] = closed
    if model.action:
        # Some are not known.
        numbers[ACTION][:] = rng.integers(-1, config.actions, n)
    if model.view:
        numbers[VIEW][:] = rng.integers(0, 2, numbers[VIEW].shape)
    return made


def ready(made: Store, config: PPO, streams: int = 12) -> Batched:
    """Advantages and chunks."""
    return prepare(made, config, streams)
