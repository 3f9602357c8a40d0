"""One folder about success with held-out partners: page, tables, figures, films, and the rows they were made from.

Everything but the films is a function of the rows, the logs and the audit files: the same runs give the same bytes.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np

import housemates
from housemates.agents.agent import BEST_RESPONSE
from housemates.envs import loading
from housemates.evaluation.metrics import Rows, rows_of
from housemates.evaluation.rows import write_rows
from housemates.evaluation.stats import RESAMPLES
from housemates.io import check_place, write_whole
from housemates.reports import families, films, paper, summary
from housemates.reports.claims import claim_table
from housemates.reports.figures import check_figures, subgoal_table
from housemates.reports.films import draw_all
from housemates.reports.page import Picture, Section, write_page
from housemates.reports.sources import Source, gather, read_source, select
from housemates.reports.tables import Table, groups, latex, markdown, paper_tables, with_ours
from housemates.reports.transfer import transfer_table
from housemates.reports.work import warnings, work_table
from housemates.run_folder import ROWS, RunFolder
from housemates.tasks.tasks import task_title

VERSIONS = ("numpy", "numba", "torch", "pyarrow", "matplotlib")
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Options:
    """How a report is made."""

    split: str | None = None
    """Whose rows; None: eval if it was played."""
    greedy: bool = False
    """Rows with the likeliest actions instead of sampled ones."""
    films: bool = True
    """Play three games again and film them."""
    holdouts: tuple[Path, ...] = ()
    """Run folders of partners that do not come with the package, for the films."""
    seed: int = 0
    """Of the bootstrap."""
    all_tables: bool = False
    """The paper's tables whole, also where there is no number of ours."""
    resamples: int = RESAMPLES


@dataclass(frozen=True, eq=False)
class Report:
    """What was written."""

    page: Path
    """The report: index.html, in the folder with everything else."""
    lead: list[str]
    """The result in a sentence for each task."""
    headline: list[Table]
    """What a console shows: zero-shot results and controls."""
    tables: list[Table]
    figures: list[Path]
    films: list[Path]
    notes: list[str]
    """What a reader must know: rows left out, films that could not be made."""

    @property
    def folder(self) -> Path:
        """Where everything was written."""
        return self.page.parent


def report(
    runs: Path | str | Sequence[Path | str],
    out: Path | str | None = None,
    *,
    split: str | None = None,
    greedy: bool = False,
    films: bool = True,
    holdouts: Sequence[Path | str] = (),
    seed: int = 0,
    all_tables: bool = False,
    quiet: bool = False,
) -> Report:
    """Write the report of evaluated runs into a folder; returns where it is, with its tables and notes.

    runs: folders of runs, or parquet files of rows. out: default RUN/report for one run, `report` for several. Everything else
    as `housemates report --help` says.
    """
    paths = [Path(one) for one in ((runs,) if isinstance(runs, str | Path) else runs)]
    if not paths:
        raise ValueError("no run was given - for example: housemates report runs/main")
    usual = RunFolder(paths[0]).report if len(paths) == 1 and paths[0].is_dir() else Path("report")
    options = Options(split, greedy, films, tuple(map(Path, holdouts)), seed, all_tables)
    with ExitStack() as stack:
        shown: dict[str, Callable[[int, int], None]] = {}

        def tell(what: str, done: int, total: int) -> None:
            if what not in shown:
                stack.close()
                shown[what] = stack.enter_context(loading.progress(what, not quiet))
            shown[what](done, total)

        return write_report(paths, Path(out) if out else usual, options, tell)


