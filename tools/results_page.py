"""The results page from the rows of the grid: `python tools/results_page.py` writes the tables into docs/results/index.md.

The table of transfer between generated and real homes goes into docs/concepts/real_homes.md.

`python tools/results_page.py GRID` first takes over what the finished runs of a grid's folder have: the rows of the evaluation
(RUN.parquet), those with look-ahead (RUN+lookahead.parquet, of evaluation/ahead.parquet), those of the agent's checkpoints on
dev homes (checkpoints/RUN.parquet), how training went (curves/RUN.json), and the finished agent (agents/RUN), so that it can be
evaluated again. Figures are drawn into docs/images.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from housemates.agents import agent as registry
from housemates.evaluation.holdouts import ship_policy, training_of
from housemates.evaluation.metrics import LOOKS_AHEAD, Rows, efficiency_gain, mean_over_partners, per_run, rows_of
from housemates.evaluation.rows import join_rows, read_rows
from housemates.evaluation.stats import compare, over_seeds, scores
from housemates.reports import claims, families, paper, summary, tables
from housemates.reports.figures import canvas, colour, drawing, heat_map, success_by_method, success_by_partner
from housemates.reports.transfer import transfer_table
from housemates.run_folder import RunFolder, is_policy
from housemates.tasks.tasks import task_title

ROOT = Path(__file__).resolve().parents[1]
HOMES, TRANSFER = ROOT / "docs" / "concepts" / "real_homes.md", ROOT / "results" / "transfer"
ROWS, PAGE, IMAGES = ROOT / "results" / "grid", ROOT / "docs" / "results" / "index.md", ROOT / "docs" / "images"
WITH = ROOT / "results" / "trained_with"
"""Rows of BDP's agents that looked ahead in stage 2 as well."""
OPTIONS = ROOT / "results" / "options"
"""Rows of stage 2 with an option, on the populations of SP."""
NAMES = {"prioritised": "SP, prioritised partners", "liam": "SP, partner model"}
"""What tables call them, by the first word of the file's name."""
POINTS = 60
"""Of a learning curve."""
ENDS, GAINS = ("success", "collision", "timeout"), ("success", "failures")
COLUMNS = (
    "task",
    "method",
    "success / collision / time-out",
    "seeds",
    "standing",
    "half scripts",
    "learned",
    "gain",
    "failures = 750",
)
STANDING, HALVES = "script/noop", ("script/first_half", "script/second_half")
CHECKPOINT = re.compile(r"/steps-(\d+)$")
NONE = "Not measured yet."
PICTURES = {
    "success": "success with the training population and with held-out partners",
    "partners": "success with each held-out partner",
    "heat_map": "who does what",
}
"""Figures of each task, by mark: what they show."""


def take(grid: Path) -> None:
    """Copy what the finished runs of a grid have."""
    for folder in (ROWS, ROWS / "checkpoints", ROWS / "curves"):
        folder.mkdir(parents=True, exist_ok=True)
    for run in sorted((grid / "runs").iterdir()):
        found = run / "evaluation"
        for source, target in (
            (found / "episodes.parquet", ROWS / f"{run.name}.parquet"),
            (found / "ahead.parquet", ROWS / f"{run.name}+lookahead.parquet"),
            (found / "checkpoints-dev.parquet", ROWS / "checkpoints" / f"{run.name}.parquet"),
        ):
            if source.is_file():
                shutil.copyfile(source, target)
        if (found / "episodes.parquet").is_file():
            (ROWS / "curves" / f"{run.name}.json").write_text(json.dumps(curves_of(run), indent=1) + "\n")
            if is_policy(RunFolder(run).agent):
                agent = registry.agent(run)
                ship_policy(Path(agent.path), run.name, agent.meta | training_of(agent) | {"run": run.name}, ROWS / "agents")


