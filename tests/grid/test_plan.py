"""Which cells the paper has, what needs what, and what a folder remembers."""

from collections import Counter
from dataclasses import replace

import pytest

from helpers.small_runs import small_run
from housemates.cli.main import main
from housemates.grid import folder
from housemates.grid.estimate import AGENT_SHARE, Speeds, bytes_of, finish, hours_of, parse_speeds
from housemates.grid.plan import GRIDS, Settings, make_grid, selection
from housemates.run_folder import RunFolder


def grid(tmp_path, name="paper", methods=(), tasks=(), seeds=(0,), **settings):
    return make_grid(tmp_path, selection(name, methods, tasks), seeds, Settings(**settings))


def told(capsys, *arguments: str) -> str:
    assert main(["benchmark", *arguments]) == 2
    return capsys.readouterr().err.strip().splitlines()[-1]


def test_the_paper_has_eight_methods_on_three_tasks_and_its_ablations_and_observations():
    runs = GRIDS["paper"]
    assert Counter(task for _, task in runs) == {"set_table": 8 + 4, "tidy_house": 8, "prepare_groceries": 8 + 2}
    assert len(runs) == len(set(runs))


def test_whatever_a_cell_needs_comes_before_it(tmp_path):
    seen = set()
    for cell in grid(tmp_path, seeds=(0, 1, 2)).cells:
        assert set(cell.after) <= seen
        seen.add(cell.name)


def test_fcp_takes_over_the_population_of_self_play_with_the_same_seed(tmp_path):
    cells = {cell.name: cell for cell in grid(tmp_path, methods=("fcp",), tasks=("tidy_house",), seeds=(1,)).cells}
    shared = cells["population/fcp-tidy_house-laptop-1"]
    assert (shared.shares, shared.decisions) == ("sp-tidy_house-laptop-1", 0)
    assert shared.after == ("population/sp-tidy_house-laptop-1",)
    assert "agent/sp-tidy_house-laptop-1" not in cells


def test_a_method_of_one_stage_has_an_agent_without_population_and_the_budget_of_two_stages(tmp_path):
    made = grid(tmp_path, "rivals", ("e3t", "sp"), ("tidy_house",), decisions=500, holdout_seeds=(7,))
    cells = {cell.name: cell for cell in made.cells}
    one, two = cells["agent/e3t-tidy_house-laptop-0"], cells["agent/sp-tidy_house-laptop-0"]
    assert "population/e3t-tidy_house-laptop-0" not in cells
    assert (one.decisions, two.decisions) == (1000, 500)
    assert (one.after, two.after) == ((), ("population/sp-tidy_house-laptop-0",))
    command = made.command(one)
    assert command[3:11] == ["train", "--method", "e3t", "--task", "tidy_house", "--seed", "0", "--stage"]
    assert command[command.index("--decisions") + 1] == "1000"
    assert "--partners" in made.command(cells["evaluation/e3t-tidy_house-laptop-0"])


def test_a_method_that_sees_something_else_trains_its_own_population(tmp_path):
    for seen, shares in ((None, ""), ("predicates", "bdp-prepare_groceries-laptop-0")):
        cells = grid(tmp_path, "observations", ("bdp_state",), observations=seen).cells
        assert next(c for c in cells if c.name == "population/bdp_state-prepare_groceries-laptop-0").shares == shares


def test_an_evaluation_needs_the_agent_and_all_holdouts_of_its_task(tmp_path):
    cells = grid(tmp_path, "main", ("bdp",), ("set_table",), holdout_seeds=(7, 8)).cells
    names = ["agent/bdp-set_table-laptop-0", *(f"holdout/gt_coord-set_table-laptop-{seed}" for seed in (7, 8))]
    assert list(cells[-1].after) == names


def test_an_agent_meets_three_scripts_and_the_holdouts_of_the_grid(tmp_path):
    made = grid(tmp_path, "main", ("bdp",), ("set_table",), holdout_seeds=(7,), holdout_preset="state")
    command = made.command(made.cells[-1])
    scripts = ["script/noop", "script/first_half", "script/second_half"]
    assert command[command.index("--partners") + 1 :] == [*scripts, str(tmp_path / "holdouts/gt_coord-set_table-state-7")]


