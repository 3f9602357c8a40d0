"""`housemates.record`: play one episode with any agents and keep it as a recording."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from housemates.envs.partners import Partner, as_partners
from housemates.envs.spaces import change, check_names, check_size, load, new_batch
from housemates.homes.home import Home
from housemates.io import check_place
from housemates.recordings.recording import Recorder, Recording, save_recording
from housemates.sim.batch import Batch
from housemates.sim.rules import Rules
from housemates.tasks.episodes import Episodes


def record(
    agents: Sequence[Any],
    task: str = "tidy_house",
    split: str = "eval",
    episode: int = 0,
    out: Path | str | None = None,
    observations: str | Sequence[str] = "depth",
    size: int = 64,
    seed: int = 0,
    rules: Rules | None = None,
    homes: Sequence[Home] | None = None,
    episodes: Episodes | None = None,
    progress: bool = True,
    **changes: Any,
) -> Recording:
    """Play one episode and record it: every pose, decision and event (docs/howto/recordings.md).

    Args:
        agents: who acts, one for each robot: names, functions or policies, as `partner` of `make_vec`.
        task: the name of a task.
        split: homes and episodes to choose from.
        episode: number of the episode.
        out: also write the recording to this `.npz` file, which `housemates watch` shows and `housemates.replay` reads.
        observations: what functions among the agents see, as in `make`; policies see what they were trained with.
        size: side of the pictures that functions see, pixels.
        seed: of everything that the agents draw.
        rules: speeds, horizon, interruption, reward; single fields can be changed by name (speed="fast").
        homes: play in these instead of the split's.
        episodes: play one of these instead of the split's.
        progress: show on stderr how far it is where homes, paths or episodes must be made first.
        changes: fields of `Rules`.
    """
    if isinstance(agents, str) or not isinstance(agents, Sequence) or not agents:
        raise ValueError(f'agents are {agents!r} - give a list with one for each robot, such as ["script/solo", "random"]')
    names, size, changed = check_names(observations), check_size(size), change(rules, changes)
    # The learner's place counts as a robot there; here every robot has an agent.
    actors = as_partners(list(agents), len(agents) + 1, task)
    if out is not None:
        check_place(Path(out))
    homes, episodes = load(task, split, homes, episodes, progress)
    if not 0 <= episode < len(episodes):
        raise ValueError(f"there is no episode {episode} - choose 0 to {len(episodes) - 1}")
    batch = new_batch(homes, episodes, 1, len(agents), changed, seed, autoreset=False, pixels=size)
    recording = _play(batch, actors, names, episode, [_name(agent) for agent in agents], seed)
    if out is not None:
        save_recording(Path(out), recording)
    return recording


def _play(
    batch: Batch, actors: Sequence[Partner], names: Sequence[str], episode: int, called: list[str], seed: int
) -> Recording:
    """One episode of a batch of one home, from its start to its end; called: the agents' names."""
    for robot, actor in enumerate(actors):
        actor.join(batch, robot)
        actor.reseed(seed + robot)
    batch.reset(np.array([episode]))
    for actor in actors:
        actor.forget(np.ones(1, np.bool_))
    recorder = Recorder(batch, names=called)
    while not recorder.over:
        chosen = np.full((1, batch.robots), -1)
        decide = batch.decide
        for robot, actor in enumerate(actors):
            actor.choose(batch, robot, names, decide[:, robot], chosen)
        recorder.tick(chosen)
    return recorder.finish()


def _name(agent: Any) -> str:
    """What an agent is called in a recording."""
    if isinstance(agent, str | Path):
        return str(agent)
    return str(getattr(agent, "name", None) or getattr(agent, "__name__", None) or type(agent).__name__)
