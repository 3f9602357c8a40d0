"""The service behind the page: creates, joins and controls games, and finds partners and recordings.

`server` carries the messages; everything they ask for is done here.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from housemates import __version__
from housemates.agents.agent import Agent, looking
from housemates.homes.home import Home
from housemates.lookahead.settings import split_name, titled
from housemates.recordings.captions import ENDS
from housemates.recordings.recording import Recording
from housemates.sim.state import MOST_ROBOTS
from housemates.tasks.episodes import Episodes, episode_count, load_episodes
from housemates.tasks.tasks import TASKS, task_title
from housemates.web.game import KEYS, PERSON, Game, everybody, new_game, swap
from housemates.web.games import CONSENT, save_game
from housemates.web.library import Library
from housemates.web.messages import FLAGS, PIXELS, Refused, frame_layout
from housemates.web.phrases import actions, entities, instructions, palette, partner_title
from housemates.web.security import tokens_match
from housemates.web.session import HIDDEN, Client, Session, Sessions
from housemates.web.training import TrainingRun
from housemates.web.user_study import Participants, UserStudy
from housemates.web.views import STEP_SECONDS

SLOWEST, USUAL, FASTEST = 1.0, 10.0, 30.0
"""Steps per second that a game may have, and usually has."""
SURPRISE = "surprise"
"""A partner by chance: one of the trained ones."""
DEMO = {"task": "tidy_house", "episode": 3, "robots": ["script/first_half", "script/second_half"]}
"""A live episode for a page that has no recording to show."""


@dataclass(frozen=True)
class Options:
    """What a server shows and allows."""

    mode: str = "watch"
    """What the page begins with: `watch` or `play`."""
    places: tuple[Path, ...] = ()
    """Recordings, and folders that hold some."""
    runs: tuple[Path, ...] = ()
    """Runs whose training is shown."""
    partners: tuple[Agent, ...] = ()
    """More partners, beside scripts and the policies that come with the package."""
    games: Path = Path("games")
    """Where games are kept whose players agree."""
    split: str = "eval"
    """Which episodes are played."""
    fastest: float = FASTEST
    """Most steps per second."""
    study: UserStudy | None = None
    """What participants play; the page then offers nothing else."""


class Service:
    """Recordings, runs, partners and games of one server."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.library = Library(options.places)
        self.runs = {run.id: run for run in map(TrainingRun, options.runs)}
        self.partners = everybody(options.partners)
        self.sessions = Sessions(shared=options.study is not None)
        self.participants = None if options.study is None else Participants(options.study, options.games)
        self._episodes: dict[str, Episodes] = {}
        self._homes: list[Home] | None = None
        self._lock = threading.Lock()

    def start(self) -> dict[str, Any]:
        """What the page needs first."""
        # A recording that was given, or one of a folder that was given; games that happen to be kept here are not opened.
        given = [place for place in self.library.places if place != self.options.games.resolve()]
        found = (e for e in self.library.entries() if e.path is not None and any(e.path.is_relative_to(p) for p in given))
        first = next((e.id for e in found), None)
        # Tasks with trained partners come first: the page offers the first one.
        trained = {p.meta.get("task") for p in self.partners.values()}
        tasks = sorted(TASKS.everything(), key=lambda name: name not in trained)
        study = self.options.study
        hidden = {} if study is None else {"partners": [], "runs": [], "run": None, "recording": None, "mode": "play"}
        told = None if study is None else {"title": study.title, "consent": study.consent, "text": list(study.text)}
        return {
            "version": __version__,
            "mode": self.options.mode,
            "recording": first,
            "run": next(iter(self.runs), None),
            "tasks": [{"name": name, "title": task_title(name), "instructions": instructions(name)} for name in tasks],
            "demo": DEMO,
            "episodes": episode_count(self.options.split),
            "partners": [
                {"name": p.name, "title": partner_title(p), "kind": p.kind, "task": p.meta.get("task") or None}
                for p in self.partners.values()
            ],
            "actions": actions(),
            "entities": entities(),
            "keys": KEYS,
            "outcomes": ENDS,
            "palette": palette(),
            "frames": {"flags": FLAGS, "layouts": {robots: frame_layout(robots) for robots in range(1, MOST_ROBOTS + 1)}},
            "pixels": PIXELS,
            "step_seconds": STEP_SECONDS,
            "hz": self.hz(),
            "runs": [{"id": run.id, "title": run.title} for run in self.runs.values()],
            "consent": CONSENT,
            "hidden": {SURPRISE: "Surprise me (a trained robot)", HIDDEN: "hidden" if study else "name hidden until the end"},
            "study": told,
            **hidden,
        }

    def running(self) -> list[dict[str, Any]]:
        """The games that one may watch now."""
        return [
            {
                "id": session.id,
                "title": session.game.describe()["title"],
                "robots": session.names(),
                "human": session.game.human,
                "watchers": len(session.clients),
            }
            for session in self.sessions.sessions.values()
            if session.end is None
        ]

    def hz(self) -> dict[str, float]:
        """Steps per second: least, most, usual."""
        return {"least": SLOWEST, "most": self.options.fastest, "usual": USUAL}

    def study(self, message: dict[str, Any]) -> dict[str, Any]:
        """Begin a user study, go on with it, or keep answers; called in a thread."""
        if self.participants is None:
            raise Refused("there is no user study here - start one with: housemates play --user-study FILE")
        if message["type"] == "study_enter":
            return self.participants.enter(message["participant"])
        return self.participants.answer(message["participant"], message["part"], message["answers"])

    def of_study(self, message: dict[str, Any]) -> dict[str, Any]:
        """The message `new_game` of the game that a participant plays now, with what its recording says of the study."""
        if self.participants is None:
            raise Refused("there is no user study here - start one with: housemates play --user-study FILE")
        block, episode, told = self.participants.game(message["participant"])
        robots = ["person", block.partner] if block.robot == 0 else [block.partner, "person"]
        hz = self.participants.study.hz
        game = {"type": "new_game", "task": block.task, "episode": episode, "robots": robots, "hz": hz}
        return {**game, "consent": True, "reveal": False, "study": told}

    def make(self, message: dict[str, Any]) -> tuple[Game, dict[str, Any]]:
        """The game that `new_game` or `swap` asks for, and more fields for the page; called in a thread."""
        if message["type"] == "new_game":
            task = message["task"]
            if task not in (known := TASKS.everything()):
                raise Refused(f"no such task - choose one of: {', '.join(known)}")
            team = self._team(message["robots"], task)
            episodes, homes = self._load(task)
            if message["episode"] >= len(episodes):
                raise Refused(f"choose an episode from 0 to {len(episodes) - 1}")
            game = new_game(episodes, homes, message["episode"], [who or PERSON for who in team])
            self.library.add_home(game.batch.homes[0])
            return game, {"fork": None}
        recording = self.library.recording(message["recording"])
        home = self.library.home(recording)
        team = self._team(message["robots"], recording.header["task"])
        if len(team) == recording.robots:
            team = [who or self._recorded_partner(recording, robot) for robot, who in enumerate(team)]
        game = swap(recording, message["frame"], team, home)
        return game, {"fork": {"recording": message["recording"], "frame": message["frame"]}}

    def rate(self, hz: float) -> float:
        """A speed that is allowed."""
        if not SLOWEST <= hz <= self.options.fastest:
            raise Refused(f"choose {SLOWEST:g} to {self.options.fastest:g} steps per second")
        return float(hz)

    def open(self, game: Game, more: dict[str, Any], message: dict[str, Any], address: str = "") -> Session:
        """Start the clock of a game; one that goes on from a recording waits until it is let go. address: who asked."""
        study = message.get("study")
        if study is not None:
            self.sessions.end_of(study["participant"])
        paused = message["type"] == "swap" or study is not None
        session = Session(game, self.rate(message["hz"]), paused, self._finished, **more)
        session.address, session.consent = address, message["consent"] and game.human >= 0
        session.reveal = session.reveal or message["reveal"]
        session.study = study
        session.note("speed", session.hz)
        self.sessions.open(session)
        return session

    def join(self, client: Client, name: str, key: str | None) -> dict[str, Any]:
        """Enter a game: as its owner with its key, else to watch."""
        session = self.sessions.find(name)
        if key is None and self.participants is not None:
            raise Refused("games of a study are not watched - join yours with its key")
        if key is not None and not tokens_match(key, session.key):
            raise Refused("this is not the key of that game - join without one to watch")
        return client.enter(session, key is not None)

    def command(self, client: Client, message: dict[str, Any]) -> None:
        """A command to the game that a client plays in."""
        session, kind = client.session, message["type"]
        if session is None:
            raise Refused("you are in no game - begin one, or join one")
        if not client.owner:
            raise Refused("you are watching this game - only its player may do that")
        game = session.game
        if kind != "consent":
            session.note(kind, _value(message))
        if kind == "consent":
            self._consent(session, message["consent"])
        elif kind == "pause":
            session.pause(message["paused"])
        elif kind == "step":
            session.step()
        elif kind == "speed":
            session.speed(self.rate(message["hz"]))
        elif kind == "view":
            pass  # only logged: the page moves its camera itself
        elif game.human < 0:
            raise Refused("no robot of this game is yours - begin one with a person")
        elif kind == "action":
            session.command(lambda: game.act(message["action"]))
        elif kind == "click":
            session.command(lambda: game.click(message["entity"]))
        elif kind == "key":
            session.command(lambda: game.key(message["key"], message["down"]))
        else:
            session.command(game.stop)

    def _team(self, names: Sequence[str | None], task: str) -> list[Agent | None]:
        """The partners of a list of names; None where there is no name."""
        team = [None if name is None else self._partner(name, robot, task) for robot, name in enumerate(names)]
        if sum(who is not None and who.kind == "person" for who in team) > 1:
            raise Refused("one person plays in a home - give the other robots partners")
        return team

    def _partner(self, name: str, robot: int, task: str) -> Agent:
        if name == "person":
            return PERSON
        if name == SURPRISE:
            return secrets.choice(self._trained(task))
        run = self.runs.get(name.removeprefix("run/")) if name.startswith("run/") else None
        found = run.player(robot) if run is not None else self._known(name)
        if found is None:
            raise Refused("no such partner here - choose one of the list")
        trained = found.meta.get("task")
        if trained and trained != task:
            raise Refused(f"{found.name} was trained for {trained}, not for {task} - choose another partner")
        return found

    def _known(self, name: str) -> Agent | None:
        """A partner by its name, which may end with +lookahead, or say in words that it looks ahead; None if there is none."""
        if name in self.partners:
            return self.partners[name]
        for split in (split_name, titled):
            try:
                base, ahead = split(name)
                if ahead is not None and ahead.variant != "mind" and base in self.partners:
                    return looking(self.partners[base], ahead)
            except ValueError as error:
                raise Refused(str(error)[:200]) from error
        return None

    def _trained(self, task: str) -> list[Agent]:
        """The trained partners of a task, all others where there is none."""
        found = [p for p in self.partners.values() if p.trained and p.meta.get("task") == task]
        return found or [p for p in self.partners.values() if p.kind == "script"]

    def _recorded_partner(self, recording: Recording, robot: int) -> Agent | None:
        """The partner that a robot of a recording was; None if it follows its script."""
        if not recording.start["controllable"][0, robot]:
            return None
        name = recording.header["robots"][robot]
        found = self._known(name)
        if found is None:
            raise Refused(f"robot {robot} was {name[:60]}, which is not available here - choose a partner for it as well")
        return found

    def offer(self, homes: list[Home], episodes: Mapping[str, Episodes]) -> None:
        """Play in these homes, and these episodes by task, instead of those of the split."""
        self._homes, self._episodes = homes, dict(episodes)
        for home in homes:
            self.library.add_home(home)

    def _load(self, task: str) -> tuple[Episodes, list[Home]]:
        """Episodes and homes that are played, read once."""
        from housemates.homes.splits import load_split

        with self._lock:
            if self._homes is None:
                self._homes = load_split(self.options.split)
            if task not in self._episodes:
                self._episodes[task] = load_episodes(task, self.options.split, homes=self._homes)
            return self._episodes[task], self._homes

    def _finished(self, session: Session, recording: Recording) -> str:
        """Add the recording of a game to the library, and save it in the games folder if its player agrees."""
        game, fork = session.game, session.more.get("fork")
        if session.study is not None and self.participants is not None:
            session.recording = recording
            self.participants.played(session.study, self._save(session), game.result())
            return ""
        name = self.library.add(recording, "fork" if fork else "game", human=game.human, fork=fork)
        session.recording = recording
        if session.consent:
            self._save(session)
        return name

    def _consent(self, session: Session, consent: bool) -> None:
        if session.game.human < 0:
            raise Refused("no person plays in this game - there is nothing to agree to")
        session.consent = consent
        if consent and session.recording is not None:
            self._save(session)

    def _save(self, session: Session) -> str:
        """Write a game into the games folder, once; returns the name of its file, nothing if it was there."""
        with self._lock:
            if session.saved or session.recording is None:
                return ""
            game, more = session.game, session.circumstances()
            path = save_game(self.options.games, session.recording, game.team, game.result(), session.inputs, more)
            session.saved = True
            return path.name


def _value(message: dict[str, Any]) -> Any:
    """What a command says, as it is logged: its one value, or the name of a key and whether it goes down."""
    found = [value for name, value in message.items() if name not in ("type", "id")]
    return found[0] if len(found) == 1 else found or None
