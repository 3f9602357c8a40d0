"""`housemates evaluate`: how well do the members of a run work together in homes they have never seen?"""

from __future__ import annotations

from pathlib import Path

from tyro.conf import Positional

from housemates.cli_homes import SplitName, load_homes, load_set


def evaluate(run: Positional[Path], /, split: SplitName = "eval", seed: int = 0, greedy: bool = False) -> None:
    """Let the members of a trained run play every episode of a split together, once.

    Args:
        run: The folder of a run that is complete.
        split: The homes; choose settings on dev, look at eval once.
        seed: Of the sampled actions.
        greedy: Take the likeliest action instead of sampling.
    """
    from housemates.evaluation.play import play
    from housemates.policies.checkpoint import load_policy
    from housemates.populations.run import STAGE, read

    settings = read(run)
    members = sorted((run / STAGE / "members").glob("[0-9]*"))
    if len(members) != settings.robots:
        raise ValueError(f"{run} has {len(members)} trained members for {settings.robots} robots - train it to the end first")
    homes = load_homes(split)
    episodes = load_set(settings.task, split, homes)
    team = [load_policy(member) for member in members]
    played = play(episodes, homes, [team], settings.training.rules, seed, greedy, swap=False)
    won = played.outcome == 1
    print(f"{settings.method}, {settings.task}, {settings.observations}: {len(episodes)} episodes of {split}, seed {seed}")
    for outcome in ("success", "collision", "timeout"):
        print(f"  {outcome:<10} {100 * played.rate(outcome):5.1f} %")
    print(f"  return     {played.total.mean():5.2f}   (the paper's reward, no charge for collisions)")
    print(f"  steps      {played.steps[won].mean() if won.any() else float('nan'):5.0f}   (successful episodes)")
