"""One episode in one file: its start, every decision, every pose, what happened. Enough to watch it and to play it again.

A recording keeps decisions and replays those, never the network that made them. Replaying needs the home, which is found
by its name and checked by its hash; the episode itself is in the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from housemates import __version__
from housemates.config import from_json, to_json
from housemates.homes.home import Home
from housemates.homes.sources import home_called
from housemates.io import write_whole
from housemates.recordings.events import happened, plan_of
from housemates.recordings.files import read_arrays
from housemates.robots import DEFAULT, ROBOTS, Robot
from housemates.sim.batch import Batch, Step
from housemates.sim.habits import FIRST
from housemates.sim.rules import Rules
from housemates.sim.scripts import SCRIPTS
from housemates.sim.state import MOST_ROBOTS, MUST_DECIDE, OUTCOMES, copy_of, state_type
from housemates.tasks.actions import ACTIONS, NO_OP
from housemates.tasks.episodes import Episodes
from housemates.tasks.files import ARRAYS, OPTIONAL

FORMAT = 1
"""Version of the files; another version is refused."""
ARM_UNIT = 1e-4
"""Arm joints are stored as whole numbers of this many radians."""
FRAMES = {
    "pose": np.dtype("f4"),  # [F, R, 3] (x, z, yaw)
    "arm": np.dtype("i2"),  # [F, R, J], in ARM_UNIT
    "held": np.dtype("i1"),  # [F, R] object in the gripper, -1 none
    "thing": np.dtype("f4"),  # [F, 2, 3] where the objects are
    "thing_yaw": np.dtype("f4"),  # [F, 2]
    "door": np.dtype("f4"),  # [F, 3] joint values of fridge, right drawer, left drawer
    "action": np.dtype("i1"),  # [F, R] running action after the step, -1 when the robot has none
    "executed": np.dtype("i1"),  # [F, R] what was really done in the step
}
"""What is kept of every step. Frame 0 is the start, frame t the home after t steps."""
EXACT = ("pose", "arm", "held", "thing", "door", "action", "executed", "total")
"""What the digest is made of, at full precision."""
GIVEN, SCRIPTED, CHANGED = range(3)
"""Where a decision came from: asked of a controller, read from a plan, a change of mind while busy (`Batch.assign`)."""
UNKNOWN = -1
"""Instead of an action: nobody knows what a policy decided."""
DECISION = np.dtype([("tick", "i4"), ("robot", "i1"), ("action", "i1"), ("source", "i1")])
HEADER = (
    "format", "version", "task", "split", "seed", "home", "home_hash", "episode_id", "rules", "robots", "actions", "steps",
    "outcome", "return", "events", "arm_unit", "digest", "robot", "game",
)  # fmt: skip
"""What a header tells (`robot`: the body of all robots, by default that of `robots.DEFAULT`; `game`: who played, in games of
people); anything else in a file is not kept."""
LARGEST_HEADER = 1_000_000
"""Bytes of a header as JSON."""
LONGEST = 20_000
"""Steps of the longest recording."""
MOST_PARTS = LONGEST + 1000
"""Objects and lists in a header, one for each event: a parser holds up everything else while it makes them."""
MOST_DECISIONS = MOST_ROBOTS * (LONGEST + 1)
MOST_JOINTS = 16
"""Of the longest arm."""
LIMITS = {
    "header": LARGEST_HEADER,
    "start": 65_536,
    **{f"episode/{name}": 65_536 for name in (*ARRAYS, *OPTIONAL)},
    **{f"frames/{name}": 2 * MOST_JOINTS * MOST_DECISIONS for name in FRAMES},  # arms are the most: two bytes a joint
    **{f"decisions/{name}": 4 * MOST_DECISIONS for name in (*(DECISION.names or ()), "value", "wanted")},
    "decisions/probabilities": 4 * len(ACTIONS) * MOST_DECISIONS,
}
"""Arrays of a file, and the most bytes of each."""

Answer = np.ndarray | tuple[np.ndarray, np.ndarray | None, np.ndarray | None]
Decide = Callable[[Batch, np.ndarray], Answer]
"""decide(batch, which [1, R] bool) -> actions [1, R], or (actions, probabilities [1, R, 25] or None, value [1, R] or None)."""


@dataclass(frozen=True, eq=False)
class Recording:
    """An episode that was played. Arrays over F = steps + 1 frames, R robots, D decisions."""

    header: dict[str, Any]
    """Task, split, home and its hash, episode id, rules, robots' names, outcome, events, code version, digest."""
    start: np.ndarray
    """[1] STATE: the complete state at frame 0."""
    episode: dict[str, np.ndarray]
    """The episode's row of every array of `Episodes`."""
    frames: dict[str, np.ndarray]
    """The arrays of FRAMES."""
    decisions: np.ndarray
    """[D] DECISION, in order; `tick` is the frame at which it was taken."""
    probabilities: np.ndarray
    """[D, 25] float32: how likely each action was; nan where not known."""
    value: np.ndarray
    """[D] float32: what the policy expected to earn; nan where not known."""
    wanted: np.ndarray
    """[D] int8: what the policy decided, which a look-ahead may have replaced by `action`; -1 where not known."""

    @property
    def steps(self) -> int:
        """Simulation steps played."""
        return len(self.frames["pose"]) - 1

    @property
    def robots(self) -> int:
        """Number of robots."""
        return self.frames["pose"].shape[1]

    @property
    def robot(self) -> Robot:
        """The body of all robots."""
        return robot_of(self.header)

    def by_step(self, steps: int) -> Iterator[tuple[int, np.ndarray]]:
        """The numbers of the first `steps` steps, each with the decisions (DECISION) that were taken at its beginning."""
        order = np.searchsorted(self.decisions["tick"], np.arange(steps + 1))
        for tick in range(steps):
            yield tick, self.decisions[order[tick] : order[tick + 1]]

    @property
    def events(self) -> list[dict[str, Any]]:
        """What happened, in order: dicts of `tick`, `kind` (see `events.KINDS`), `robot` (-1 for all) and `what`."""
        return self.header["events"]

    @property
    def rules(self) -> Rules:
        """The rules it was played by."""
        return from_json(Rules, self.header["rules"], "the recording: rules")

    def episodes(self) -> Episodes:
        """The episode as a set of one, played in a list of one home."""
        header, arrays = self.header, dict(self.episode)
        arrays["home"] = np.zeros_like(arrays["home"])
        return Episodes(
            task=header["task"],
            split=header["split"],
            seed=header["seed"],
            homes=(header["home"],),
            hashes=(header["home_hash"],),
            **arrays,
        )

    def arm(self) -> np.ndarray:
        """Arm joints [F, R, J] float64, radians."""
        return self.frames["arm"] * ARM_UNIT