def write_report(paths: Sequence[Path], out: Path, options: Options | None = None, progress: Progress | None = None) -> Report:
    """Read runs (or parquet files of rows) and write the report into the folder `out`."""
    options = options or Options()
    check_figures()
    check_place(out / "index.html")
    sources = [read_source(Path(path)) for path in paths]
    table = gather(sources)
    rows, notes = select(table, options.split, options.greedy)
    headline = [summary.zero_shot_table(rows, options.seed, options.resamples), summary.control_table(rows)]
    compared = summary.comparison_table(rows, options.seed, options.resamples)
    claims = claim_table(rows, options.seed, options.resamples, options.all_tables)
    printed = paper_tables(rows)
    printed = printed if options.all_tables else [own for own in map(with_ours, printed) if own]
    single = [summary.partner_table(rows, task) for task in _tasks(rows.only(evaluation="zsc"))]
    single += [summary.response_table(rows, task) for task in _tasks(rows.only(evaluation=BEST_RESPONSE))]
    shares = [subgoal_table(rows, task) for task in _tasks(rows.only(evaluation="zsc"))]
    runs, working = summary.run_table(rows), work_table(rows)
    by_family = families.family_table(rows, options.seed, options.resamples)
    decided = families.variance_table(rows)
    moved = transfer_table(rows_of(table).only(greedy=options.greedy), options.seed, options.resamples)
    drawn = draw_all(rows, sources, out / "figures", options.seed, progress)
    shown, missing = _films(rows, sources, out / "films", options.holdouts, progress) if options.films else ([], [])
    notes = [*warnings(rows), *summary.few_episodes(rows), *_controls_missing(rows), *notes, *missing]
    more = [table for table in (claims, compared, by_family, decided, moved) if table.rows]
    tables = [*headline, *more, *printed, *single, *shares, working, runs]
    made = how_made(sources, rows, paths, out, options)
    lead = [*summary.headline(rows, options.seed, options.resamples), about(rows)]
    sections = [
        Section("films", "Films", films=shown),
        Section("zero-shot", "Success with held-out partners", tables=headline[:1], pictures=drawn["success"], words=_SUCCESS),
        Section("claims", "What the paper claims", tables=[claims] if claims.rows else []),
        Section("controls", "Controls", tables=headline[1:]),
        Section("comparisons", "Methods compared", tables=[compared] if compared.rows else []),
        Section("families", "Partners by family", tables=[by_family] if by_family.rows else []),
        Section("variance", "What decides success", tables=[decided] if decided.rows else []),
        Section("transfer", "Generated and real homes", tables=[moved] if moved.rows else []),
        Section("work", "Who does the work", tables=[working] if working.rows else []),
        Section("heat-maps", "Who does what", pictures=drawn["heat_map"], words=_HEAT),
        Section("partners", "Agent by partner", tables=[*single, *shares], pictures=drawn["partners"]),
        Section("paper", "The paper's tables, with ours", tables=printed),
        Section("cross-play", "Cross-play", pictures=drawn["cross_play"]),
        Section("diversity", "Diversity of the populations", pictures=drawn["diversity"]),
        Section("curves", "Learning curves", pictures=drawn["curves"]),
        Section("made", "How this was made", tables=[runs], text=made),
    ]
    title = "Robots with partners they have never met"
    _write(out / "index.html", write_page(title, lead, notes, sections))
    _write(
        out / "tables.md",
        "\n".join(
            [f"# {title}", "", *(f"{line}  " for line in lead), "", *(f"> {n}  " for n in notes), "", *map(markdown, tables)]
        ),
    )
    _write(out / "tables.tex", "% needs \\usepackage{booktabs}\n\n" + "\n".join(map(latex, tables)))
    _write(out / "how.txt", made)
    write_rows(out / ROWS, table)
    pictures = [picture.path for group in drawn.values() for picture in group]
    return Report(out / "index.html", lead, headline, tables, pictures, [film.path for film in shown], notes)


_SUCCESS = (
    "Bars: mean over partners with a 95 % interval. Dots: seeds. Diamonds: the paper's number. Dashed lines: what the "
    "success is compared with, over the same partners."
)
_HEAT = (
    "How often the agent itself achieves each sub-goal, depending on its partner. An agent that adapts has columns that "
    "differ; one that does not adapt has equal columns."
)


