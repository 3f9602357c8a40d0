"""The layout of a run folder: the one place that names its files.

RUN/             config.json, holdout.json (a held-out run), diversity.json (the audit), .lock (while it is trained)
RUN/stage1/      metrics.jsonl, resume/, tensorboard/, population.json, members/00/ (a policy, with start/ and middle/)
RUN/stage2/      metrics.jsonl, resume/, tensorboard/, partners.json, agent/ (a policy, with checkpoints in steps-N/),
                 start/ (the policy that its agent began as, if it was not a fresh one)
RUN/evaluation/  episodes.parquet, episodes-dev.parquet, episodes-greedy.parquet, recordings/
RUN/report/      index.html, tables, figures

A policy is a folder with policy.json and policy.safetensors. What the files hold is known to those who write them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from housemates.io import file_word, read_json, reading

CONFIG = "config.json"
"""What a folder must hold to be a run."""
DESCRIPTION, WEIGHTS = "policy.json", "policy.safetensors"
"""What a folder must hold to be a policy."""
MARK = "holdout.json"
"""A file that makes everything below its folder a holdout."""
STAGES = {1: "stage1", 2: "stage2"}
"""Folders of the stages: the population, and the ego agent that is trained with it."""
AGENT = "agent"
"""The folder of the ego agent in stage 2, and its name: RUN/agent."""
MOMENTS = ("start", "middle")
"""Earlier versions of a member, in folders inside its own."""
ROWS = "episodes.parquet"
"""Rows of an evaluation, where the folder says whose."""
RECORDINGS = "recordings"
"""Recorded games beside the rows."""
RESTORE = "restore it from a copy"
_MEMBERS, _RESUME, _TENSORBOARD, _POPULATION = "members", "resume", "tensorboard", "population.json"
ONLY_FOR_TRAINING = (_RESUME, _TENSORBOARD, _POPULATION)
"""Entries of a stage that belong to its own training, not to its policies."""


@dataclass(frozen=True)
class StageFolder:
    """One stage of a run."""

    path: Path

    @property
    def metrics(self) -> Path:
        """The log: one JSON object per update and line."""
        return self.path / "metrics.jsonl"

    @property
    def resume(self) -> Path:
        """The folder of the resume points."""
        return self.path / _RESUME

    @property
    def tensorboard(self) -> Path:
        """The folder of the log's mirror for TensorBoard."""
        return self.path / _TENSORBOARD

    @property
    def diverged(self) -> Path:
        """A note that is there from a divergence until there is a new resume point."""
        return self.path / "diverged.json"

    def diverged_at(self, update: int) -> Path:
        """The same note after training went on."""
        return self.path / f"diverged-{update:08d}.json"