def curves_of(run: Path) -> dict:
    """How a run's training went: curves of both stages, and what the members of its population reach at its end."""
    found: dict = {}
    for stage in (1, 2):
        log = run / f"stage{stage}" / "metrics.jsonl"
        if log.is_file():
            lines = [json.loads(line) for line in log.read_text().splitlines()]
            lines = lines[:: max(1, len(lines) // POINTS)] + lines[-1:]
            found[f"stage{stage}"] = [[line["steps"], line["decisions"], round(line["charts/success"], 4)] for line in lines]
            found[f"stage{stage}_seconds"] = round(lines[-1]["seconds"])
    population = run / "stage1" / "population.json"
    if population.is_file():
        metas = [partner["meta"] for partner in json.loads(population.read_text())["partners"]]
        found["members"] = [round(meta["success"], 4) for meta in metas if meta.get("success") is not None]
    return found


def grid_rows() -> Rows | None:
    """All rows of the evaluation homes, with and without look-ahead."""
    files = sorted(ROWS.glob("*.parquet"))
    return rows_of(join_rows(read_rows(path) for path in files)) if files else None


def population_table() -> tables.Table:
    """What members of populations reach with those they are trained with at the end of stage 1."""
    found: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
    for path in sorted((ROWS / "curves").glob("*.json")):
        method, task = path.stem.split("-")[:2]
        members = json.loads(path.read_text()).get("members")
        if members:
            found[task, method].append(members)
    lines = []
    for task in paper.TASKS:
        for method in sorted((name for one, name in found if one == task), key=paper.method_order):
            runs = found[task, method]
            means = [100 * float(np.mean(run)) for run in runs]
            lines.append(
                (
                    task_title(task),
                    paper.label(method),
                    str(len(runs)),
                    tables.Cell(float(np.mean(means)), over_seeds(np.array(means)).error, len(runs)),
                    tables.Cell(100 * min(min(run) for run in runs)),
                    f"{sum(member >= 0.8 for run in runs for member in run)} of {sum(map(len, runs))}",
                )
            )
    columns = ("task", "method", "seeds", "members in training", "weakest member", "members at 80 % or more")
    note = "Per cent of the last training episodes of stage 1: SP and BDP with themselves, PBT and TrajeDi with other members."
    return tables.Table("populations", "How good the partners of stage 2 are", columns, tuple(lines), (note,))


def trained_with() -> list[tuple[str, str, Rows]]:
    """(task, method, rows) of agents that were trained with the look-ahead, with held-out partners."""
    rows = rows_of(join_rows(read_rows(path) for path in sorted(WITH.glob("*.parquet")))).only(evaluation="zsc")
    return [(task, "bdp + look-ahead in stage 2 too", rows.only(task=task)) for task in rows.distinct("task")]


def of_the_paper(rows: Rows) -> Rows:
    """Without methods that the paper does not have."""
    return rows.take(np.array([method.partition(" + ")[0] in paper.LABELS for method in rows["method"]], bool))


def seen_with(mine: Rows) -> list[tables.Cell | str]:
    """Cells: how episodes with held-out partners end, seeds, success by kind of partner, efficiency gains."""
    ends = [100 * per_run(mine, lambda r, end=end: mean_over_partners(r, end)).mean() for end in ENDS]
    parts = [mine.only(partner=STANDING), mine.only(partner=HALVES), mine.only(partner_kind="learned")]
    cells = [tables.Cell(100 * mean_over_partners(part)) for part in parts]
    gains = [100 * per_run(mine, lambda r, kind=kind: efficiency_gain(r, kind)).mean() for kind in GAINS]
    words, seeds = " / ".join(f"{end:.1f}" for end in ends), str(len(mine.distinct("agent_run")))
    return [words, seeds, *cells, *(f"{gain:+.0f} %" for gain in gains)]


def option_rows() -> list[tuple[str, str, Rows]]:
    """(task, name, rows) of agents of stage 2 with an option, with held-out partners; those that look ahead by themselves."""
    files: dict[tuple[str, str], list[Path]] = defaultdict(list)
    for path in sorted(OPTIONS.glob("*.parquet")):
        option, task = path.stem.split("-")[:2]
        files[task, NAMES[option] + (LOOKS_AHEAD if path.stem.endswith("+lookahead") else "")].append(path)
    return [(*key, rows_of(join_rows(map(read_rows, paths))).only(evaluation="zsc")) for key, paths in files.items()]


def rival_table(rows: Rows) -> tables.Table:
    """Methods of other papers, and options of stage 2, beside the paper's method or the population they are trained with."""
    held_out = rows.only(evaluation="zsc")
    found = [(task, method, mine) for task, method, _, mine in tables.groups(held_out)]
    others = [(task, method, mine) for task, method, mine in found if method.partition(" + ")[0] in paper.OTHERS]
    lines = []
    for task, method, mine in [*others, *option_rows()]:
        name, plus, more = method.partition(" + ")
        beside = held_out.only(task=task, method=("bdp" if name in paper.OTHERS else "sp") + plus + more)
        difference = compare(scores(mine), scores(beside)).difference if len(beside) else None
        told = (
            f"{100 * difference.value:+.1f} [{100 * difference.low:+.1f}, {100 * difference.high:+.1f}]" if difference else "-"
        )
        lines.append((task, method, (task_title(task), paper.label(method), *seen_with(mine)[:-1], told)))
    lines.sort(key=lambda line: (paper.TASKS.index(line[0]), *paper.method_order(line[1])))
    columns = (*COLUMNS[:-1], "difference [95 %]")
    note = "Difference: to BDP, of options to SP, whose populations they have; with look-ahead to the same with look-ahead."
    return tables.Table("rivals", "Methods of other papers", columns, tuple(line[2] for line in lines), (note,))


def ahead_table(rows: Rows) -> tables.Table:
    """The same runs with and without look-ahead: how episodes end, with which partners, and how long they take."""
    held_out, lines = rows.only(evaluation="zsc"), []
    ahead = {run.partition(LOOKS_AHEAD)[0] for run in held_out.distinct("agent_run") if LOOKS_AHEAD in run}
    runs = tuple(run for run in held_out.distinct("agent_run") if run.partition(LOOKS_AHEAD)[0] in ahead)
    found = [(task, method, mine) for task, method, _, mine in tables.groups(held_out.only(agent_run=runs))]
    for task, method, mine in [*found, *trained_with()]:
        told = (task_title(task), paper.label(method), *seen_with(mine))
        lines.append((task, method, told))
    lines.sort(key=lambda line: (paper.TASKS.index(line[0]), *paper.method_order(line[1])))
    return tables.Table("ahead", "With and without look-ahead", COLUMNS, tuple(line[2] for line in lines))


def checkpoint_lines() -> dict[tuple[str, str], dict[int, list[float]]]:
    """Success with held-out partners on dev homes, by (task, method), then millions of steps of stage 2."""
    found: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted((ROWS / "checkpoints").glob("*.parquet")):
        rows = rows_of(read_rows(path)).only(evaluation="zsc")
        for agent in rows.distinct("agent"):
            mine = rows.only(agent=agent)
            named = CHECKPOINT.search(agent)
            millions = round((int(named[1]) if named else int(mine["stage2_steps"][0])) / 1e6)
            found[mine["task"][0], mine["method"][0]][millions].append(100 * mean_over_partners(mine))
    return found


def checkpoint_table() -> tables.Table:
    """The agent's success during stage 2."""
    found = checkpoint_lines()
    steps = sorted({step for line in found.values() for step in line})
    lines = []
    for task in paper.TASKS:
        for method in sorted((name for one, name in found if one == task), key=paper.method_order):
            cells = [over_seeds(np.array(found[task, method].get(step, []))) for step in steps]
            lines.append((task_title(task), paper.label(method), *(tables.Cell(c.mean, c.error, c.n) for c in cells)))
    columns = ("task", "method", *(f"{step} M steps" for step in steps))
    note = "Per cent, dev homes, the paper's held-out partners, mean ± standard error over seeds. Nothing was chosen with them."
    return tables.Table("checkpoints", "The agent during stage 2", columns, tuple(lines), (note,))


def parts() -> dict[str, str]:
    """Every part of the page that is made from rows, by its mark."""
    rows = grid_rows()
    if rows is None:
        return {}
    whole, rows = rows, of_the_paper(rows)
    printed = {table.name: table for table in tables.paper_tables(rows)}
    kept = {name: tables.with_ours(table) for name, table in printed.items()}
    found = {
        "claims": claims.claim_table(rows, whole=True),
        "zero_shot": summary.zero_shot_table(rows),
        "ahead": ahead_table(rows),
        "rivals": rival_table(whole),
        "controls": summary.control_table(rows),
        "comparisons": summary.comparison_table(rows),
        "variance": families.variance_table(rows.take(np.array(["+" not in m for m in rows["method"]]))),
        "populations": population_table(),
        "checkpoints": checkpoint_table(),
        **{name: kept[name] for name in ("table1", "table2", "table3", "table4", "table5")},
    }
    made = {name: tables.markdown(table).strip() if table and table.rows else NONE for name, table in found.items()}
    tasks = paper.in_order(rows.distinct("task"))
    for name, words in PICTURES.items():
        made[name] = "\n\n".join(f"![{task_title(task)}: {words}](../images/grid_{name}_{task}.png)" for task in tasks)
    return made


def homes_parts() -> dict[str, str]:
    """The part of the page of real homes that is made from rows, by its mark."""
    files = [*TRANSFER.glob("*.parquet"), *ROWS.glob("bdp-*.parquet")]
    return {"transfer": tables.markdown(transfer_table(rows_of(read_rows(sorted(files))))).strip()}


def with_parts(text: str, made: dict[str, str]) -> str:
    """The page with its parts made anew, between their marks."""
    for name, part in made.items():
        mark = f"<!-- {name} -->"
        before, _, rest = text.partition(mark)
        _, _, after = rest.partition(mark)
        text = f"{before}{mark}\n\n{part}\n\n{mark}{after}"
    return text


def curves() -> None:
    """Figure: success in training of stage 1, and with held-out partners on dev homes during stage 2, by task."""
    runs: dict[tuple[str, str], list[list]] = defaultdict(list)
    for path in sorted((ROWS / "curves").glob("*.json")):
        method, task = path.stem.split("-")[:2]
        told = json.loads(path.read_text())
        if "stage1" in told:
            runs[task, method].append(told["stage1"])
    later = checkpoint_lines()
    tasks = [task for task in paper.TASKS if any(key[0] == task for key in runs)]
    figure, axes = canvas(len(tasks), 2, 2.5 * len(tasks) + 0.4, sharey="row")
    for row, task in zip(axes, tasks, strict=True):
        for method in sorted((name for one, name in runs if one == task), key=paper.method_order):
            for k, curve in enumerate(runs[task, method]):
                values = np.array(curve)
                name = paper.label(method) if k == 0 else None
                row[0].plot(values[:, 0] / 1e6, 100 * values[:, 2], color=colour(method), lw=1.0, alpha=0.8, label=name)
            if (task, method) in later:
                points = sorted(later[task, method].items())
                means = [float(np.mean(found)) for _, found in points]
                errors = [float(np.std(found, ddof=1) / np.sqrt(len(found))) if len(found) > 1 else 0.0 for _, found in points]
                row[1].errorbar([step for step, _ in points], means, errors, color=colour(method), lw=1.2, marker="o", ms=3)
        row[0].set(title=f"{task_title(task)}: stage 1", xlabel="million steps", ylabel="success in training, %", ylim=(0, 100))
        row[1].set(title=f"{task_title(task)}: stage 2", xlabel="million steps", ylim=(0, 100))
        row[1].set_ylabel("held-out partners, dev homes, %")
        row[1].set_xscale("log")
        row[1].set_xticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
        row[1].minorticks_off()
        row[0].legend(frameon=False, loc="lower right")
    figure.savefig(IMAGES / "grid_curves.png", dpi=130, metadata={"Software": None})


def figures() -> None:
    """All figures of the page."""
    rows = grid_rows()
    if rows is None:
        return
    with drawing():
        for task in paper.in_order(rows.distinct("task")):
            plain = rows.only(task=task)
            plain = plain.take(np.array(["+" not in method for method in plain["method"]]))
            for name, figure in (
                ("success", success_by_method(plain, task)),
                ("partners", success_by_partner(of_the_paper(plain), task)),
                ("heat_map", heat_map(of_the_paper(plain), task, "state")),
            ):
                figure.savefig(IMAGES / f"grid_{name}_{task}.png", dpi=110, metadata={"Software": None})
        curves()


if __name__ == "__main__":
    if sys.argv[1:]:
        take(Path(sys.argv[1]))
    PAGE.write_text(with_parts(PAGE.read_text(), parts()))
    HOMES.write_text(with_parts(HOMES.read_text(), homes_parts()))
    figures()