class Recorder:
    """Writes down one home of a batch, from its present state, while its owner plays it one step at a time."""

    def __init__(self, batch: Batch, home: int = 0, names: Sequence[str] | None = None) -> None:
        """names: who the robots are, for people; default: their scripts, or `controlled`."""
        if batch.autoreset:
            raise ValueError("a batch with autoreset loses the last step of its episodes - record with autoreset=False")
        if not 0 <= home < batch.size:
            raise ValueError(f"there is no home {home} in this batch - choose 0 to {batch.size - 1}")
        self.batch, self.home = batch, home
        self.names = list(names) if names is not None else _names(batch, home)
        if len(self.names) != batch.robots:
            raise ValueError(f"{batch.robots} robots play, but {len(self.names)} names were given - give one each")
        self._start = copy_of(batch.records[home : home + 1])
        self._frames: dict[str, list[np.ndarray]] = {name: [] for name in FRAMES}
        self._digest = hashlib.sha256()
        self._decisions: list[tuple[int, int, int, int]] = []
        self._beliefs: list[tuple[np.ndarray | None, float, int]] = []
        self._events: list[dict[str, Any]] = []
        self._keep()

    @property
    def tick_number(self) -> int:
        """Steps recorded so far."""
        return len(self._frames["pose"]) - 1

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return bool(self.batch.state.over[self.home])

    def tick(
        self,
        actions: np.ndarray | None = None,
        probabilities: np.ndarray | None = None,
        value: np.ndarray | None = None,
        wanted: np.ndarray | None = None,
    ) -> Step:
        """One step of the whole batch with actions [E, R] for those who must decide (-1 waits); see `Batch.tick`.

        probabilities [E, R, 25], value [E, R] and wanted [E, R]: what the policies thought and decided, for whoever watches.
        """
        if self.over:
            raise ValueError(f"the episode ended after {self.tick_number} steps - nothing more can be recorded")
        e, state = self.home, self.batch.state
        actions = np.full((self.batch.size, self.batch.robots), -1) if actions is None else np.asarray(actions)
        for r in np.flatnonzero(state.action[e] == MUST_DECIDE):
            asked = bool(state.controllable[e, r])
            action = int(actions[e, r]) if asked else plan_of(self.batch, e, int(r))
            if action >= 0:
                likely = probabilities[e, r] if asked and probabilities is not None else None
                worth = value[e, r] if value is not None else np.nan
                self._decide(
                    int(r), action, GIVEN if asked else SCRIPTED, likely, worth, UNKNOWN if wanted is None else wanted[e, r]
                )
        before = self.batch.records[e].copy()
        chosen = _running(before["action"], self._decisions, self.tick_number, self.batch.robots)
        step = self.batch.tick(actions)
        self._events += happened(self.batch, e, before, chosen, self.tick_number + 1)
        self._keep()
        return step

    def assign(self, robot: int, action: int) -> None:
        """Let a robot change its mind; see `Batch.assign`."""
        self.batch.assign(self.home, robot, action)
        self._decide(robot, action, CHANGED, None, np.nan)

    def finish(self) -> Recording:
        """The recording up to now."""
        batch, state = self.batch, self.batch.state
        start, row = copy_of(self._start), int(state.episode[self.home])
        home = int(start["home"][0])
        episode = {name: np.array(array[row : row + 1]) for name, array in batch.episodes.arrays().items()}
        # A recording is played again in a list of one home and one episode.
        start["home"], start["episode"], start["following"] = 0, 0, -1
        header = {
            "format": FORMAT,
            "version": __version__,
            "task": batch.episodes.task,
            "split": batch.episodes.split,
            "seed": batch.episodes.seed,
            "home": batch.homes[home].name,
            "home_hash": batch.homes[home].content_hash,
            "episode_id": int(batch.episodes.id[row]),
            "rules": to_json(batch.rules),
            "robots": self.names,
            "actions": list(ACTIONS),
            "steps": self.tick_number,
            "outcome": OUTCOMES[int(batch.ended.outcome[self.home])] if self.over else OUTCOMES[0],
            "return": float(state.total[self.home]),
            "events": self._events,
            "arm_unit": ARM_UNIT,
            "digest": self._digest.hexdigest(),
            "robot": batch.robot.name,
        }
        unknown = np.full(len(ACTIONS), np.nan, np.float32)
        likely = [unknown if p is None else np.asarray(p, np.float32) for p, _, _ in self._beliefs]
        return Recording(
            header=json.loads(json.dumps(header)),
            start=start,
            episode=episode,
            frames={name: np.array(rows, FRAMES[name]) for name, rows in self._frames.items()},
            decisions=np.array(self._decisions, DECISION),
            probabilities=np.array(likely, np.float32).reshape(-1, len(ACTIONS)),
            value=np.array([v for _, v, _ in self._beliefs], np.float32),
            wanted=np.array([w for _, _, w in self._beliefs], np.int8),
        )

    def _decide(
        self, robot: int, action: int, source: int, likely: np.ndarray | None, value: float, wanted: int = UNKNOWN
    ) -> None:
        self._decisions.append((self.tick_number, robot, action, source))
        self._beliefs.append((likely, float(value), int(wanted)))

    def _keep(self) -> None:
        """Store the present state as the next frame."""
        state, e = self.batch.state, self.home
        for name, rows in self._frames.items():
            array = getattr(state, name)[e].copy()
            rows.append(np.round(array / ARM_UNIT).astype(np.int16) if name == "arm" else array)
        for name in EXACT:
            self._digest.update(np.ascontiguousarray(getattr(state, name)[e]).tobytes())