def test_a_team_that_knows_itself_is_evaluated_without_strangers(tmp_path):
    made = grid(tmp_path, "main", ("gt_coord",), ("set_table",))
    assert "--partners" not in made.command(made.cells[-1])
    assert made.cells[-1].after == ("population/gt_coord-set_table-laptop-0",)


def trained(made) -> dict[str, list[str]]:
    """What is changed in the runs of a grid, by their names."""
    found = {}
    for cell in made.cells:
        if cell.kind in ("population", "holdout") and not cell.shares:
            command = made.command(cell)
            changes = command[command.index("--change") + 1 :] if "--change" in command else []
            found[cell.run.partition("-")[0]] = [c for c in changes if "=" in c]
    return found


def test_a_change_of_a_methods_setting_is_given_only_to_that_method(tmp_path):
    made = grid(tmp_path, "paper", tasks=("set_table",), change=("num_envs=8", "bdp.weight=0.02", "sp.members=2"))
    changed = trained(made)
    assert changed.pop("bdp") == ["num_envs=8", "method.weight=0.02"]
    assert changed.pop("sp") == ["num_envs=8", "method.members=2"]
    assert {"trajedi", "pbt", "gt_coord", "bdp_no_discriminator", "bdp_separate"} <= set(changed)
    assert set(map(tuple, changed.values())) == {("num_envs=8",)}


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        ("method.weight=0.02", "name the one that is meant, such as bdp.weight=0.02"),
        ("bdp_no_discriminator.weight=0.02", "'bdp_no_discriminator' is what it is by weight = 0.0"),
        ("bdp.wieght=0.02", "did you mean 'weight'"),
        ("bdp.weight=much", "must be of type float"),
        ("bpd.weight=0.02", "did you mean 'bdp'"),
        ("fcp.members=2", "fcp takes over the population of sp here: change sp instead"),
        ("homes", "KEY=VALUE"),
    ],
)
def test_a_change_that_would_not_do_what_it_says_is_refused(change, answer, tmp_path, capsys):
    place = tmp_path / "grid"
    assert answer in told(capsys, "--out", str(place), "--change", change)
    assert not place.exists()


def test_cells_are_done_when_their_results_are_there(tmp_path):
    made = grid(tmp_path, "main", ("pbt",), ("tidy_house",), holdout_seeds=(), preset="smoke", decisions=1000)
    assert not any(map(made.done, made.cells))
    run = small_run(tmp_path / "runs" / "pbt-tidy_house-smoke-0", "pbt")
    assert [made.done(cell) for cell in made.cells] == [True, True, False]
    RunFolder(run).population.unlink()
    assert [made.done(cell) for cell in made.cells] == [False, True, False]


def test_a_run_that_has_begun_is_resumed(tmp_path):
    made = grid(tmp_path, "main", ("pbt",), ("tidy_house",), holdout_seeds=(), preset="smoke")
    assert "--out" in made.command(made.cells[0])
    run = small_run(tmp_path / "runs" / "pbt-tidy_house-smoke-0", "pbt")
    assert made.command(made.cells[0])[3:] == ["train", "--resume", str(run), "--stage", "1"]
    assert made.command(made.cells[1])[3:] == ["train", "--resume", str(run), "--stage", "2"]


def test_hours_follow_the_speed_that_was_given(tmp_path):
    made = grid(tmp_path, "main", ("bdp",), ("tidy_house",), decisions=3_600_000, holdout_seeds=())
    cell = made.cells[0]
    slow, fast = (hours_of(made, cell, Speeds({"depth": speed})) for speed in (1000.0, 2000.0))
    assert slow - fast == pytest.approx(0.5)
    assert slow == pytest.approx(1.0, abs=0.01)


def test_an_agent_takes_longer_than_its_population_unless_it_was_measured():
    assert Speeds({"depth": 1000.0}).of("depth", "laptop", agent=True) == 1000.0 * AGENT_SHARE
    assert Speeds({}, {"depth": 1000.0, "depth, stage 2": 900.0}).of("depth", "laptop", agent=True) == 900.0
    assert Speeds({}, {"depth": 1000.0}).of("depth", "laptop") == 1000.0


def test_eight_separate_policies_need_more_disk_than_one_with_latents(tmp_path):
    made = grid(tmp_path, "main", ("pbt", "bdp"), ("tidy_house",), preset="state", holdout_seeds=())
    pbt, bdp = (next(c for c in made.cells if c.name.startswith(f"population/{m}-")) for m in ("pbt", "bdp"))
    assert bytes_of(made, pbt) > 3 * bytes_of(made, bdp)


