"""Which cells there are: methods x tasks x seeds as in the paper's tables, the holdouts they meet, and what needs what."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from housemates.agents.agent import HOLDOUT_SCRIPTS
from housemates.config import nearest
from housemates.evaluation.holdouts import METHOD, read_mark
from housemates.grid.cells import Cell
from housemates.methods import METHODS, change_method
from housemates.plugins import places
from housemates.run_folder import RunFolder, is_run
from housemates.runs.presets import PRESETS
from housemates.tasks.tasks import PAPER_TASKS, TASKS
from housemates.training.trainer import Training

RUNS, HOLDOUTS = "runs", "holdouts"
"""Folders of the grid."""
MAIN = ("gt_coord", "sp", "pbt", "fcp", "trajedi", "bdp", "pbt_state")
"""Columns of the paper's tables 1, 2 and 5."""
ABLATIONS = ("pbt", "bdp", "bdp_no_discriminator", "bdp_no_latent_no_discriminator", "bdp_shared_encoder", "bdp_separate")
"""Columns of tables 3 and 4, on Set Table."""
OBSERVATIONS = ("pbt_state", "bdp", "bdp_rgb", "bdp_state")
"""Other observations, on Prepare Groceries."""
_MAIN = tuple((method, task) for task in (one.name for one in PAPER_TASKS) for method in MAIN)
_RIVALS = ("sp", "pbt", "bdp", "hidden_utility", "cec", "e3t", "upd")
_LITERAL = tuple(("bdp_literal", task.name) for task in PAPER_TASKS)
_ABLATIONS = tuple((method, "set_table") for method in ABLATIONS)
_OBSERVATIONS = tuple((method, "prepare_groceries") for method in OBSERVATIONS)
GRIDS: dict[str, tuple[tuple[str, str], ...]] = {
    "paper": tuple(dict.fromkeys((*_MAIN, *_ABLATIONS, *_OBSERVATIONS, *_LITERAL))),
    "main": _MAIN,
    "ablations": _ABLATIONS,
    "observations": _OBSERVATIONS,
    "rivals": tuple((method, task) for task in ("tidy_house", "set_table") for method in _RIVALS),
    "smoke": tuple((method, "tidy_house") for method in ("gt_coord", "sp", "fcp", "bdp")),
}
"""(method, task) of every run of a grid, for each seed."""
_SHARED = (*(field.name for field in fields(Training)), "policy")
"""First words of what may be changed in every run."""
SAME_POPULATION = {"fcp": "sp", "pbt_state": "pbt", "bdp_state": "bdp", "bdp_rgb": "bdp"}
"""Methods whose first stage is another's: as trained if both see the same."""


def _meant(change: str) -> tuple[str, str]:
    """The first word of a change, or the whole name of a method (package.module:Class has dots too), and what follows it."""
    key = change.partition("=")[0]
    name = max((one for one in METHODS if key.startswith(f"{one}.")), key=len, default=key.partition(".")[0])
    return name, change[len(name) + 1 :]


def _check_change(change: str) -> None:
    """Refuse what no run would take, or what would reach more methods than were meant."""
    equals, text = change.partition("=")[1:]
    name, rest = _meant(change)
    setting = rest.partition("=")[0]
    if not equals:
        raise ValueError(f"--change {change} - write it as KEY=VALUE, such as ppo.epochs=4")
    if name == "method":
        raise ValueError(
            f"--change {change} - a grid has many methods: name the one that is meant, such as bdp.{setting}={text}"
        )
    if name in METHODS:
        try:
            change_method(name, METHODS[name].settings, setting, text)
        except ValueError as error:
            raise ValueError(f"--change {change}: {error}") from error
    elif name not in _SHARED:
        raise ValueError(f"--change {change}: no setting or method '{name}' - {nearest(name, [*METHODS, *_SHARED])}")


