"""Two robots that choose at random: the PettingZoo loop, with the robots that are busy.

python examples/pettingzoo_loop.py --episodes 3
"""

import tyro

import housemates


def main(task: str = "tidy_house", episodes: int = 3, split: str = "dev", horizon: int = 750, seed: int = 0) -> list[str]:
    """Play some episodes and print how they end; returns the outcomes.

    Args:
        task: tidy_house, set_table or prepare_groceries.
        episodes: how many.
        split: where the homes come from.
        horizon: simulation steps until an episode is cut.
        seed: of the episodes and the choices.
    """
    env = housemates.make(task, robots=2, split=split, observations="state", horizon=horizon)
    for number, agent in enumerate(env.possible_agents):
        env.action_space(agent).seed(seed + number)
    outcomes = []
    for episode in range(episodes):
        observations, infos = env.reset(seed=seed + episode)
        total, steps = 0.0, 0
        while env.agents:
            # Only robots that must decide need an action; the mask of a busy one allows what it is doing.
            actions = {
                agent: env.action_space(agent).sample(observations[agent]["action_mask"])
                for agent in env.agents
                if infos[agent]["must_decide"]
            }
            observations, rewards, _terminations, _truncations, infos = env.step(actions)
            total += rewards["robot_0"]
            steps += infos["robot_0"]["duration"]
        outcomes.append(infos["robot_0"]["outcome"])
        print(f"episode {episode}: {outcomes[-1]} after {steps} simulation steps, return {total:.2f}")
    env.close()
    return outcomes


if __name__ == "__main__":
    tyro.cli(main)
