"""A run while it trains: the rows of its log for curves, and its newest checkpoints to play with."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

from housemates.agents.agent import Agent, agent, population, read_partners
from housemates.io import reading
from housemates.run_folder import RESTORE, STAGES, RunFolder
from housemates.web.messages import Refused

MOST_ROWS = 2000
"""Rows in one answer; the page asks again for the next."""


class TrainingRun:
    """One run folder that is watched."""

    def __init__(self, folder: Path) -> None:
        folder = Path(folder).resolve()
        self.folder, self.files = folder, RunFolder(folder)
        if not self.files.exists():
            missing = self.files.config.name
            raise FileNotFoundError(f"no run at {folder} ({missing} is missing) - give a folder that `housemates train` made")
        self.id = hashlib.sha256(str(folder).encode()).hexdigest()[:12]
        config = self.files.read_config()
        with reading(self.files.config, RESTORE):
            self.method, self.task = str(config["method"]), str(config["task"])

    @property
    def title(self) -> str:
        """What the page calls it."""
        return self.folder.name

    def rows(self, start: int) -> dict[str, Any]:
        """Rows of all stages from number `start` on; every row says its stage."""
        found: list[dict[str, Any]] = []
        for stage in STAGES:
            path = self.files.stage(stage).metrics
            if path.is_file():
                found += [{"stage": stage, **row} for row in _rows(path)]
        some = found[start : start + MOST_ROWS]
        try:
            finished = self.files.complete()
        except (OSError, ValueError) as error:
            raise Refused(str(error), 409) from error
        return {
            "title": self.title,
            "task": self.task,
            "rows": some,
            "next": start + len(some),
            "finished": finished,
            "checkpoint": f"run/{self.id}" if self._has_checkpoint() else None,
        }

    def player(self, robot: int) -> Agent:
        """Who plays a robot with the newest checkpoint: the coordination agent first, then the population in turn."""
        try:
            first = [agent(self.folder)] if self.files.has_agent() else []
            # A run of stage 2 alone has partners of others.
            own = self.files.stage(1).path.is_dir() or not first
            members = population(self.folder) if own else read_partners(self.files.partners, self.folder) or first
        except (OSError, ValueError) as error:
            raise Refused("this run has no checkpoint yet - wait until it has written one") from error
        if first and robot == 0:
            return first[0]
        # Members of self-play have only ever met themselves.
        number = 0 if self.method in ("sp", "fcp") and not first else robot - len(first)
        return members[number % len(members)]

    def _has_checkpoint(self) -> bool:
        return bool(self.files.members()) or self.files.has_agent()


def _rows(path: Path) -> list[dict[str, float]]:
    """The numbers of every whole line of a log; a line that is being written is left for the next time."""
    rows = []
    for line in path.read_text(errors="replace").split("\n")[:-1]:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            rows.append({k: v for k, v in row.items() if type(v) in (int, float) and math.isfinite(v)})
    return rows