@dataclass(frozen=True)
class Settings:
    """How every run of a grid is made. They are kept in the grid's folder, and stay as they are."""

    preset: str = "laptop"
    """How long, with which network."""
    observations: str | None = None
    """What robots see, where the method does not say it; None for the preset's."""
    decisions: int | None = None
    """Of each stage; None for the preset's budget, or `steps`."""
    steps: int | None = None
    """The same in simulation steps of all homes."""
    train_split: str | None = None
    """The homes of training; None for the preset's."""
    change: tuple[str, ...] = ()
    """As for `housemates train`, but a method's own settings are written with its name: bdp.weight=0.02, not method.weight."""
    workers: int = 1
    """Processes that train one run together."""
    holdout_seeds: tuple[int, ...] = (100, 101, 102, 103)
    """One run of two holdouts each (spec section 14, 25); empty for those that come with the package."""
    holdout_preset: str | None = None
    """None for the same as the runs."""
    holdout_decisions: int | None = None
    """None for the same as the runs, or for the holdouts' own preset."""
    holdout_steps: int | None = None
    """The same in simulation steps of all homes."""
    split: str = "eval"
    """The split of the evaluation."""
    episodes: int = 100
    """Of the evaluation."""

    def __post_init__(self) -> None:
        for preset in (self.preset, self.holdout_preset or self.preset):
            PRESETS.find(preset)
        for decisions, steps in (("decisions", "steps"), ("holdout_decisions", "holdout_steps")):
            if getattr(self, decisions) is not None and getattr(self, steps) is not None:
                both = f"--{decisions} and --{steps}".replace("_", "-")
                raise ValueError(f"{both} both say how long to train - give one of them")
        for name in ("workers", "episodes"):
            if getattr(self, name) < 1:
                raise ValueError(f"--{name} {getattr(self, name)} - it must be at least 1")
        for change in self.change:
            _check_change(change)

    @property
    def stage1_times(self) -> int:
        """How many times the budget stage 1 has."""
        key = "stage1_times="
        given = [change.removeprefix(key) for change in self.change if change.startswith(key)]
        return int(given[-1]) if given and given[-1].isdecimal() else 1


SMOKE = Settings(
    preset="smoke",
    decisions=1500,
    change=("num_envs=8", "rollout_decisions=8", "sp.members=2"),
    holdout_seeds=(100,),
    split="dev",
    episodes=2,
)
"""Minutes instead of days: whether everything works here."""


def selection(grid: str, methods: Sequence[str] = (), tasks: Sequence[str] = ()) -> list[tuple[str, str]]:
    """(method, task) of a grid, of some methods and tasks only if they are given.

    Methods and tasks of one's own may be given too: a method plays every task that is wanted, a task is played by every method.
    """
    if grid not in GRIDS:
        raise ValueError(f"no grid '{grid}' - {nearest(grid, list(GRIDS))}")
    whole = list(GRIDS[grid])
    known = [list(dict.fromkeys(pair[k] for pair in whole)) for k in range(2)]
    for given, names, table in ((methods, known[0], METHODS), (tasks, known[1], TASKS)):
        for name in given:
            if name not in names and table.find(name).name in table.own:
                raise ValueError(f"the grid '{grid}' has no {table.what} '{name}' - it has: {', '.join(names)}")
    whole += [(m, t) for t in tasks or known[1] for m in methods or known[0] if m not in known[0] or t not in known[1]]
    found = [(m, t) for m, t in whole if (not methods or m in methods) and (not tasks or t in tasks)]
    if not found:
        raise ValueError(f"the grid '{grid}' has none of these methods for these tasks - see --plan without them")
    return found


