"""Studies: the same methods under several conditions, compared with the first."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.batches import episodes, home
from helpers.evaluations import run_rows
from helpers.learners import SHORT, TINY
from housemates.cli.main import main
from housemates.evaluation.metrics import rows_of
from housemates.evaluation.rows import join_rows, write_rows
from housemates.grid import studies
from housemates.grid.adopt import recipe
from housemates.grid.estimate import decisions_of
from housemates.grid.plan import Settings
from housemates.grid.studies import STUDIES, Condition, Plan, Study, grids, plan, register_study
from housemates.methods.self_play import GTCoord
from housemates.reports.study import study_table
from housemates.training.trainer import Trainer

SETTINGS = Settings(preset="smoke", decisions=1000, holdout_seeds=(), split="dev", episodes=2)


@pytest.fixture
def two():
    """A study with two conditions, one of them in other homes."""
    conditions = (Condition("base", "as ever"), Condition("few", "few homes", ("num_envs=8",), "seeds:0-1"))
    yield register_study(Study("two", "Do few homes harm?", ("sp", "bdp"), conditions, seen=True))
    del STUDIES["two"]


def test_conditions_change_what_they_say_and_nothing_else(tmp_path, two):
    works = list(grids(tmp_path, plan(tmp_path, "two", (), (), SETTINGS), (0, 1)))
    assert [(seed, c.name, work.settings.split) for seed, c, work in works] == [
        (seed, name, split) for seed in (0, 1) for name, split in (("base", "dev"), ("few", "dev"), ("few", "seeds:0-1"))
    ]
    for _, condition, work in works:
        assert work.root == tmp_path / condition.name
        for cell in work.cells:
            words = work.command(cell)
            if cell.kind == "population":
                run = recipe(work, cell)
                assert run.split == (condition.train_split or "dev")
                assert run.training.num_envs == (8 if condition.name == "few" else 32)
                assert ("seeds:0-1" in words) == (condition.name == "few")
                assert ("num_envs=8" in words) == (condition.name == "few")
            if cell.kind == "evaluation":
                assert words[words.index("--split") + 1] == work.settings.split


def test_every_study_of_the_package_can_be_planned(tmp_path, capsys):
    for name, study in STUDIES.items():
        assert main(["study", "--name", name, "--out", str(tmp_path / name), "--decisions", "1000000", "--plan"]) == 0
        told = capsys.readouterr().out
        assert study.question in told
        assert all(condition.label in told for condition in study.conditions)
        assert not (tmp_path / name).exists()
        for _, _, work in grids(tmp_path, plan(tmp_path / name, name, (), (), SETTINGS), (0,)):
            assert all(recipe(work, cell) for cell in work.cells if cell.kind == "population")


def test_a_population_that_trains_longer_has_its_own_budget(tmp_path, two):
    settings = replace(SETTINGS, change=("stage1_times=8",))
    (_, _, work), *_ = grids(tmp_path, Plan("two", ("sp",), ("tidy_house",), settings), (0,))
    budgets = {cell.kind: decisions_of(cell) for cell in work.cells}
    assert budgets == {"population": 8000, "agent": 1000, "evaluation": 0}
    config = replace(SHORT, stage1_times=3)
    for stage, decisions in ((1, 3 * SHORT.decisions), (2, SHORT.decisions)):
        assert config.of_stage(stage).decisions == decisions
    trainer = Trainer(config.of_stage(1), GTCoord(TINY, 2, 0), episodes(), [home()], tmp_path / "run", 2)
    while not trainer.done:
        trainer.step()
    assert trainer.decisions >= 3 * SHORT.decisions


def test_a_folder_keeps_its_study(tmp_path, two):
    wanted = plan(tmp_path, "two", (), (), SETTINGS)
    studies.write(tmp_path, wanted)
    assert plan(tmp_path, None, (), (), None) == wanted
    for other in (("draws", (), (), None), ("two", ("pbt",), (), None), ("two", (), (), replace(SETTINGS, decisions=5))):
        with pytest.raises(ValueError, match="another --out"):
            plan(tmp_path, *other)
    with pytest.raises(ValueError, match="draws"):
        plan(tmp_path / "new", None, (), (), None)


def made_rows(name, skill):
    parts = [run_rows(method, seed, split="dev", controls=False, skill=skill) for method in ("sp", "bdp") for seed in (0, 1)]
    return {name: rows_of(join_rows(parts))}


def test_the_table_compares_with_the_first_condition():
    found = made_rows("as ever", 0.9) | made_rows("few homes", 0.2)
    table = study_table(found, "tidy_house", "dev", resamples=200)
    assert [row[:2] for row in table.texts()] == [[c, m] for c in found for m in ("SP", "BDP")]
    for row in table.rows:
        held_out = found[row[0]].only(evaluation="zsc", method=row[1].lower())
        assert row[3].value == pytest.approx(100 * held_out["success"].mean())
        assert (row[5] == "") == (row[0] == "as ever")
    for method, row in zip(("sp", "bdp"), table.rows[2:], strict=True):
        means = [100 * rows.only(evaluation="zsc", method=method)["success"].mean() for rows in found.values()]
        assert row[5].value == pytest.approx(means[1] - means[0])
        assert row[5].low <= row[5].value <= row[5].high < 0


def test_tables_and_figures_of_what_is_done(tmp_path, two, capsys):
    from housemates.cli.study import show

    wanted = plan(tmp_path, "two", (), (), SETTINGS)
    show(tmp_path, wanted, (0,))
    assert "nothing was evaluated" in capsys.readouterr().out
    for _, condition, work in grids(tmp_path, wanted, (0,)):
        for cell in work.cells:
            if cell.kind == "evaluation":
                skill = 0.9 if condition.name == "base" else 0.3
                rows = run_rows(cell.method, 0, split=work.settings.split, controls=False, skill=skill)
                write_rows(work.rows(cell), rows)
    show(tmp_path, wanted, (0,))
    text = (tmp_path / "study.md").read_text()
    assert two.question in text
    assert text.count("| few homes |") == 4
    assert text.count("difference to as ever") == 1
    assert text.count("difference") == 1
    pictures = sorted(path.name for path in tmp_path.glob("*.png"))
    assert pictures == ["study-tidy_house-dev.png", "study-tidy_house-training.png"]
    assert np.all([path.stat().st_size > 10_000 for path in tmp_path.glob("*.png")])