def about(rows: Rows) -> str:
    """How much was played, in one sentence; best responses are not what a report is about."""
    entrants = rows.take(rows["evaluation"] != BEST_RESPONSE)
    rows = entrants if len(entrants) else rows
    tasks = ", ".join(task_title(task) for task in _tasks(rows))
    methods = dict.fromkeys(paper.label(m) for _, m, _, _ in groups(rows) if m != "solo")
    split, homes = rows.distinct("split")[0], len(rows.distinct("home"))
    return f"{tasks}: {', '.join(methods)}; {len(rows):,} episodes in {homes} homes of the split {split}."


def how_made(sources: Sequence[Source], rows: Rows, paths: Sequence[Path], out: Path, options: Options) -> str:
    """Commands, seeds, budgets and versions."""
    lines = []
    for source in sources:
        config = source.config
        if not config:
            lines.append(f"# {source.name}: rows only")
            continue
        training = config.get("training", {})
        told = {"method": config.get("method"), "task": config.get("task"), "preset": config.get("preset")}
        told |= {
            "observations": config.get("observations"),
            "seed": training.get("seed"),
            "decisions": training.get("decisions") or None,
            "steps": training.get("steps") or None,
        }
        told["population"] = " ".join(config.get("population", ()))
        wanted = " ".join(f"--{name} {value}" for name, value in told.items() if value not in (None, ""))
        lines.append(f"housemates train {wanted} --out {source.folder}")
        versions = ", ".join(f"{name} {version}" for name, version in config.get("versions", {}).items())
        lines += [f"#   trained with {versions}"] if versions else []
        mine = rows.take(np.char.startswith(rows["agent"], f"{source.name}/"))
        many = f"--episodes {len(mine.distinct('episode'))} --seed {' '.join(map(str, mine.distinct('seed')))}"
        greedy = " --greedy" if mine["greedy"].any() else ""
        lines.append(f"housemates evaluate {source.folder} --split {rows.distinct('split')[0]} {many}{greedy}")
    sampled = "" if options.split is None else f" --split {options.split}"
    lines.append(f"housemates report {' '.join(map(str, paths))} --out {out}{sampled}{' --greedy' if options.greedy else ''}")
    here = [f"housemates {housemates.__version__}", f"python {platform.python_version()}"]
    here += [f"{name} {metadata.version(name)}" for name in VERSIONS]
    seeds = ", ".join(map(str, rows.distinct("seed")))
    return "\n".join(
        [
            *lines,
            "",
            f"seeds of the evaluation: {seeds}; of the bootstrap: {options.seed} ({options.resamples:,} resamples)",
            f"actions: {'likeliest' if bool(rows['greedy'][0]) else 'sampled'}",
            f"environment (homes, episodes, rules): {', '.join(rows.distinct('environment'))}",
            f"report made with: {', '.join(here)}",
            "",
        ]
    )


def _tasks(rows: Rows) -> list[str]:
    return list(paper.in_order(rows.distinct("task")))


def _controls_missing(rows: Rows) -> list[str]:
    """A report without its controls says so at the top."""
    missing = [words for name, words in summary.CONTROLS.items() if not len(rows.only(evaluation="control", control=name))]
    return [f"Controls that were not evaluated: {'; '.join(missing)} - run housemates evaluate again."] if missing else []


def _films(
    rows: Rows, sources: Sequence[Source], folder: Path, holdouts: Sequence[Path], progress: Progress | None
) -> tuple[list[Picture], list[str]]:
    """The films that can be made, and why others cannot."""
    known = films.players(sources, holdouts)
    chosen = films.choose(rows, set(known))
    made, notes = [], []
    if not chosen:
        notes.append("No films: the weights of the agents are not in these folders.")
    for choice in chosen:
        run = next((s.folder for s in sources if s.folder is not None and choice.agent.startswith(f"{s.name}/")), None)
        path = folder / f"{choice.name}.mp4"
        try:
            report = None if progress is None else (lambda done, total, c=choice: progress(f"film {c.name}", done, total))
            films.make_film(choice, known, run, path, report)
        except (ValueError, OSError) as error:
            notes.append(f"No film of '{choice.title}': {' '.join(str(error).split())}")
            continue
        made.append(Picture(path, choice.title, choice.words + "."))
    return made, notes


def _write(path: Path, text: str) -> None:
    write_whole(path, text.encode())
