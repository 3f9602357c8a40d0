"""`housemates watch`, `play` and `games`: recordings, trainings and games with people on the page, and films."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from tyro.conf import Positional

from housemates.cli.homes import SplitName, TaskName, load_homes, load_set
from housemates.envs.loading import progress
from housemates.run_folder import is_run

if TYPE_CHECKING:
    from housemates.recordings.recording import Recording

ScriptName = Literal[
    "noop", "first_half", "second_half", "solo",
    "slow", "stubborn", "changes_mind", "opens_nothing", "other_order", "blocks", "hands_over",
]  # fmt: skip
SpeedName = Literal["slow", "middle", "fast"]


def watch(
    recording: Positional[Path | None] = None,
    /,
    scripted: bool = False,
    agents: tuple[str, ...] = (),
    video: Path | None = None,
    record: Path | None = None,
    rerun: Path | None = None,
    run: Path | None = None,
    task: TaskName = "tidy_house",
    split: SplitName = "eval",
    episode: int = 3,
    robot: ScriptName = "first_half",
    partner: ScriptName = "second_half",
    speed: SpeedName | None = None,
    fps: float = 15.0,
    every: int = 1,
    width: int = 960,
    real: bool = False,
    partners: tuple[str, ...] = (),
    games: Path = Path("games"),
    host: str = "",
    port: int = 7431,
    token: bool = True,
    browser: bool = True,
    fastest: float = 30.0,
) -> None:
    """Watch episodes on a page in the browser, or write a video of one and list its events.

    The page opens for a recording, a folder with recordings, or a run that trains; with --scripted, --video, --record or
    --rerun it does not.

    Args:
        recording: A recording, or a folder (a run, an evaluation, games) that is searched for recordings.
        scripted: Play an episode with scripted robots now.
        agents: Play an episode with these now, one name for each robot: learned agents, scripts, functions, as
            `housemates partners` lists them.
        video: The film: a file ending in .mp4 or .gif.
        record: Keep the episode as a recording (.npz) that can be shown and played again.
        rerun: The episode as a file for the viewer rerun (.rrd; pip install rerun-sdk).
        run: A run that trains: the page shows its curves and lets you into an episode of its newest checkpoint.
        task: What is to be done.
        split: Where the homes come from.
        episode: Which episode of the split.
        robot: What robot 0 does: nothing, the first or second half of the task, or all of it.
        partner: What robot 1 does.
        speed: How far robots move in a step; default: the rules' own.
        fps: Pictures a second.
        every: Simulation steps from one picture to the next.
        width: Width of the film, pixels.
        real: Show the real meshes of the robot and the objects (pip install 'housemates[meshes]') instead of solids.
        partners: Agents to offer for swaps and games on the page, beside scripts and what comes with the package: run
            folders, RUN/agent, RUN/3, RUN/z5, folders of policies, module:function.
        games: Where games are kept that are played on the page, if their players agree.
        host: Let other machines in at this address (0.0.0.0: at all of this machine's).
        port: Where the page is; 0 takes any free port.
        token: Only who has the printed address, with the token in it, comes in. --no-token: any user of this machine (for
            development and tests; not with --host).
        browser: Open the page in the browser.
        fastest: Most steps per second of a live game.
    """
    if not scripted and not agents and video is None and record is None and rerun is None:
        show_page(recording, run, partners, games, (host, port, browser), fastest, token)
        return
    if run is not None:
        raise ValueError("--run opens the page, which writes no files - leave --scripted, --video, --record and --rerun away")
    from housemates.io import check_place
    from housemates.recordings.film import Style, check_film, film
    from housemates.recordings.recording import load_recording, save_recording
    from housemates.robots.meshes import LICENCES

    if (recording is not None) + scripted + bool(agents) != 1:
        raise ValueError(
            "give either a recording to watch, or --scripted, or --agents NAME NAME, for example: "
            "housemates watch --scripted --video out.mp4"
        )
    style = Style(fps, every, width, real)
    if video is not None:
        check_film(video, style)
        if real:
            print("\n".join(f"note: {licence}" for licence in LICENCES.values()), file=sys.stderr)
    if record is not None:
        check_place(record)
    if rerun is not None:
        check_place(rerun)
    if agents:
        from housemates.envs.record import record as play
        from housemates.sim.rules import Rules

        shown = play(agents, task, split, episode, rules=None if speed is None else Rules(speed=speed))
    else:
        shown = load_recording(recording) if recording else play_scripted(task, split, episode, (robot, partner), speed)
    tell(shown)
    if record is not None:
        save_recording(record, shown)
        print(f"{record} ({record.stat().st_size / 1000:.0f} kB)")
    if rerun is not None:
        from housemates.recordings.recording import home_of
        from housemates.web.rerun import write_rerun

        write_rerun(rerun, shown, home_of(shown))
        print(f"{rerun} ({rerun.stat().st_size / 1000:.0f} kB)")
    if video is not None:
        with progress("film") as report:
            film(shown, video, style, progress=report)
        print(f"{video} ({video.stat().st_size / 1000:.0f} kB)")


def show_page(
    place: Path | None,
    run: Path | None,
    partners: tuple[str, ...],
    games: Path,
    where: tuple[str, int, bool],
    fastest: float,
    token: bool = True,
) -> None:
    """Open the page with a recording, a folder of them, or a run; where: host, port, whether to open the browser."""
    from housemates.agents.agent import resolve_all
    from housemates.recordings.recording import load_recording
    from housemates.web.game import lent
    from housemates.web.server import open_page
    from housemates.web.service import Options
    from housemates.web.training import TrainingRun

    if place is not None and not place.is_dir():
        load_recording(place)
    if run is None and place is not None and is_run(place):
        run = place
    # A run that is watched lends its agent and its members to games and swaps, if it has any yet.
    known = lent(run) if run is not None else []
    folders = dict.fromkeys((place, run, games if place is None else None))
    places = tuple(folder for folder in folders if folder is not None and folder.exists())
    options = Options(
        places=places,
        runs=(run,) if run is not None else (),
        partners=tuple(resolve_all((*known, *partners))),
        games=games,
        fastest=fastest,
    )
    # A run is opened at its recordings, if it has any, else at its curves.
    recorded = place is not None and any(place.rglob("*.npz"))
    query = f"run={TrainingRun(run).id}" if run is not None and not recorded else "mode=watch"
    open_page(options, *where, query, token)


def play_scripted(task: str, split: str, episode: int, scripts: tuple[str, ...], speed: SpeedName | None = None) -> Recording:
    """One episode of a split, robot r following the plan scripts[r], from its stored start."""
    from housemates.recordings.recording import record_batch
    from housemates.sim.batch import Batch
    from housemates.sim.rules import Rules
    from housemates.sim.scripts import script
    from housemates.tasks.episodes import episode_count

    count = episode_count(split)
    if not 0 <= episode < count:
        raise ValueError(f"{split} has {count} episodes of {task}: choose --episode from 0 to {count - 1}")
    homes = load_homes(split)
    episodes = load_set(task, split, homes)
    # One home is enough: the others would only be packed in vain.
    one = episodes.take([episode])
    home = homes[int(one.home[0])]
    alone = replace(one, homes=(home.name,), hashes=(home.content_hash,), home=np.zeros_like(one.home))
    rules = Rules() if speed is None else Rules(speed=speed)
    batch = Batch(alone, [home], 1, len(scripts), rules, stored_spawns=one.spawn is not None, autoreset=False)
    for robot, name in enumerate(scripts):
        batch.script(robot, script(name))
    batch.reset(np.zeros(1, np.int32))
    return record_batch(batch)


def tell(recording: Recording) -> None:
    """Print what happened."""
    from housemates.recordings.captions import ENDS, thing_names, title, told

    things = thing_names(recording)
    names = " and ".join(recording.header["robots"])
    print(f"{title(recording)}: {names}")
    for event in recording.events:
        print(f"  step {event['tick']:>4}  {told(event, things)}")
    print(f"{ENDS[recording.header['outcome']]} after {recording.steps} steps, return {recording.header['return']:.2f}")


def play(
    partners: Positional[tuple[str, ...]] = (),
    /,
    split: SplitName = "eval",
    games: Path = Path("games"),
    host: str = "",
    port: int = 7431,
    token: bool = True,
    browser: bool = True,
    fastest: float = 30.0,
    user_study: Path | None = None,
) -> None:
    """Open the page and play: you move one robot, a policy of your choice moves the other.

    Args:
        partners: Agents to offer beside scripts and what comes with the package: run folders, RUN/agent, RUN/3, RUN/z5,
            folders of policies, module:function.
        split: Where the homes come from.
        games: Where games are kept, if their players agree.
        host: Let other machines in at this address (0.0.0.0: at all of this machine's).
        port: Where the page is; 0 takes any free port.
        token: Only who has the printed address, with the token in it, comes in. --no-token: any user of this machine (for
            development and tests; not with --host).
        browser: Open it in the browser.
        fastest: Most steps per second that may be asked for.
        user_study: A TOML file (docs/howto/user_study.md): whoever opens the page takes part in this study, with hidden
            partners, questions and a code at the end. ?pid=NAME in the address names the participant.
    """
    from housemates.agents.agent import resolve_all
    from housemates.web.game import lent
    from housemates.web.server import open_page
    from housemates.web.service import Options

    # A run lends its agent as well as its population.
    names = [name for text in partners for name in (lent(Path(text)) if is_run(text) else ()) or [text]]
    offered = tuple(resolve_all(names))
    places = (games,) if games.is_dir() else ()
    study = None
    if user_study is not None:
        from housemates.web.user_study import prepare_user_study, read_user_study

        study, more = prepare_user_study(read_user_study(user_study), split, offered, fastest)
        offered = (*offered, *more)
    options = Options(mode="play", places=places, partners=offered, split=split, games=games, fastest=fastest, study=study)
    open_page(options, host, port, browser, "mode=play", token)


def list_games(folder: Positional[Path] = Path("games"), /) -> None:
    """List the games of a folder: who played, and how it ended.

    Args:
        folder: Where `housemates play` keeps them.
    """
    from housemates.recordings.captions import ENDS, title
    from housemates.web.games import find_games

    found = find_games(folder)
    for path, recording in found:
        names = " and ".join(recording.header["robots"])
        end = ENDS[recording.header["outcome"]]
        print(f"{path.name}  {title(recording)}: {names}, {end} after {recording.steps} steps")
    print(f"{len(found)} games - watch them with: housemates watch {folder}")


def export_games(folder: Positional[Path] = Path("games"), /, out: Path = Path("games.zip")) -> None:
    """Write all games of a folder into one file.

    Args:
        folder: Where `housemates play` keeps them.
        out: A .zip with the recordings and rows.parquet (rows of the evaluation `human`), or a .parquet with the rows alone.
    """
    from housemates.io import check_place
    from housemates.web.games import export

    check_place(out)
    count = export(folder, out)
    print(f"{out}: {count} games ({out.stat().st_size / 1000:.0f} kB)")
