"""User studies on the page: participants agree, play blocks of games with hidden partners, and answer questions.

A study is a TOML file. Everything of a participant is one JSON file in the games folder, written after every part, so that a
page that was closed goes on where it was.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import re
import secrets
import threading
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from housemates.agents.agent import Agent, resolve
from housemates.config import from_json, to_json
from housemates.io import read_json, write_json
from housemates.lookahead.settings import split_name
from housemates.tasks.episodes import episode_count
from housemates.tasks.tasks import TASKS
from housemates.web.game import everybody
from housemates.web.messages import MOST_QUESTIONS, SCALE, Refused

PARTICIPANTS, TOKEN = "participants", "study-token.json"
"""Folder of the participants' files in the games folder, and the file with the token of its address."""
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What may identify a participant: a number of a recruiting service, or one that is made here."""
LONGEST = 4000
"""Letters of a text."""
ANSWERS = ("participant", "number", "part", "block", "partner", "question", "answer", "answered")
"""Columns of the answers."""


@dataclass(frozen=True)
class Block:
    """Games with one partner, and questions after them."""

    partner: str
    """As `housemates partners` lists it; participants never read it."""
    episodes: tuple[int, ...]
    """Of the split, played in this order."""
    name: str = ""
    """In the data; participants never read it. Default: the partner."""
    task: str = "tidy_house"
    robot: int = 0
    """Which robot the participant moves."""
    practice: bool = False
    """Played first, whatever the order."""
    questions: tuple[str, ...] = ()
    """Statements to agree or disagree with."""

    def __post_init__(self) -> None:
        if not self.episodes:
            raise ValueError("a block without episodes - give at least one, such as episodes = [3]")
        if self.robot not in (0, 1):
            raise ValueError(f"robot = {self.robot} - choose 0 or 1")
        _check_questions(self.questions)


@dataclass(frozen=True)
class UserStudy:
    """What participants are told, asked and given to play."""

    title: str
    consent: str
    """What participants agree to before anything is kept."""
    blocks: tuple[Block, ...]
    text: tuple[str, ...] = ()
    """Paragraphs before the first game."""
    questions: tuple[str, ...] = ()
    """After all blocks."""
    order: Literal["fixed", "rotated"] = "rotated"
    """Of the blocks: as in the file, or each participant begins with the next one (a cyclic Latin square)."""
    code: str = ""
    """Shown at the end, for a recruiting service."""
    hz: float = 10.0
    """Steps per second."""

    def __post_init__(self) -> None:
        if not [block for block in self.blocks if not block.practice]:
            raise ValueError("a study needs at least one block that is no practice - add one as [[blocks]]")
        for name in ("title", "consent"):
            if not getattr(self, name).strip():
                raise ValueError(f"{name} is empty - participants read it")
        if max(map(len, (self.title, self.consent, self.code, *self.text))) > LONGEST:
            raise ValueError(f"a text has more than {LONGEST} letters - shorten it")
        _check_questions(self.questions)

    def parts(self, number: int) -> list[dict[str, Any]]:
        """What participant `number` (from 0) does, part by part: games, questions, the end."""
        practice = [k for k, block in enumerate(self.blocks) if block.practice]
        others = [k for k, block in enumerate(self.blocks) if not block.practice]
        if self.order == "rotated":
            turn = number % len(others)
            others = others[turn:] + others[:turn]
        found: list[dict[str, Any]] = []
        for k in (*practice, *others):
            found += [{"kind": "game", "block": k, "episode": episode} for episode in self.blocks[k].episodes]
            if self.blocks[k].questions:
                found.append({"kind": "questions", "block": k})
        if self.questions:
            found.append({"kind": "questions", "block": -1})
        return [*found, {"kind": "end"}]

    def asked(self, block: int) -> tuple[str, ...]:
        """The questions after a block, or after all of them (-1)."""
        return self.questions if block < 0 else self.blocks[block].questions


def _check_questions(questions: tuple[str, ...]) -> None:
    if len(questions) > MOST_QUESTIONS or any(not 0 < len(text) <= LONGEST for text in questions):
        raise ValueError(f"at most {MOST_QUESTIONS} questions in a row, none of them empty - split or shorten them")


def read_user_study(path: Path) -> UserStudy:
    """A study from its TOML file."""
    try:
        given = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise FileNotFoundError(f"no study at {path} - docs/howto/user_study.md has one to begin with") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no TOML: {error} - docs/howto/user_study.md has a file to begin with") from error
    blocks = given.get("blocks")
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise ValueError(f"{path} has no blocks - add at least one as [[blocks]]")
    whole = {**given, "blocks": [_complete(Block, block, f"block {k} of {path}") for k, block in enumerate(blocks)]}
    return from_json(UserStudy, _complete(UserStudy, whole, str(path)), str(path))


def prepare_user_study(
    study: UserStudy, split: str, offered: Sequence[Agent] = (), fastest: float = 30.0
) -> tuple[UserStudy, list[Agent]]:
    """The study with the full names of its partners, and those of them that are not offered anyway; refused if it cannot be
    played, at most `fastest` steps per second."""
    if not 1 <= study.hz <= fastest:
        raise ValueError(f"hz = {study.hz:g} of the study - choose 1 to {fastest:g} steps per second, or raise --fastest")
    known, count = everybody(offered), min(episode_count(split), 100)
    blocks, more = [], []
    for number, block in enumerate(study.blocks):
        where = f"block {number} of the study"
        TASKS.find(block.task)
        if not all(0 <= episode < count for episode in block.episodes):
            raise ValueError(f"{where}: episodes = {list(block.episodes)} - choose from 0 to {count - 1} of {split}")
        base, ahead = split_name(block.partner)
        found = [known[base]] if base in known else resolve(base)
        if len(found) != 1:
            raise ValueError(
                f"{where}: partner = {block.partner} are {len(found)} - name one, as `housemates partners` lists it"
            )
        partner = found[0]
        if partner.meta.get("task", block.task) != block.task:
            raise ValueError(f"{where}: {block.partner} was trained for {partner.meta['task']}, not for {block.task}")
        if ahead is not None and (ahead.variant == "mind" or not partner.trained):
            raise ValueError(f"{where}: {block.partner} - only trained partners look ahead here, and not by their mind")
        if partner.name not in known:
            more.append(partner)
            known[partner.name] = partner
        full = partner.name + block.partner.removeprefix(base)
        blocks.append(dataclasses.replace(block, partner=full, name=block.name or block.partner))
    return dataclasses.replace(study, blocks=tuple(blocks)), more


def _complete(kind: type[Block] | type[UserStudy], values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """What is left out, as the dataclass has it."""
    found = dict(values)
    for one in dataclasses.fields(kind):
        if one.name not in found and one.default is dataclasses.MISSING:
            raise ValueError(f"{where} has no {one.name} - add it; docs/howto/user_study.md has a file to begin with")
        found.setdefault(one.name, one.default)
    return found


class Participants:
    """Everybody who takes part, and how far they are. Called from several threads."""

    def __init__(self, study: UserStudy, games: Path) -> None:
        self.study, self.folder = study, Path(games) / PARTICIPANTS
        self._lock = threading.Lock()

    def enter(self, name: str | None) -> dict[str, Any]:
        """Begin, or go on: the present part of a participant, who is known by a name or gets one. They have agreed."""
        with self._lock:
            if name is None:
                name = secrets.token_hex(6)
            if not NAME.fullmatch(name):
                raise Refused("a participant's name has 1 to 64 letters, digits, - or _")
            if not self._path(name).is_file():
                number = 1 + max((_read(path)["number"] for path in participant_files(self.folder.parent)), default=-1)
                self.folder.mkdir(parents=True, exist_ok=True)
                parts = self.study.parts(number)
                kept = {"participant": name, "number": number, "study": to_json(self.study), "agreed": _now()}
                self._write(name, {**kept, "parts": parts, "at": 0, "begun": [], "games": [], "answers": []})
            return self._told(self._read(name))

    def game(self, name: str) -> tuple[Block, int, dict[str, Any]]:
        """(block, episode, what a recording of it says) of the game that a participant plays now."""
        with self._lock:
            found = self._read(name)
            part = found["parts"][found["at"]]
            if part["kind"] != "game":
                raise Refused("there is no game to play now - go on with the study")
            found["begun"].append({"part": found["at"], "began": _now()})
            self._write(name, found)
            block = self.study.blocks[part["block"]]
            told = {"participant": name, "number": found["number"], "part": found["at"], "block": block.name}
            return block, part["episode"], told | {"practice": block.practice}

    def played(self, told: Mapping[str, Any], game: str, result: Mapping[str, Any]) -> None:
        """A game of a participant has been played to its end and kept under a name."""
        with self._lock:
            found = self._read(told["participant"])
            if found["at"] == told["part"]:
                kept = {"part": told["part"], "block": told["block"], "game": game, "outcome": result["outcome"]}
                found["games"].append({**kept, "steps": result["steps"], "ended": _now()})
                found["at"] += 1
                self._write(told["participant"], found)

    def answer(self, name: str, part: int, answers: list[int]) -> dict[str, Any]:
        """Keep the answers of a participant to the questions of a part; the part after it."""
        with self._lock:
            found = self._read(name)
            now = found["parts"][found["at"]]
            if part != found["at"] or now["kind"] != "questions":
                raise Refused("these questions are not asked now - reload the page")
            asked = self.study.asked(now["block"])
            if len(answers) != len(asked):
                raise Refused(f"there are {len(asked)} questions - answer all of them")
            block = self.study.blocks[now["block"]] if now["block"] >= 0 else None
            kept = {"part": part, "block": block.name if block else "", "partner": block.partner if block else ""}
            found["answers"] += [
                {**kept, "question": text, "answer": value, "answered": _now()}
                for text, value in zip(asked, answers, strict=True)
            ]
            found["at"] += 1
            self._write(name, found)
            return self._told(found)

    def _told(self, found: dict[str, Any]) -> dict[str, Any]:
        """What the page is told of a part: never who the partner is."""
        at, parts = found["at"], found["parts"]
        part = parts[at]
        games = [k for k, one in enumerate(parts) if one["kind"] == "game"]
        told = {"type": "study", "participant": found["participant"], "kind": part["kind"], "part": at, "parts": len(parts) - 1}
        if part["kind"] == "game":
            return told | {
                "game": games.index(at) + 1,
                "games": len(games),
                "practice": self.study.blocks[part["block"]].practice,
            }
        if part["kind"] == "questions":
            return told | {"questions": list(self.study.asked(part["block"])), "scale": SCALE}
        return told | {"code": self.study.code}

    def _path(self, name: str) -> Path:
        if not NAME.fullmatch(name):
            raise Refused("a participant's name has 1 to 64 letters, digits, - or _")
        return self.folder / f"{name}.json"

    def _read(self, name: str) -> dict[str, Any]:
        path = self._path(name)
        if not path.is_file():
            raise Refused("no such participant - begin the study first")
        found = _read(path)
        if found["study"] != to_json(self.study):
            raise Refused("the study was changed since this participant began - ask those who run it")
        return found

    def _write(self, name: str, values: Mapping[str, Any]) -> None:
        write_json(self._path(name), values)

    def token(self) -> str:
        """The token of the page's address, which stays the same when the server is started again."""
        path = self.folder.parent / TOKEN
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            write_json(path, {"token": secrets.token_urlsafe(18)})
            path.chmod(0o600)
        return read_json(path, "delete it, and send participants the new address")["token"]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def participant_files(games: Path) -> list[Path]:
    """The files of all participants of a games folder, without what a write that was cut off has left."""
    return sorted(path for path in (Path(games) / PARTICIPANTS).glob("*.json") if NAME.fullmatch(path.stem))


def is_counted(game: Path, participant: str) -> bool:
    """Whether the file of a participant names a game as the one of its part."""
    path = game.parent / PARTICIPANTS / f"{participant}.json"
    return path.is_file() and any(one["game"] == game.name for one in _read(path)["games"])


def _read(path: Path) -> dict[str, Any]:
    return read_json(path, "it is a participant's file: restore it as it was written")


def answers_csv(games: Path) -> str:
    """All answers of a games folder, one line each; nothing if there was no study."""
    files = participant_files(games)
    if not files:
        return ""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(ANSWERS)
    for path in files:
        found = _read(path)
        for one in found["answers"]:
            lines.writerow([found["participant"], found["number"], *(one[name] for name in ANSWERS[2:])])
    return text.getvalue()