def record_batch(
    batch: Batch, home: int = 0, decide: Decide | None = None, names: Sequence[str] | None = None, most: int = 0
) -> Recording:
    """Play one home of a batch from its present state to the end of its episode (or for `most` steps) and record it.

    It plays a copy, so the batch stays as it is. `decide` is asked for the robots without a script (see `Decide`); without
    it they stand still.
    """
    alone = Batch(
        batch.episodes, batch.homes, 1, batch.robots, batch.rules,
        stored_spawns=batch.stored_spawns, autoreset=False, world=batch.world, robot=batch.robot,
    )  # fmt: skip
    alone.records[0] = batch.records[home]
    recorder = Recorder(alone, names=names)
    while not recorder.over and not 0 < most <= recorder.tick_number:
        which = alone.decide
        answer = decide(alone, which) if decide is not None and which.any() else None
        recorder.tick(*answer) if isinstance(answer, tuple) else recorder.tick(answer)
    return recorder.finish()


def replay(recording: Recording | Path | str, home: Home | None = None) -> Recording:
    """Play the recorded decisions again; a ValueError names the first step that comes out differently.

    recording: one that was made here, or its file. home: where it was played, if it is loaded already or is of one's own.
    """
    if not isinstance(recording, Recording):
        recording = load_recording(Path(recording))
    again = _play(recording, home, recording.steps).finish()
    if again.header["digest"] != recording.header["digest"]:
        raise ValueError(_difference(recording, again))
    told = {name: getattr(recording, name) for name in ("decisions", "probabilities", "value", "wanted")}
    return replace(again, **told)


