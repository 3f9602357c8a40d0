"""What a run shows while it trains."""

import pytest
from rich.console import Console

from housemates.training import logger as record
from housemates.training.logger import Record, left, line, panel

ROW = {
    "update": 3,
    "decisions": 250,
    "steps": 4000,
    "seconds": 60.0,
    "charts/success": 0.25,
    "charts/collision": 0.5,
    "charts/timeout": 0.25,
    "charts/episodic_return": -1.5,
    "charts/episodic_length": 320.0,
    "charts/decisions_per_second": 4000.0,
    "losses/entropy": 2.5,
    "time/simulation": 0.2,
    "time/observation": 0.1,
    "time/inference": 0.3,
    "time/update": 0.4,
}


def test_the_time_left_follows_the_speed_so_far():
    assert left(ROW, ("decisions", 1000)) == "3 min 00 s"
    assert left(ROW, ("decisions", 250 + 250 * 90)) == "1 h 30 min"


def test_a_budget_of_steps_is_shown_as_one():
    assert left(ROW, ("steps", 16_000)) == "3 min 00 s"
    assert "250 decisions        4,000 steps   50%" in line(ROW, ("steps", 8000))


@pytest.mark.parametrize(
    "part", ["25%", "4,000 steps", "success 25.0%", "collision 50.0%", "-1.50", "4,000 decisions/s", "left 3 min 00 s"]
)
def test_a_line_tells_how_it_goes(part):
    assert part in line(ROW, ("decisions", 1000))


@pytest.mark.parametrize("part", ["250 of 1,000", "50.0%", "simulation 20%", "update 40%", "2.50", "3 min 00 s"])
def test_the_panel_tells_how_it_goes(part):
    console = Console(width=140, record=True, file=None, quiet=False, force_terminal=False)
    with console.capture() as capture:
        console.print(panel(ROW, "a run", ("decisions", 1000)))
    assert part in capture.get()


def test_a_log_file_gets_its_title_and_the_last_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(record.importlib.util, "find_spec", lambda name: None)
    with Record(tmp_path, "a run", ("decisions", 250)) as show:
        show(ROW)
    printed = capsys.readouterr().err.splitlines()
    assert printed[0] == "a run"
    assert "100%" in printed[-1]


def test_tensorboard_gets_every_number(tmp_path):
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with Record(tmp_path, "a run", ("decisions", 1000)) as show:
        show(ROW)
    found = events.EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert found.Scalars("charts/success")[0].value == 0.25
    assert set(found.Tags()["scalars"]) == {name for name in ROW if "/" in name}


def test_wandb_that_is_not_installed_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(record.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="pip install wandb"), Record(tmp_path, "a run", 10, wandb=True):
        pass


def test_training_goes_on_when_the_terminal_is_closed(tmp_path, monkeypatch):
    def closed(*_):
        raise OSError(5, "Input/output error")

    with Record(tmp_path, "title", ("decisions", 100)) as show:
        monkeypatch.setattr("sys.stderr", type("Closed", (), {"write": closed, "flush": closed})())
        for update in range(record.PATIENCE):
            show(ROW | {"update": update, "decisions": 100, "collapsed": ["members/00"]})
