"""A partner of one's own in ten lines: a function from observations to decisions.

    python examples/own_partner.py --episodes 20

The command line takes it too, in the folder of this file:

    housemates evaluate --agents pretrained/bdp-tidy_house-depth --partners own_partner:helper
"""

import numpy as np
import tyro

import housemates

NAV_OBJ1, NAV_GOAL1, PICK_OBJ1, PLACE_GOAL1, NO_OP = 1, 3, 15, 17, 21  # docs/concepts/observations.md lists all 25 decisions
HOLDING, START1, GOAL1 = 7, 10, 14  # places in `state`: is_holding, and the distances of start 1 and goal 1, metres
NEAR, AT_GOAL1 = 1.5, -14  # how near a robot must be; the bit of `predicates` that object 1 lies at goal 1


def helper(obs: dict[str, np.ndarray]) -> np.ndarray:
    """Brings object 1 to its goal, then stands still. Observations are arrays over n robots; the decisions are integers [n]."""
    state, done = obs["state"], obs["predicates"][:, AT_GOAL1] > 0
    holding = state[:, HOLDING] > 0
    fetch = np.where(state[:, START1] < NEAR, PICK_OBJ1, NAV_OBJ1)
    bring = np.where(state[:, GOAL1] < NEAR, PLACE_GOAL1, NAV_GOAL1)
    return np.where(done & ~holding, NO_OP, np.where(holding, bring, fetch))


def main(episodes: int = 20, split: str = "dev") -> float:
    """How often the helper and a scripted robot that does the other half succeed together in Tidy House.

    Args:
        episodes: how many are played.
        split: where the homes come from.
    """
    team = ["script/first_half", helper]
    outcomes = [
        housemates.record(team, "tidy_house", split, episode, observations="state").header["outcome"]
        for episode in range(episodes)
    ]
    success = outcomes.count("success") / episodes
    print(f"{success:.0%} of {episodes} episodes succeed; collisions: {outcomes.count('collision')}")
    return success


if __name__ == "__main__":
    tyro.cli(main)