def test_the_time_to_finish_is_that_of_the_longest_chain_or_of_the_work_on_all_cores(tmp_path):
    made = grid(tmp_path, "main", ("sp", "pbt"), ("tidy_house",), holdout_seeds=())
    assert finish(made, lambda cell: 1.0, 1) == 6.0
    assert finish(made, lambda cell: 1.0, 2) == 3.0
    assert finish(made, lambda cell: 1.0, 8) == 3.0
    assert finish(made, lambda cell: 1.0 if cell.kind == "evaluation" else 0.0, 1) == 2.0


def test_a_grid_may_have_a_budget_in_steps(tmp_path):
    made = grid(tmp_path, "main", ("bdp",), ("tidy_house",), steps=7_000_000, holdout_steps=500, holdout_seeds=(100,))
    holdout, population, agent, evaluation = made.cells
    assert (holdout.budget, population.budget, agent.budget) == (("steps", 500), *[("steps", 7_000_000)] * 2)
    for cell in (holdout, population):
        command = made.command(cell)
        assert command[command.index("--steps") + 1] == str(cell.steps)
        assert "--decisions" not in command
    assert not evaluation.trains
    hours = [hours_of(made, cell, Speeds({"depth": 1000.0})) for cell in (population, agent)]
    assert hours[0] == pytest.approx(7_000_000 / 1.5 / 1000 / 3600, abs=0.01)
    assert hours[1] < hours[0]


def test_a_grid_of_the_paper_preset_is_sized_in_steps(tmp_path):
    made = grid(tmp_path, "main", ("bdp",), ("tidy_house",), preset="paper", holdout_seeds=())
    assert made.cells[0].budget == made.cells[1].budget == ("steps", 100_000_000)
    assert bytes_of(made, made.cells[0]) > 0


def test_a_budget_in_two_units_is_refused(tmp_path, capsys):
    assert "--decisions and --steps both say" in told(capsys, "--out", str(tmp_path), "--decisions", "5", "--steps", "5")


def test_seeds_of_holdouts_are_no_seeds_of_agents(tmp_path, capsys):
    assert "seed 100 is one of the holdouts'" in told(capsys, "--out", str(tmp_path), "--seeds", "100")


def test_a_speed_that_cannot_be_read_is_refused(tmp_path, capsys):
    assert "OBSERVATIONS=DECISIONS_PER_SECOND" in told(capsys, "--out", str(tmp_path), "--speed", "depth=fast")
    assert parse_speeds(("depth=3e3",)) == {"depth": 3000.0}


def test_a_method_that_the_grid_lacks_is_refused(tmp_path, capsys):
    assert "no method 'bdp_rgb' - it has: gt_coord" in told(
        capsys, "--out", str(tmp_path), "--grid", "main", "--methods", "bdp_rgb"
    )


def test_the_plan_tells_hours_and_disk_and_writes_nothing(tmp_path, capsys):
    place = tmp_path / "grid"
    assert (
        main(["benchmark", "--out", str(place), "--grid", "main", "--tasks", "tidy_house", "--seeds", "0", "--plan", "--cells"])
        == 0
    )
    out = capsys.readouterr().out
    assert "takes over sp-tidy_house-laptop-0" in out
    assert "in all: 24 cells" in out
    assert "depth 4,500 (from the table)" in out
    assert not place.exists()


def test_a_folder_remembers_how_its_runs_are_made(tmp_path):
    first = folder.asked(tmp_path, {"grid": "smoke"}, {"decisions": 99})
    folder.write(tmp_path, first)
    assert folder.asked(tmp_path, {"seeds": None}, {"decisions": None}) == first
    assert folder.asked(tmp_path, {"seeds": (0, 1)}, {"decisions": 99}) == replace(first, seeds=(0, 1))
    with pytest.raises(ValueError, match=r"--decisions.*99.*100.*--out"):
        folder.asked(tmp_path, {}, {"decisions": 100})


def test_a_damaged_file_is_named(tmp_path, capsys):
    (tmp_path / folder.FILE).write_text("{")
    assert "benchmark.json is damaged" in told(capsys, "--out", str(tmp_path), "--plan")