@dataclass(frozen=True)
class Grid:
    """Cells in a folder."""

    root: Path
    settings: Settings
    cells: tuple[Cell, ...]

    def folder(self, cell: Cell) -> Path:
        """The run that a cell belongs to."""
        return self.root / (HOLDOUTS if cell.kind == "holdout" else RUNS) / cell.run

    def rows(self, cell: Cell) -> Path:
        """The file with the rows of a cell's evaluation."""
        return RunFolder(self.folder(cell)).rows(self.settings.split)

    def done(self, cell: Cell) -> bool:
        """Whether the result of a cell was written whole."""
        folder = self.folder(cell)
        if cell.kind == "evaluation":
            return self.rows(cell).is_file()
        if not is_run(folder):
            return False
        if cell.kind == "holdout":
            return RunFolder(folder).complete() and bool(read_mark(folder).get("members"))
        return RunFolder(folder).complete(1 if cell.kind == "population" else 2)

    def command(self, cell: Cell) -> list[str]:
        """The program that does a cell, or continues it: what a person would type."""
        program, folder, given = [sys.executable, "-m", "housemates"], self.folder(cell), self.settings
        named = [word for place in places() for word in ("--use", place)]
        begun = is_run(folder)
        if cell.shares:
            return [
                sys.executable,
                "-m",
                "housemates.grid.share",
                str(self.root / RUNS / cell.shares),
                str(folder),
                cell.method,
            ]
        if cell.kind == "holdout":
            command = ["holdouts", "train", "--task", cell.task, "--seeds", str(cell.seed), "--preset", self.holdout_preset]
            command += ["--out", str(self.root / HOLDOUTS), *self.training_options(cell)]
            return [*program, *command, *named]
        stage = "1" if cell.kind == "population" else "2"
        if cell.kind in ("population", "agent") and not begun:
            command = ["train", "--method", cell.method, "--task", cell.task, "--seed", str(cell.seed), "--stage", stage]
            command += ["--preset", given.preset, "--observations", cell.observations]
            return [*program, *command, *self.training_options(cell), "--out", str(folder), *named]
        if cell.kind in ("population", "agent"):
            return [*program, "train", "--resume", str(folder), "--stage", stage, *named]
        command = ["evaluate", str(folder), "--split", given.split, "--episodes", str(given.episodes)]
        command += ["--threads", str(cell.cores), "--out", str(self.rows(cell))]
        return [*program, *command, *self._partners(cell), *named]

    @property
    def holdout_preset(self) -> str:
        """How holdouts are trained."""
        return self.settings.holdout_preset or self.settings.preset

    def training_options(self, cell: Cell) -> list[str]:
        """Options of a new run: its budget, those that all share, and those of its method."""
        unit, many = cell.budget
        changes = []
        for change in self.settings.change:
            name, rest = _meant(change)
            if name not in METHODS:
                changes.append(change)
            elif name == cell.method:
                changes.append(f"method.{rest}")
        options = [f"--{unit}", str(many), "--workers", str(self.settings.workers)]
        if self.settings.train_split is not None and cell.kind != "holdout":
            options += ["--split", self.settings.train_split]
        return [*options, *(["--change", *changes] if changes else [])]

    def _partners(self, cell: Cell) -> list[str]:
        """The partners an agent meets: the scripts and the grid's own holdouts, else those of the package."""
        if not METHODS[cell.method].two_stages or not self.settings.holdout_seeds:
            return []
        runs = [self.root / HOLDOUTS / _holdout(cell.task, self.holdout_preset, seed) for seed in self.settings.holdout_seeds]
        return ["--partners", *(f"script/{name}" for name in HOLDOUT_SCRIPTS), *map(str, runs)]


def make_grid(root: Path, pairs: Sequence[tuple[str, str]], seeds: Sequence[int], settings: Settings) -> Grid:
    """The cells of some (method, task) and seeds: holdouts first, then run by run."""
    for seed in seeds:
        if seed in settings.holdout_seeds:
            raise ValueError(f"seed {seed} is one of the holdouts' - choose other --seeds or --holdout-seeds")
    tasks = list(dict.fromkeys(task for _, task in pairs))
    cells = {c.name: c for task in tasks for seed in settings.holdout_seeds for c in [_holdout_cell(task, seed, settings)]}
    for seed in seeds:
        for method, task in pairs:
            cells |= {cell.name: cell for cell in _run_cells(method, task, seed, settings)}
    _check_shared(cells.values(), settings)
    return Grid(root.resolve(), settings, tuple(cells.values()))