@dataclass(frozen=True)
class RunFolder:
    """The files of one run."""

    path: Path

    @property
    def config(self) -> Path:
        """Everything that decides the run's bits."""
        return self.path / CONFIG

    @property
    def lock(self) -> Path:
        """Locked by the process that trains the run."""
        return self.path / ".lock"

    @property
    def mark(self) -> Path:
        """Makes the run a holdout, and says how competent its members are."""
        return self.path / MARK

    def stage(self, number: int) -> StageFolder:
        """Stage 1 (the population) or 2 (the ego agent)."""
        return StageFolder(self.path / STAGES[number])

    @property
    def population(self) -> Path:
        """The list of the population; it is written when stage 1 is complete."""
        return self.stage(1).path / _POPULATION

    @property
    def partners(self) -> Path:
        """The list of those the ego agent is trained with; it is written before stage 2 begins."""
        return self.stage(2).path / "partners.json"

    @property
    def agent(self) -> Path:
        """The policy of the ego agent."""
        return self.stage(2).path / AGENT

    @property
    def start(self) -> Path:
        """The policy that the ego agent began as, where it was not a fresh one."""
        return self.stage(2).path / MOMENTS[0]

    def checkpoint(self, steps: int) -> Path:
        """The policy of the ego agent as it was after so many simulation steps, where training was asked to keep it."""
        return self.agent / checkpoint_place(steps)

    def member(self, number: int) -> Path:
        """The policy of one member of the population."""
        return self.stage(1).path / member_place(number)

    def members(self) -> list[Path]:
        """The policies of stage 1 that have been written so far, in order."""
        found = sorted((self.stage(1).path / _MEMBERS).glob("[0-9][0-9]*"))
        return [place for place in found if is_policy(place)]

    @property
    def evaluation(self) -> Path:
        """The folder of the rows."""
        return self.path / "evaluation"

    def rows(self, split: str = "eval", greedy: bool = False) -> Path:
        """The rows of an evaluation: episodes.parquet, with the split and `greedy` in the name where they are not the usual."""
        words = [*([file_word(split)] if split != "eval" else []), *(["greedy"] if greedy else [])]
        stem, suffix = Path(ROWS).stem, Path(ROWS).suffix
        return self.evaluation / f"{'-'.join([stem, *words])}{suffix}"

    def all_rows(self) -> list[Path]:
        """The rows of all evaluations of the run that there are."""
        return sorted(self.evaluation.glob(f"{Path(ROWS).stem}*{Path(ROWS).suffix}"))

    @property
    def recordings(self) -> Path:
        """A few of the evaluation's games, to look at."""
        return self.evaluation / RECORDINGS

    def diversity(self, kind: str = "json") -> Path:
        """The diversity audit as json, png or svg."""
        return self.path / f"diversity.{kind}"

    @property
    def report(self) -> Path:
        """The folder of the run's report."""
        return self.path / "report"

    def exists(self) -> bool:
        """Whether there is a run."""
        return self.config.is_file()

    def has_population(self) -> bool:
        """Whether stage 1 is complete."""
        return self.population.is_file()

    def has_agent(self) -> bool:
        """Whether stage 2 has written its agent; it may still be trained."""
        return is_policy(self.agent)

    def complete(self, stage: int | None = None) -> bool:
        """Whether the run, or one stage of it, has been trained to its end.

        Stage 1 is when it has listed its population, stage 2 when its agent has spent the budget.
        """
        config = self.read_config()
        with reading(self.config, RESTORE):
            stages = config["stages"] if stage is None else [stage]
            budget = {unit: int(config["training"][unit]) for unit in ("decisions", "steps")}
        return all(self.has_population() if number == 1 else self._agent_complete(budget) for number in stages)

    def _agent_complete(self, budget: dict[str, int]) -> bool:
        if not self.has_agent():
            return False
        spent = read_json(self.agent / DESCRIPTION, RESTORE).get("meta", {})
        return all(spent.get(unit, 0) >= many for unit, many in budget.items())

    def read_config(self, remedy: str = RESTORE) -> dict[str, Any]:
        """What config.json says, as JSON values; `runs.run.read` gives the checked `Run`."""
        if not self.exists():
            raise FileNotFoundError(f"no {CONFIG} in {self.path} - give the folder of a run")
        return read_json(self.config, remedy)


def member_place(number: int) -> str:
    """The folder of a member's policy inside its stage's."""
    return f"{_MEMBERS}/{number:02d}"


def checkpoint_place(steps: int) -> str:
    """The folder of a checkpoint inside that of its policy."""
    return f"steps-{steps}"


def latest_place(place: str) -> str:
    """The folder of a member's last version, for that of any of its versions."""
    folder, _, last = place.rpartition("/")
    return folder if last in MOMENTS else place


def is_run(folder: Path | str) -> bool:
    """Whether a folder is a run."""
    return RunFolder(Path(folder)).exists()


def is_policy(folder: Path | str) -> bool:
    """Whether a folder holds a policy."""
    return (Path(folder) / DESCRIPTION).is_file()


def run_around(folder: Path | str) -> Path | None:
    """The run that a folder is part of, or is itself."""
    place = Path(folder).resolve()
    return next((one for one in (place, *place.parents) if is_run(one)), None)


def runs_below(folder: Path | str) -> list[Path]:
    """All runs in a folder at any depth, or the folder itself if it is one, in order."""
    folder = Path(folder)
    return [folder] if is_run(folder) else sorted(path.parent for path in folder.glob(f"**/{CONFIG}"))


def runs_in(folder: Path | str) -> list[Path]:
    """The folder if it is a run, and the runs right inside it, in order."""
    folder = Path(folder)
    inside = sorted(folder.iterdir()) if folder.is_dir() else []
    return [place for place in (folder, *inside) if is_run(place)]


def policies_below(folder: Path | str) -> list[Path]:
    """All policies in a folder at any depth, in order."""
    return [path.parent for path in sorted(Path(folder).rglob(DESCRIPTION))]


def is_held_out(folder: Path | str) -> bool:
    """Whether a folder lies inside one that is marked as holdout, or is marked itself."""
    place = Path(folder)
    return any((one / MARK).is_file() for one in (place, *place.parents))
