"""Games that people have played and agreed to keep: one recording each, without anything about the person.

They can be watched like any recording, and exported as rows of the evaluation `human`.
"""

from __future__ import annotations

import csv
import io
import json
import secrets
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from housemates.agents.agent import Agent
from housemates.io import write_whole
from housemates.recordings.recording import Recording, load_recording, save_recording
from housemates.web.user_study import answers_csv, is_counted, participant_files

if TYPE_CHECKING:
    import pyarrow as pa

CONSENT = (
    "Keep a recording of this game (its date, inputs with their times, moves and results, under a random number, nothing "
    "about you) for research. "
    "Without your consent nothing is kept."
)
"""What a person agrees to."""
INPUTS = ("game", "began", "seconds", "step", "kind", "value")
"""Columns of the inputs: the game's number and its beginning (UTC), seconds since then, step of the episode, what was done."""

GAMES = ("game", "participant", "number", "part", "block", "practice", "counted", "partner", "outcome", "steps", "seconds")
GAMES += ("began",)
"""Columns of the games of a study."""


def save_game(
    folder: Path,
    recording: Recording,
    team: Sequence[Agent],
    result: dict[str, Any],
    inputs: Sequence[Sequence[Any]] = (),
    circumstances: dict[str, Any] | None = None,
) -> Path:
    """Write a game into a folder under a random name; the header tells who played and how it ended.

    inputs: [seconds since the beginning, step, kind, value] of everything that the player did, pauses and changes of speed and
    camera included. circumstances: when it began (UTC), its seconds by the clock, whether the partner was hidden.
    """
    from housemates.evaluation.crossplay import method_of

    name = secrets.token_hex(6)
    game = {
        "id": name,
        "consent": True,
        "human": next(r for r, who in enumerate(team) if who.kind == "person"),
        "team": [{"name": who.name, "kind": who.kind, "method": method_of(who), "meta": _plain(who.meta)} for who in team],
        "result": result,
        "inputs": [list(one) for one in inputs],
        **(circumstances or {}),
    }
    path = Path(folder) / f"game-{name}.npz"
    save_recording(path, replace(recording, header={**recording.header, "game": game}))
    return path


def find_games(folder: Path) -> list[tuple[Path, Recording]]:
    """All games of a folder with their recordings."""
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"no games at {folder} - play one and agree to keep it: housemates play --games {folder}")
    found = [(path, load_recording(path)) for path in sorted(folder.glob("game-*.npz"))]
    return [(path, recording) for path, recording in found if "game" in recording.header]


def game_rows(recordings: Sequence[Recording]) -> pa.Table:
    """One row of the evaluation `human` for each game: the robot that is no person is the agent."""
    from housemates.evaluation.rows import COLUMNS, LATER, make_rows

    rows = [LATER | _row(recording) for recording in recordings]
    return make_rows({name: [row[name] for row in rows] for name in COLUMNS})


def inputs_csv(recordings: Sequence[Recording]) -> str:
    """Everything that the players did, one line each, for statistics programs; `value` is JSON."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(INPUTS)
    for recording in recordings:
        game = recording.header["game"]
        for seconds, step, kind, value in game.get("inputs", ()):
            lines.writerow([game["id"], game.get("began", ""), seconds, step, kind, json.dumps(value)])
    return text.getvalue()


def counts(path: Path, recording: Recording) -> bool:
    """Whether a game is one of the results: of a study only what its participant's file names, and no practice."""
    study = recording.header["game"].get("study")
    return study is None or (not study["practice"] and is_counted(path, study["participant"]))


def games_csv(found: Sequence[tuple[Path, Recording]]) -> str:
    """The games of a study, one line each; `counted`: whether rows.parquet has it."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(GAMES)
    for path, recording in found:
        game = recording.header["game"]
        study = game.get("study")
        if study is not None:
            told = [study[name] for name in ("participant", "number", "part", "block", "practice")]
            partner = game["team"][1 - int(game["human"])]["name"]
            ended = [partner, game["result"]["outcome"], game["result"]["steps"], game["seconds"], game["began"]]
            lines.writerow([game["id"], *told, counts(path, recording), *ended])
    return text.getvalue()


def export(folder: Path, out: Path) -> int:
    """Write all games, their rows and the inputs of their players into one zip file; returns how many games there are."""
    from housemates.evaluation.rows import write_rows

    found = find_games(folder)
    if not found:
        raise ValueError(f"no games in {folder} - play one and agree to keep it: housemates play --games {folder}")
    counted = [recording for path, recording in found if counts(path, recording)]
    if out.suffix == ".parquet":
        write_rows(out, game_rows(counted))
        return len(counted)
    if out.suffix != ".zip":
        raise ValueError(f"{out} is neither a .zip nor a .parquet - name one of these")

    def fill(file: Any) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as packed:
            for path, _ in found:
                packed.write(path, f"games/{path.name}")
            packed.writestr("inputs.csv", inputs_csv([recording for _, recording in found]))
            if people := participant_files(folder):
                packed.writestr("answers.csv", answers_csv(folder))
                packed.writestr("games.csv", games_csv(found))
                for path in people:
                    packed.write(path, f"participants/{path.name}")
            rows = Path(file.name).with_suffix(".parquet")
            try:
                write_rows(rows, game_rows(counted))
                packed.write(rows, "rows.parquet")
            finally:
                rows.unlink(missing_ok=True)

    write_whole(out, fill)
    return len(found)


def _row(recording: Recording) -> dict[str, Any]:
    header, game = recording.header, recording.header["game"]
    human, result = int(game["human"]), game["result"]
    robot = next((r for r in range(recording.robots) if r != human), human)
    agent = game["team"][robot]
    meta = agent["meta"]
    who = {-1: 0, robot: 1}
    return {
        "evaluation": "human",
        "control": "",
        "task": header["task"],
        "split": header["split"],
        "agent": agent["name"],
        "method": str(agent.get("method") or meta.get("method", agent["kind"])),
        "agent_seed": int(meta.get("seed", 0)),
        "observations": str(meta.get("observations", "")),
        "decisions": int(meta.get("decisions", 0)),
        "preset": str(meta.get("preset", "")),
        "partner": "person",
        "partner_kind": "person",
        "partner_run": f"game-{game['id']}",
        "partner_observations": "page",
        "zero_shot": True,
        "episode": int(header["episode_id"]),
        "home": header["home"],
        "environment": str(meta.get("environment", "")),
        "robot": robot,
        "seed": int(header["seed"]),
        "greedy": False,
        "success": result["outcome"] == "success",
        "collision": result["outcome"] == "collision",
        "timeout": result["outcome"] == "timeout",
        "steps": int(result["steps"]),
        "total": float(result["return"]),
        "subgoals": [who.get(int(by), 2) for by in result["done_by"]],
        "idle_agent": int(result["idle"][robot]),
        "idle_partner": int(sum(n for r, n in enumerate(result["idle"]) if r != robot)),
        "distance_agent": float(result["distance"][robot]),
        "distance_partner": float(sum(d for r, d in enumerate(result["distance"]) if r != robot)),
        "solo_steps": int(result["solo_steps"]),
    }


def _plain(meta: dict[str, Any]) -> dict[str, Any]:
    """What fits into JSON."""
    return json.loads(json.dumps(meta, default=str))
