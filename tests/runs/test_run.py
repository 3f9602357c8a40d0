"""Runs as folders: what config.json says comes back, and what does not fit is told in one line."""

import json
import os
import shutil
import signal
from dataclasses import replace

import pytest

from helpers.batches import episodes, home
from helpers.learners import SHORT, TINY, trainer
from housemates.methods.self_play import PopulationSettings
from housemates.run_folder import RunFolder
from housemates.runs.run import Run, Versions, check_versions, create, extend, read, stopping, work
from housemates.training.checkpoint import held

RUN = Run("gt_coord", "tidy_house", "smoke", "state", "dev", 2, 1, 1, "cpu", TINY, SHORT)


def hall(_: Run):
    return [home()], episodes()


def edit(folder, change) -> None:
    path = folder / "config.json"
    values = json.loads(path.read_text())
    change(values)
    values.pop("sha256")  # on purpose
    path.write_text(json.dumps(values))


def test_a_run_comes_back_from_its_folder(tmp_path):
    create(tmp_path / "run", RUN)
    assert read(tmp_path / "run") == RUN


def test_a_folder_that_holds_a_run_is_not_written_over(tmp_path):
    create(tmp_path, RUN)
    with pytest.raises(ValueError, match="continue it with --resume"):
        create(tmp_path, replace(RUN, task="set_table"))
    assert read(tmp_path).task == "tidy_house"


def test_a_folder_without_a_run_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no config\.json"):
        read(tmp_path)


def test_an_unknown_key_is_answered_with_the_nearest_one(tmp_path):
    create(tmp_path, RUN)
    edit(tmp_path, lambda values: values["training"].update(num_env=3))
    with pytest.raises(ValueError, match=r"'num_env'.*'num_envs'"):
        read(tmp_path)


def test_a_truncated_config_is_told(tmp_path):
    create(tmp_path, RUN)
    (tmp_path / "config.json").write_text((tmp_path / "config.json").read_text()[:100])
    with pytest.raises(ValueError, match=r"config\.json is damaged"):
        read(tmp_path)


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="choose another --out"):
        create(tmp_path / "file" / "run", RUN)


def test_an_edited_config_is_refused_on_resume(tmp_path):
    create(tmp_path, RUN)
    assert not work(tmp_path, hall, hours=1e-9, quiet=True)
    edit(tmp_path, lambda values: values["training"]["ppo"].update(clip=0.3))
    with pytest.raises(ValueError, match="another configuration"):
        work(tmp_path, hall, quiet=True)


def test_a_run_of_two_workers_is_refused_by_one(tmp_path):
    create(tmp_path, replace(RUN, workers=2))
    with pytest.raises(ValueError, match="--workers 2"):
        work(tmp_path, hall, quiet=True)


def test_other_versions_are_refused_on_resume(tmp_path):
    with pytest.raises(ValueError, match=r"trained with torch 0\.1"):
        check_versions(replace(RUN, versions=replace(Versions(), torch="0.1")), tmp_path)


def test_a_paused_run_is_completed(tmp_path):
    create(tmp_path, RUN)
    assert not work(tmp_path, hall, hours=1e-9, quiet=True)
    assert work(tmp_path, hall, quiet=True)
    assert (tmp_path / "stage1" / "members" / "01" / "policy.json").exists()


def test_an_unknown_method_is_answered_with_the_nearest_one(tmp_path):
    with pytest.raises(ValueError, match="'gt_coord'"):
        create(tmp_path / "run", replace(RUN, method="gtcoord"))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["robots", "workers", "threads"])
def test_there_is_at_least_one_of_everything(name):
    with pytest.raises(ValueError, match="at least 1"):
        replace(RUN, **{name: 0})


def test_the_settings_of_a_method_come_back(tmp_path):
    population = replace(RUN, method="pbt", settings=PopulationSettings(members=3), stages=(1, 2))
    create(tmp_path, population)
    assert read(tmp_path).settings.members == 3


def test_a_misspelt_setting_of_a_method_is_told(tmp_path):
    create(tmp_path, replace(RUN, method="pbt", settings=PopulationSettings()))
    edit(tmp_path, lambda values: values["settings"].update(member=3))
    with pytest.raises(ValueError, match="did you mean 'members'"):
        read(tmp_path)