def resume(recording: Recording, tick: int, home: Home | None = None) -> Batch:
    """A batch of one home in the very state the recording had after `tick` steps, ready to go on with anybody."""
    if not 0 <= tick <= recording.steps:
        raise ValueError(f"the recording has no step {tick} - choose 0 to {recording.steps}")
    batch = _play(recording, home, tick).batch
    batch.records["controllable"] = recording.start["controllable"]
    for decision in recording.decisions:
        # A plan's idle no-ops come after its last step and do not count; what a habit remembers was played again.
        planned = batch.state.plan[0, decision["robot"]] < FIRST
        if planned and decision["tick"] < tick and decision["source"] == SCRIPTED and decision["action"] != NO_OP:
            batch.state.plan_at[0, decision["robot"]] += 1
    return batch


def batch_of(recording: Recording, home: Home | None = None) -> Batch:
    """A batch of one home in the state in which the recording starts."""
    home = home_of(recording) if home is None else home
    if home.content_hash != recording.header["home_hash"]:
        raise ValueError(
            f"{home.name} is not the home of this recording ({recording.header['home']} as version "
            f"{recording.header['version']} made it) - record the episode again"
        )
    batch = Batch(recording.episodes(), [home], 1, recording.robots, recording.rules, autoreset=False, robot=recording.robot)
    batch.records[...] = recording.start
    return batch


def robot_of(header: Mapping[str, Any]) -> Robot:
    """The body of the robots of a recording with that header."""
    return ROBOTS.find(header.get("robot", DEFAULT.name))


def home_of(recording: Recording) -> Home:
    """The home a recording was played in, found by its name and by where its homes came from."""
    return home_called(recording.header["home"], recording.header["split"])


def save_recording(path: Path, recording: Recording) -> None:
    """Write a recording as one compressed `.npz` file."""
    path = Path(path)
    header = json.dumps(recording.header).encode()
    if recording.steps > LONGEST or len(header) > LARGEST_HEADER:
        raise ValueError(f"{path}: an episode of {recording.steps} steps is too long to be kept - at most {LONGEST} are")
    arrays = {"header": np.frombuffer(header, np.uint8), "start": recording.start}
    arrays |= {f"episode/{name}": array for name, array in recording.episode.items()}
    arrays |= {f"frames/{name}": array for name, array in recording.frames.items()}
    arrays |= {f"decisions/{name}": recording.decisions[name] for name in DECISION.names or ()}
    if np.isfinite(recording.probabilities).any():
        arrays["decisions/probabilities"] = recording.probabilities
    if np.isfinite(recording.value).any():
        arrays["decisions/value"] = recording.value
    if (recording.wanted != UNKNOWN).any():
        arrays["decisions/wanted"] = recording.wanted
    write_whole(path, lambda file: np.savez_compressed(file, **arrays))  # ty: ignore[invalid-argument-type]


def load_recording(path: Path) -> Recording:
    """Read a recording."""
    path = Path(path)
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is no file - give a recording, or a folder that holds some")
    if not path.is_file():
        raise FileNotFoundError(f"no recording at {path} - make one with: housemates watch --scripted --record {path}")
    with path.open("rb") as file:
        return read_recording(file, str(path))


