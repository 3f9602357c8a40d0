"""The training loop of the README with a learning curve: an actor-critic in twenty lines, beside a scripted partner.

python examples/short_loop.py --updates 2400 --out short_loop.pt
"""

from pathlib import Path

import numpy as np
import torch
import tyro
from torch.distributions import Categorical

import housemates

SUCCESS = 1
"""In `infos["outcome"]`: 0 running, 1 success, 2 collision, 3 timeout."""


def flat(seen: dict[str, np.ndarray]) -> torch.Tensor:
    """Distances, headings and ground-truth bits as one matrix [n, 75]."""
    return torch.cat([torch.from_numpy(seen[name]).float() for name in ("state", "predicates")], 1)


def network() -> torch.nn.Module:
    """75 numbers to 25 logits and a value."""
    body = [torch.nn.Linear(75, 128), torch.nn.Tanh(), torch.nn.Linear(128, 128), torch.nn.Tanh()]
    return torch.nn.Sequential(*body, torch.nn.Linear(128, 26))


def train(
    updates: int = 2400, num_envs: int = 256, split: str = "train", seed: int = 0, out: Path | None = None
) -> list[tuple[int, float]]:
    """Train; returns (decisions, success of the last 400 episodes) at thirty points of the training.

    Args:
        updates: gradient steps; each uses one decision of every home.
        num_envs: homes side by side.
        split: where the homes come from.
        seed: of homes, network and exploration.
        out: keep the weights in this file.
    """
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # small networks are faster on one core
    envs = housemates.make_vec("tidy_house", num_envs, partner="script/second_half", observations="state", split=split)
    seen = flat(envs.reset(seed=seed)[0])
    net = network()
    adam = torch.optim.Adam(net.parameters(), 5e-4)
    ended, curve = [], []
    for update in range(1, updates + 1):
        computed = net(seen)
        choice = Categorical(logits=computed[:, :25])
        action = choice.sample()
        observations, reward, terminated, truncated, infos = envs.step(action.numpy())
        done = terminated | truncated
        seen, discount = flat(observations), torch.from_numpy(np.where(done, 0.0, 0.998 ** infos["duration"])).float()
        target = torch.from_numpy(reward).float() + discount * net(seen)[:, 25].detach()
        advantage = target - computed[:, 25]
        loss = (advantage**2 - advantage.detach() * choice.log_prob(action) - 0.03 * choice.entropy()).mean()
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        adam.step()
        ended = [*ended, *(infos["outcome"][done] == SUCCESS)][-400:]
        if update % max(1, updates // 30) == 0:
            curve.append((update * num_envs, float(np.mean(ended)) if ended else 0.0))
            print(f"{curve[-1][0]:>8} decisions   success {curve[-1][1]:5.1%}", flush=True)
    if out is not None:
        torch.save(net.state_dict(), out)
    return curve


if __name__ == "__main__":
    tyro.cli(train)
