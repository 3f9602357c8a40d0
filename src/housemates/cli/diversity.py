"""`housemates diversity`: how different are the members of a population?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tyro.conf import Positional

from housemates.cli.homes import SplitName, TaskName, load_homes, load_set
from housemates.envs.loading import progress

if TYPE_CHECKING:
    from housemates.agents.agent import Agent
    from housemates.sim.rules import Rules


def diversity(
    population: Positional[tuple[str, ...]],
    /,
    split: SplitName = "dev",
    episodes: int = 100,
    task: TaskName | None = None,
    seed: int = 0,
    threads: int = 1,
    out: Path | None = None,
) -> None:
    """Let every member of a population play with every other and with itself, and say how different they are.

    Leaves diversity.json, diversity.png and diversity.svg in the folder of the run.

    Args:
        population: The folder of a run, or several partners as `housemates partners` names them.
        split: The homes; settings are chosen on dev.
        episodes: Games of each ordered pair, one in each of the first episodes of the split.
        task: What is to be done; default: what the population was trained for.
        seed: Of the sampled actions.
        threads: Of simulator and networks.
        out: Another folder for the results; needed where the population is not one run.
    """
    from housemates.agents.agent import resolve_all
    from housemates.evaluation.diversity import audit
    from housemates.io import write_json
    from housemates.reports.diversity import check_drawing, draw_diversity
    from housemates.run_folder import RunFolder, is_run

    if not population:
        raise ValueError("whose diversity? - give the folder of a run, such as runs/bdp-tidy_house-state-0")
    members = resolve_all(population, task)
    run = Path(population[0])
    single = len(population) == 1 and is_run(run)
    folder = out or (run if single else None)
    if folder is None:
        raise ValueError(f"{' '.join(population)} is not one run - say with --out where the results belong")
    files = [RunFolder(folder).diversity(kind) for kind in ("json", "png", "svg")]
    for file in files:
        check_drawing(file)
    what, robots, rules = setting(run if single else None, members, task)
    if robots < 2:
        raise ValueError(f"{run} trains one robot alone, which has no partner - give a run with two robots or more")
    homes = load_homes(split)
    games = load_set(what, split, homes)
    with progress(f"games of {len(members)} x {len(members)} members") as report:
        found = audit(members, games, homes, robots, rules, seed, episodes, threads, progress=report)
    found = {"population": run.resolve().name if single else " ".join(population), "split": split} | found
    write_json(files[0], found)
    draw_diversity(found, files[1:])
    print("\n".join(table(found)))
    print(f"\n{files[0]}, {files[1].name}, {files[2].name}")
    if single:
        print(f"next: housemates report {run}")


def setting(run: Path | None, members: list[Agent], task: str | None) -> tuple[str, int, Rules | None]:
    """Task, number of robots and rules of the games: the run's, or what the members say."""
    if run is not None:
        from housemates.runs.run import read

        settings = read(run)
        return task or settings.task, settings.robots, settings.training.rules
    tasks = {str(p.meta["task"]) for p in members if p.meta.get("task")} if task is None else {task}
    if len(tasks) != 1:
        raise ValueError(f"the members were trained for {', '.join(sorted(tasks)) or 'no task'} - say with --task what to play")
    return tasks.pop(), max((int(p.meta.get("robots", 2)) for p in members), default=2), None


def table(found: dict[str, Any]) -> list[str]:
    """The numbers as lines of text."""
    members, told = found["members"], found["information"]
    rows = {
        "all sub-goals together": told["subgoals"],
        "the same, in self-play": told["subgoals_in_self_play"],
        **told["each_subgoal"],
        "skills": told["skills"],
        "skills, in self-play": told["skills_in_self_play"],
    }
    most = f"(at most {told['subgoals']['most']:.2f})"
    lines = [
        f"{found['population']}: {len(members)} members, {found['task']}, {found['episodes']} {found['split']} episodes for "
        f"each of {len(members) ** 2} ordered pairs, seed {found['seed']}",
        "",
        f"{'what a game tells about the member':<36} {'bits':>6} {'chance':>7} {'p':>6}   {most}",
    ]
    lines += [f"  {name:<34} {one['bits']:6.2f} {one['null_95']:7.2f} {one['p']:6.3f}" for name, one in rows.items()]
    distance, success = found["distance"], found["success"]
    lines += [
        f"  equivalent to {found['behaviours']:.1f} distinct behaviours",
        "",
        f"distance of members, 0 to 1: sub-goals {distance['subgoals']:.2f}, skills {distance['skills']:.2f}, "
        f"events {distance['events']:.2f}",
        f"success: with itself {100 * success['self_play']:.1f} %, with others {100 * success['cross_play']:.1f} %, "
        f"gap {100 * success['gap']:+.1f} ± {100 * success['gap_error']:.1f} points",
        "",
    ]
    width = max(6, *map(len, members))
    head = (*found["subgoals"], "wins with itself", "with others")
    lines.append(" " * width + "".join(f"  {name:>11}" for name in head) + "   (% of its games)")
    for k, name in enumerate(members):
        row, column = found["cross_play"][k], [other[k] for other in found["cross_play"]]
        others = [x for i, x in enumerate(row + column) if i % len(members) != k]
        shown = (*found["who_does_what"][k], row[k], sum(others) / len(others))
        lines.append(
            f"{name:<{width}}" + "".join(f"  {100 * x:>{max(11, len(h))}.0f}" for x, h in zip(shown, head, strict=True))
        )
    return lines
