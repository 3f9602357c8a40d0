"""The layout of a run folder."""

import pytest

from helpers.small_runs import small_run
from housemates.run_folder import (
    RunFolder,
    is_held_out,
    is_run,
    latest_place,
    member_place,
    policies_below,
    run_around,
    runs_below,
    runs_in,
)


@pytest.fixture
def run(tmp_path):
    """A complete run of two stages."""
    return small_run(tmp_path / "runs" / "sp-0", "sp")


def test_a_run_is_found_from_any_of_its_policies(run):
    files = RunFolder(run)
    assert {run_around(place) for place in (run, files.agent, files.member(1))} == {run.resolve()}
    assert run_around(run.parent) is None


def test_runs_are_found_at_any_depth_or_right_inside_a_folder(run):
    assert runs_below(run.parent.parent) == runs_in(run.parent) == runs_below(run) == [run]
    assert runs_in(run.parent.parent) == []


def test_the_policies_of_a_run_are_its_members_and_its_agent(run):
    files = RunFolder(run)
    assert set(policies_below(run)) == {*files.members(), files.agent}
    assert files.members() == [files.member(0), files.member(1)]


def test_every_evaluation_has_a_file_of_its_own_and_all_are_found(run):
    files = RunFolder(run)
    played = {files.rows(split, greedy) for split in ("eval", "dev") for greedy in (False, True)}
    files.evaluation.mkdir()
    for path in played:
        path.touch()
    assert len(played) == 4
    assert set(files.all_rows()) == played


def test_everything_below_a_mark_is_held_out(run):
    assert not is_held_out(RunFolder(run).agent)
    RunFolder(run.parent).mark.write_text("{}")
    assert is_held_out(RunFolder(run).agent)


def test_a_run_is_complete_when_its_population_is_listed_and_its_agent_has_spent_the_budget(run, tmp_path):
    assert RunFolder(run).complete()
    RunFolder(run).population.unlink()
    assert RunFolder(run).complete(2)
    assert not RunFolder(run).complete()
    young = RunFolder(small_run(tmp_path / "young", "sp", done=999))
    assert not young.complete(2)


def test_a_folder_without_a_config_is_no_run(tmp_path):
    assert not is_run(tmp_path)
    with pytest.raises(FileNotFoundError, match="give the folder of a run"):
        RunFolder(tmp_path).complete()


def test_earlier_versions_of_a_member_lie_inside_its_folder():
    place = member_place(3)
    assert latest_place(f"{place}/start") == latest_place(f"{place}/middle") == latest_place(place) == place