def read_recording(file: BinaryIO, name: str) -> Recording:
    """Read a recording from an open file that can seek; ValueError if it is none. name: of the file, for errors."""
    try:
        arrays = read_arrays(file, LIMITS)
        header = _header(arrays.pop("header"))
        version = header["format"]
        if version == FORMAT:
            return _assemble(header, arrays)
    except Exception as error:  # a damaged file may trip zipfile, zlib, json and numpy in any way
        raise ValueError(f"{name} is damaged ({_words(error)}) - record the episode again") from error
    raise ValueError(f"{name} has format {version}, this version reads {FORMAT} - record the episode again")


def read_header(path: Path) -> dict[str, Any]:
    """The header of a recording alone; raises whatever a damaged file trips."""
    with Path(path).open("rb") as file:
        return _header(read_arrays(file, {"header": LARGEST_HEADER})["header"])


def _header(array: np.ndarray) -> dict[str, Any]:
    text = array.tobytes()
    if text.count(b"{") + text.count(b"[") > MOST_PARTS:
        raise ValueError("header has more parts than any recording's")
    found = json.loads(text)
    return {key: found[key] for key in HEADER if key in found}


def _words(error: Exception) -> str:
    """What a library says about a file, on one line."""
    text = " ".join(str(error).split())[:200]
    return f"no {text}" if isinstance(error, KeyError) else text or type(error).__name__


def _assemble(header: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> Recording:
    def group(name: str) -> dict[str, np.ndarray]:
        return {key.removeprefix(f"{name}/"): array for key, array in arrays.items() if key.startswith(f"{name}/")}

    found = group("decisions")
    if len(found["tick"]) > MOST_DECISIONS:
        raise ValueError(f"more than {MOST_DECISIONS} decisions")
    decisions: np.ndarray = np.zeros(len(found["tick"]), DECISION)
    for name in DECISION.names or ():
        decisions[name] = found[name]
    state = state_type(robot_of(header).joints)
    start: np.ndarray = np.zeros(1, state)
    if set(arrays["start"].dtype.names or ()) != set(state.names or ()):
        raise ValueError(f"the state of version {header['version']} has other fields than this version's")
    for name in state.names or ():
        start[name] = arrays["start"][name]
    frames = group("frames")
    return Recording(
        header=header,
        start=start,
        episode=group("episode"),
        frames={name: frames[name] for name in FRAMES},
        decisions=decisions,
        probabilities=found.get("probabilities", np.full((len(decisions), len(ACTIONS)), np.nan, np.float32)),
        value=found.get("value", np.full(len(decisions), np.nan, np.float32)),
        wanted=found.get("wanted", np.full(len(decisions), UNKNOWN, np.int8)),
    )


def _play(recording: Recording, home: Home | None, ticks: int) -> Recorder:
    """Simulate from the recorded decisions alone: every robot is told what to do, scripted ones too."""
    batch = batch_of(recording, home)
    batch.state.controllable[:] = True
    recorder = Recorder(batch, names=recording.header["robots"])
    for _, taken in recording.by_step(ticks):
        for decision in taken:
            recorder.assign(int(decision["robot"]), int(decision["action"]))
        if recorder.over:
            break
        recorder.tick()
    return recorder


def _names(batch: Batch, home: int) -> list[str]:
    scripts = {number: name for name, number in SCRIPTS.items()}
    state = batch.state
    return [
        "controlled" if state.controllable[home, r] else scripts.get(int(state.script[home, r]), "scripted")
        for r in range(batch.robots)
    ]


def _running(before: np.ndarray, decisions: list[tuple[int, int, int, int]], tick: int, robots: int) -> list[int]:
    """What each robot does in this step: the action it was busy with, or what it has just decided; -1 for nothing."""
    chosen = [int(a) for a in before[:robots]]
    for at, robot, action, _ in decisions[-4 * robots :]:
        if at == tick:
            chosen[robot] = action
    return chosen


def _difference(recording: Recording, again: Recording) -> str:
    """Where two recordings part, in words."""
    made = f"recorded with version {recording.header['version']}"
    for tick in range(min(recording.steps, again.steps) + 1):
        for name in FRAMES:
            if not np.array_equal(recording.frames[name][tick], again.frames[name][tick], equal_nan=True):
                return f"the recording plays differently here from step {tick} on: other {name} ({made}, this is {__version__})"
    return f"the recording plays differently here in the last digits ({made}, this is {__version__})"