def _check_shared(cells: Iterable[Cell], settings: Settings) -> None:
    """Refuse a change of a method that takes over another run's population as it is."""
    taken = {cell.method: cell.shares for cell in cells if cell.shares}
    for change in settings.change:
        name = _meant(change)[0]
        if name in taken:
            other = SAME_POPULATION[name]
            raise ValueError(f"--change {change} - {name} takes over the population of {other} here: change {other} instead")


def _holdout(task: str, preset: str, seed: int) -> str:
    """The run that `housemates holdouts train` makes."""
    return f"{METHOD}-{task}-{preset}-{seed}"


def _holdout_cell(task: str, seed: int, settings: Settings) -> Cell:
    preset = settings.holdout_preset or settings.preset
    budget = _budget(preset, settings.holdout_decisions, settings.holdout_steps)
    if settings.holdout_decisions is None and settings.holdout_steps is None and preset == settings.preset:
        budget = _budget(preset, settings.decisions, settings.steps)
    seen = PRESETS[preset].observations
    cell = Cell("holdout", _holdout(task, preset, seed), METHOD, task, seed, seen, cores=settings.workers)
    return replace(cell, decisions=budget[0], steps=budget[1])


def _budget(preset: str, decisions: int | None, steps: int | None) -> tuple[int, int]:
    """Decisions and steps of a cell that is trained for so long, or as the preset says."""
    training = PRESETS[preset].training
    return (decisions or 0, steps or 0) if decisions or steps else (training.decisions, training.steps)


def _run_cells(method: str, task: str, seed: int, settings: Settings) -> list[Cell]:
    """Population, agent and evaluation of a run, and first the population it shares."""
    spec, preset = METHODS[method], PRESETS[settings.preset]
    observations = spec.observations or settings.observations or preset.observations
    whole = Cell("population", _run(method, task, seed, settings), method, task, seed, observations, cores=settings.workers)
    decisions, steps = _budget(settings.preset, settings.decisions, settings.steps)
    whole = replace(whole, decisions=decisions, steps=steps)
    other, cells = SAME_POPULATION.get(method), []
    if spec.agent is not None:
        # One stage has the budget of two.
        both = 1 + settings.stage1_times
        cells.append(replace(whole, kind="agent", decisions=both * decisions, steps=both * steps))
    elif other is not None and _seen(other, settings) == observations:
        cells = _run_cells(other, task, seed, settings)[:1]
        source = cells[0].shares or cells[0].run
        cells.append(replace(whole, after=(cells[0].name,), shares=source, decisions=0, steps=0, cores=1))
    else:
        cells.append(replace(whole, times=settings.stage1_times))
    if spec.two_stages and spec.agent is None:
        cells.append(replace(whole, kind="agent", after=(whole.name,)))
    met = tuple(_holdout_cell(task, s, settings).name for s in settings.holdout_seeds) if spec.two_stages else ()
    games = settings.episodes * _pairs(method, len(met))
    cells.append(replace(whole, kind="evaluation", after=(cells[-1].name, *met), decisions=0, steps=0, games=games))
    return cells


def _pairs(method: str, holdouts: int) -> int:
    """About how many pairs an evaluation has: the population, the held-out partners, and the controls (blind, solo, random)."""
    if not METHODS[method].two_stages:
        return 2
    held_out = len(HOLDOUT_SCRIPTS) + 2 * holdouts
    population = 1 if METHODS[method].agent is not None else 24 if method == "fcp" else 8
    return population + 3 * held_out + 1


def _seen(method: str, settings: Settings) -> str:
    return METHODS[method].observations or settings.observations or PRESETS[settings.preset].observations


def _run(method: str, task: str, seed: int, settings: Settings) -> str:
    # The name of a class of one's own has a colon, which folders of some systems cannot have.
    return f"{method.replace(':', '.')}-{task}-{settings.preset}-{seed}"
