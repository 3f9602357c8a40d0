"""docs/tutorials/your_own_task.md: its file trains, is evaluated, reported and played outside the package, as printed."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from housemates.agents.agent import scripted
from housemates.cli.main import main
from housemates.evaluation.metrics import rows_of
from housemates.evaluation.rows import read_rows
from housemates.homes.sources import HOMES, load_split
from housemates.sim.sensors import SENSORS
from housemates.tasks.episodes import load_episodes
from housemates.tasks.tasks import TASKS
from housemates.tasks.validate import validate
from housemates.web.game import PERSON, new_game

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "your_own_task.md").read_text()
RUN = "runs/own"
TRAIN = f"train --method sp --preset smoke --decisions 400 --out {RUN} --quiet --change num_envs=8 method.members=2"


def forget() -> None:
    """As a new process begins: nothing of the user's is known."""
    for table in (TASKS, SENSORS, HOMES):
        for name in [name for name in table if name not in table.own]:
            del table[name]
    sys.modules.pop("my_house", None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of a user with my_house.py, as the present one."""
    place = tmp_path_factory.mktemp("user")
    blocks = re.findall(r"<!-- my_house.py.*?-->\n```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 3, "a task, a sensor and a source of homes"
    (place / "my_house.py").write_text("\n".join(blocks))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setenv("HOUSEMATES_USE", "")
        yield place
        forget()


@pytest.fixture(scope="module")
def run(folder):
    """Both stages of a training of it."""
    words = "--use my_house --task clear_table --split flats --observations state+predicates+gap"
    assert main([*TRAIN.split(), *words.split()]) == 0
    return folder / RUN


@pytest.fixture
def fresh(folder, monkeypatch):
    """A process that knows nothing of the module yet."""
    monkeypatch.setenv("HOUSEMATES_USE", "")
    forget()


def test_every_episode_holds_the_rules(fresh, capsys):
    assert main(["episodes", "--task", "my_house:CLEAR_TABLE", "--split", "dev"]) == 0
    assert "all hold" in capsys.readouterr().out


def test_the_run_is_evaluated_with_the_module_named_again(run, fresh):
    assert main(f"evaluate {run} --use my_house --split flats --episodes 2 --threads 1".split()) == 0
    rows = rows_of(read_rows([run / "evaluation" / "episodes-flats.parquet"]))
    assert rows.distinct("task") == ["clear_table"]
    assert {"script/noop", "script/first_half"} <= set(rows.only(evaluation="zsc").distinct("partner"))
    assert len(rows.only(evaluation="control", control="blind"))


def test_a_run_does_not_import_what_it_names(run, fresh, capsys):
    assert main(f"evaluate {run} --split dev --episodes 1".split()) == 2
    assert "--use package.module" in capsys.readouterr().err
    assert "my_house" not in sys.modules


def test_the_report_shows_it_by_its_title(run, fresh):
    assert main(f"report {run} --use my_house --split flats --no-films --out report".split()) == 0
    page = Path("report/tables.md").read_text()
    assert "Clear Table" in page
    assert "state+predicates+gap" in page


def test_the_report_shows_it_by_its_name_where_nobody_knows_it(run, fresh):
    assert main(f"report {run} --split flats --no-films --out plain".split()) == 0
    assert "clear_table" in Path("plain/tables.md").read_text()


def test_a_person_plays_it(folder, fresh):
    from housemates.plugins import use

    use("my_house")
    homes = load_split("flats")
    episodes = load_episodes("clear_table", "flats", homes=homes)
    assert validate(episodes, homes) == []
    game = new_game(episodes, homes, 0, [PERSON, scripted("second_half")])
    told = game.describe()
    assert told["title"].startswith("Clear Table, home dev/")
    assert told["instructions"][0] == TASKS["clear_table"].instructions[0]
    game.click(0)
    for _ in range(2000):
        game.tick()
        if game.over or game.batch.state.held[0, 0] == 0:
            break
    assert game.over or any(event["what"] == "pick obj0" for event in game.events())


def test_scripts_can_do_it(folder, fresh):
    from housemates.plugins import use
    from housemates.sim.batch import Batch
    from housemates.sim.scripts import script

    use("my_house")
    homes = load_split("flats")
    episodes = load_episodes("clear_table", "flats", homes=homes)
    batch = Batch(episodes, homes, 10, robots=1, stored_spawns=True, autoreset=False)
    batch.script(0, script("solo"))
    batch.reset(np.arange(10))
    while not batch.state.over.all():
        batch.step(np.full((10, 1), -1))
    assert (batch.ended.outcome == 1).mean() >= 0.8