def test_other_settings_of_the_method_are_refused_on_resume(tmp_path):
    training = replace(SHORT, num_envs=8)
    create(tmp_path, replace(RUN, method="pbt", settings=PopulationSettings(members=2), training=training))
    assert not work(tmp_path, hall, hours=1e-9, quiet=True)
    edit(tmp_path, lambda values: values["settings"].update(redraw=3))
    with pytest.raises(ValueError, match="another method or task"):
        work(tmp_path, hall, quiet=True)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"stages": (2,)}, "stage 2 needs partners"),
        ({"stages": (2, 1)}, "a run trains"),
        ({"stages": (1, 2), "population": ("random",)}, "add --stage 2"),
        ({"method": "own"}, "has no first stage"),
        ({"method": "pbt_state"}, "sees predicates, not state"),
        ({"method": "solo"}, "one robot alone"),
        ({"stages": (1, 2), "robots": 1}, "at least two robots"),
    ],
)
def test_runs_that_make_no_sense_are_told(changes, told):
    with pytest.raises(ValueError, match=told):
        replace(RUN, **changes)


def test_holdouts_are_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"script/noop.*held out"):
        create(tmp_path / "run", replace(RUN, method="own", stages=(2,), population=("script/noop",)))
    assert not (tmp_path / "run").exists()


def test_a_finished_population_may_be_given_a_second_stage(tmp_path):
    create(tmp_path, replace(RUN, training=replace(SHORT, decisions=50)))
    work(tmp_path, hall, quiet=True)
    assert RunFolder(tmp_path).complete()
    extend(tmp_path)
    assert not RunFolder(tmp_path).complete()
    assert RunFolder(tmp_path).complete(1)
    work(tmp_path, hall, quiet=True)
    assert RunFolder(tmp_path).complete()


def test_a_copied_population_without_resume_points_is_not_trained_again(tmp_path):
    create(tmp_path, replace(RUN, training=replace(SHORT, decisions=50)))
    work(tmp_path, hall, quiet=True)
    shutil.rmtree(tmp_path / "stage1" / "resume")
    member = tmp_path / "stage1" / "members" / "00" / "policy.safetensors"
    before = member.stat().st_mtime_ns
    extend(tmp_path)
    assert work(tmp_path, hall, quiet=True)
    assert member.stat().st_mtime_ns == before
    assert RunFolder(tmp_path).complete()


@pytest.fixture
def interruptible():
    """As at a terminal; shells start background jobs with the interrupt ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_the_first_interrupt_lets_the_update_end_and_the_second_does_not_wait(tmp_path):
    training = trainer(tmp_path)
    with stopping(training):
        os.kill(os.getpid(), signal.SIGINT)
        assert training.stopping
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("interruptible")
def test_a_closed_terminal_lets_the_update_end_unless_it_is_to_be_ignored(tmp_path):
    training, before = trainer(tmp_path), signal.getsignal(signal.SIGHUP)
    try:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        with stopping(training):
            os.kill(os.getpid(), signal.SIGHUP)
        assert training.stopping
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        with stopping(training):
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_run_that_is_being_trained_is_left_alone(tmp_path):
    create(tmp_path, RUN)
    with held(tmp_path), pytest.raises(ValueError, match=f"is being trained by process {os.getpid()}"):
        work(tmp_path, hall, quiet=True)
    assert not (tmp_path / "stage1").exists()


def test_a_config_that_may_not_be_read_is_not_called_damaged(tmp_path, monkeypatch):
    create(tmp_path, RUN)

    def forbidden(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("pathlib.Path.read_bytes", forbidden)
    with pytest.raises(PermissionError, match=r"config\.json.*Permission denied"):
        read(tmp_path)


def test_a_config_of_another_number_is_refused_and_one_without_checksum_taken_with_a_note(tmp_path):
    create(tmp_path, RUN)
    text = (tmp_path / "config.json").read_text()
    (tmp_path / "config.json").write_text(text.replace('"robots": 2', '"robots": 3'))
    with pytest.raises(ValueError, match=r"config\.json.*damaged"):
        read(tmp_path)
    plain = {key: value for key, value in json.loads(text).items() if key != "sha256"}
    (tmp_path / "config.json").write_text(json.dumps(plain))
    with pytest.warns(UserWarning, match="has no checksum"):
        assert read(tmp_path) == RUN
