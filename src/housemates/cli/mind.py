"""`housemates mind`: what does an agent's partner do, and what will it do next?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from housemates.cli.homes import SplitName


def mind(
    run: Positional[Path],
    /,
    partners: Annotated[tuple[str, ...], arg(aliases=["--partner"])] = (),
    split: SplitName = "dev",
    steps: int = 300_000,
    num_envs: int = 256,
    seed: int = 0,
) -> None:
    """Train the theory of mind of a run's agent beside it, or with --partners say how right it is about others.

    Games with the partners of its training, some of them disturbed, are recorded in the homes of its training; a small network
    learns from them what the partner does, where it goes, where it will be, which sub-goals it will achieve and whether it
    reacts. It is kept in the agent's folder, whose policy stays as it is; RUN/agent+lookahead-mind looks ahead with it.

    Args:
        run: The folder of a run with an agent.
        partners: Do not train; judge what was trained with these partners, such as script/first_half.
        split: The homes in which it is judged with --partners.
        steps: Simulation steps of all homes together that are recorded.
        num_envs: Games side by side.
        seed: Of everything that is drawn.
    """
    from housemates.mind.train import MindSettings, judge_mind, train_mind

    settings = MindSettings(steps=steps, num_envs=num_envs, seed=seed)
    told = judge_mind(run, partners, split, settings) if partners else train_mind(run, settings, print)
    for line in lines(told):
        print(line)
    if not partners:
        print(f"next: housemates evaluate --agents {run}/agent+lookahead-mind --split dev")


def lines(told: dict[str, Any]) -> list[str]:
    """What `mind.fit.judge` found, in lines of text."""

    def percent(name: str) -> str:
        return "-" if told[name] is None else f"{100 * told[name]:.1f} %"

    def metres(name: str) -> str:
        return "-" if told[name] is None else f"{told[name]:.2f} m"

    found = [f"{told['samples']} decisions with a partner near"]
    for name, words in (("action", "action"), ("going", "destination"), ("subgoals", "sub-goals"), ("reacts", "reacts")):
        error, usual = percent(f"{name}_error"), percent(f"{name}_usual")
        found.append(f"{words}: right {percent(name)} (always the most frequent: {usual}), calibration error {error}")
    found.append(f"destination by the look-ahead's guess: right {percent('guess')}")
    nats = {name: "-" if told[name] is None else f"{told[name]:.3f}" for name in ("going_log_loss", "guess_log_loss")}
    found.append(f"log loss of the destination: {nats['going_log_loss']} (guess {nats['guess_log_loss']})")
    found.append(f"destination of partners that navigate: right {percent('going_moving')}")
    found.append(f"reacts, both kinds weighted the same: right {percent('reacts_balanced')}")
    for steps in (5, 10, 20, 40):
        at = f"place_{steps}"
        rest = f"constant velocity {metres(f'{at}_velocity')}, standing {metres(f'{at}_standing')}"
        found.append(f"place after {steps} steps: off by {metres(at)} ({rest})")
    found.append("reliability of the destination: decisions, mean probability, share that was right")
    found += [f"  {count:>6}  {chance:.2f}  {right:.2f}" for count, chance, right in told["reliability"]]
    return found
