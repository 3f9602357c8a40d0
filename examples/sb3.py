"""PPO of Stable-Baselines3 learns Tidy House beside a scripted partner (pip install stable-baselines3).

python examples/sb3.py --steps 300000
"""

import torch
import tyro
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecMonitor

from housemates.envs.sb3 import make_sb3


class Curve(BaseCallback):
    """Keeps and prints the mean return and success of the last 100 episodes after each rollout."""

    def __init__(self) -> None:
        super().__init__()
        self.points: list[tuple[int, float, float]] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        episodes, successes = self.model.ep_info_buffer, self.model.ep_success_buffer
        if episodes:
            mean, success = sum(e["r"] for e in episodes) / len(episodes), sum(successes) / len(successes)
            self.points.append((self.num_timesteps, mean, success))
            print(f"{self.num_timesteps:>8} steps   return {mean:6.2f}   success {success:5.1%}", flush=True)


def main(
    task: str = "tidy_house",
    partner: str = "script/second_half",
    steps: int = 300_000,
    num_envs: int = 64,
    rollout: int = 64,
    split: str = "train",
    seed: int = 0,
    out: str = "",
) -> list[tuple[int, float, float]]:
    """Train for `steps` decisions in `num_envs` homes; returns (steps, return, success) after each rollout.

    Args:
        task: tidy_house, set_table or prepare_groceries.
        partner: who the other robot is, by any name of `housemates partners`.
        steps: decisions of the learner, in all homes together.
        num_envs: homes side by side.
        rollout: decisions of each home before an update.
        split: where the homes come from.
        seed: of homes, network and exploration.
        out: keep the policy in this file (.zip).
    """
    torch.set_num_threads(1)  # small networks are faster on one core
    envs = VecMonitor(make_sb3(task, num_envs, partner=partner, observations="state", split=split))
    model = PPO(
        "MultiInputPolicy",
        envs,
        learning_rate=1e-3,
        n_steps=rollout,
        batch_size=rollout * num_envs // 4,
        n_epochs=4,
        ent_coef=0.01,
        seed=seed,
        device="cpu",
    )
    curve = Curve()
    model.learn(steps, callback=curve)
    if out:
        model.save(out)
    return curve.points


if __name__ == "__main__":
    tyro.cli(main)
