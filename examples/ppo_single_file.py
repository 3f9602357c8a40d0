"""PPO in one file: a robot learns Tidy House beside a scripted partner, from vectors, on one core.

    python examples/ppo_single_file.py --steps 500000

A decision lasts as long as its skill (`infos["duration"]`), so a reward that lies n simulation steps ahead is discounted by
gamma to the power n, not by one factor for each decision.
"""

import time
from dataclasses import dataclass

import numpy as np
import torch
import tyro
from torch import nn
from torch.distributions import Categorical

import housemates

SUCCESS = 1
"""In `infos["outcome"]`: 0 running, 1 success, 2 collision, 3 timeout."""


@dataclass
class Args:
    task: str = "tidy_house"
    """tidy_house, set_table or prepare_groceries."""
    partner: str = "script/second_half"
    """Who the other robot is, by any name of `housemates partners`."""
    split: str = "train"
    """Where the homes come from."""
    steps: int = 500_000
    """Decisions of the learner, in all homes together."""
    num_envs: int = 64
    """Homes side by side."""
    rollout: int = 64
    """Decisions of each home before an update."""
    epochs: int = 4
    """Passes over a rollout."""
    minibatches: int = 4
    """Parts of a rollout, one gradient step each."""
    learning_rate: float = 1e-3
    gamma: float = 0.998
    """Discount of a simulation step."""
    gae_lambda: float = 0.95
    clip: float = 0.2
    """How far a ratio of probabilities may move."""
    entropy: float = 0.01
    """Weight of the entropy bonus."""
    max_grad_norm: float = 0.5
    seed: int = 0
    """Of homes, network and exploration."""


class Agent(nn.Module):
    """A policy and a value function on the same features."""

    def __init__(self, inputs: int, actions: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh())
        self.policy, self.value = nn.Linear(128, actions), nn.Linear(128, 1)
        nn.init.orthogonal_(self.policy.weight, 0.01)

    def forward(self, seen: torch.Tensor) -> tuple[Categorical, torch.Tensor]:
        """The distribution over decisions and the expected return [n]."""
        features = self.body(seen)
        return Categorical(logits=self.policy(features)), self.value(features)[:, 0]


def flat(seen: dict[str, np.ndarray]) -> torch.Tensor:
    """Distances, headings and ground-truth bits as one matrix [n, inputs]."""
    return torch.from_numpy(np.concatenate([seen["state"], seen["predicates"]], axis=1).astype(np.float32))


def train(args: Args) -> list[tuple[int, float, float]]:
    """Train; returns (steps, mean return, success) of the last 400 episodes after each update."""
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    envs = housemates.make_vec(
        args.task, args.num_envs, partner=args.partner, observations="state", split=args.split, seed=args.seed
    )
    seen, _ = envs.reset(seed=args.seed)
    inputs = flat(seen)
    agent = Agent(inputs.shape[1], int(envs.single_action_space.n))
    optimizer = torch.optim.Adam(agent.parameters(), args.learning_rate, eps=1e-5)
    shape = (args.rollout, args.num_envs)
    states = torch.zeros(*shape, inputs.shape[1])
    actions = torch.zeros(shape, dtype=torch.long)
    log_probs, rewards, values, discounts = (torch.zeros(shape) for _ in range(4))
    returns, ended, curve, began = np.zeros(args.num_envs), [], [], time.perf_counter()

    for update in range(1, max(1, args.steps // (args.rollout * args.num_envs)) + 1):
        for t in range(args.rollout):
            with torch.no_grad():
                chances, values[t] = agent(inputs)
            states[t], actions[t] = inputs, chances.sample()
            log_probs[t] = chances.log_prob(actions[t])
            seen, reward, terminated, truncated, infos = envs.step(actions[t].numpy())
            done = terminated | truncated
            inputs, rewards[t] = flat(seen), torch.from_numpy(reward)
            discounts[t] = torch.from_numpy(np.where(done, 0.0, args.gamma ** infos["duration"]))
            returns += reward
            ended += [(returns[e], infos["outcome"][e] == SUCCESS) for e in np.flatnonzero(done)]
            returns[done] = 0.0

        with torch.no_grad():
            following = agent(inputs)[1]
        advantages, carried = torch.zeros(shape), torch.zeros(args.num_envs)
        for t in reversed(range(args.rollout)):
            delta = rewards[t] + discounts[t] * following - values[t]
            carried = delta + discounts[t] * args.gae_lambda * carried
            advantages[t], following = carried, values[t]

        x, a, old, adv, target = (
            tensor.flatten(0, 1) for tensor in (states, actions, log_probs, advantages, advantages + values)
        )
        for _ in range(args.epochs):
            for part in torch.randperm(len(x)).chunk(args.minibatches):
                chances, value = agent(x[part])
                ratio = (chances.log_prob(a[part]) - old[part]).exp()
                gain = (adv[part] - adv[part].mean()) / (adv[part].std() + 1e-8)
                policy_loss = -torch.min(ratio * gain, ratio.clamp(1 - args.clip, 1 + args.clip) * gain).mean()
                value_loss = 0.5 * (value - target[part]).square().mean()
                loss = policy_loss + value_loss - args.entropy * chances.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
                optimizer.step()

        ended, steps = ended[-400:], update * args.rollout * args.num_envs
        if ended:
            mean, success = (float(np.mean(column)) for column in zip(*ended, strict=True))
            curve.append((steps, mean, success))
            speed = steps / (time.perf_counter() - began)
            print(f"{steps:>8} steps   {speed:5.0f}/s   return {mean:6.2f}   success {success:5.1%}", flush=True)
    return curve


if __name__ == "__main__":
    train(tyro.cli(Args))
