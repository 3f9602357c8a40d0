"""Finding and fetching datasets, without a network."""

import pytest

from housemates.homes.replicacad import download as assets
from housemates.homes.replicacad.download import AssetError, download_replicacad, find_replicacad


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """A working folder without data."""
    monkeypatch.chdir(tmp_path)
    for name in ("HOUSEMATES_DATA", "HOUSEMATES_SHARED"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOUSEMATES_CACHE", str(tmp_path / "cache"))
    return tmp_path


def make_dataset(folder):
    folder.mkdir(parents=True)
    (folder / "replicaCAD.scene_dataset_config.json").write_text("{}")
    return folder


def pretend_hub(monkeypatch, fetch):
    """Let snapshot_download be `fetch(local_dir, revision)`; returns the list of its calls."""
    calls = []

    def snapshot_download(**arguments):
        calls.append(arguments)
        fetch(arguments["local_dir"], arguments["revision"])

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    return calls


def whole(folder, _revision):
    (folder / "replicaCAD.scene_dataset_config.json").write_text("{}")
    (folder / ".cache").mkdir()


def test_without_replicacad_the_error_says_how_to_get_it(nowhere):
    with pytest.raises(AssetError) as caught:
        find_replicacad()
    assert str(caught.value) == "No ReplicaCAD at data/replica_cad - run: housemates data replicacad"


def test_the_data_folder_beside_the_work_is_found(nowhere):
    make_dataset(nowhere / "data" / "replica_cad")
    assert find_replicacad().resolve() == nowhere / "data" / "replica_cad"


def test_the_cache_is_the_last_place_to_look(nowhere):
    made = make_dataset(nowhere / "cache" / "data" / "replica_cad")
    assert find_replicacad() == made


def test_the_environment_variable_goes_first(nowhere, monkeypatch):
    make_dataset(nowhere / "data" / "replica_cad")
    made = make_dataset(nowhere / "elsewhere" / "replica_cad")
    monkeypatch.setenv("HOUSEMATES_DATA", str(nowhere / "elsewhere"))
    assert find_replicacad() == made


def test_the_environment_variable_may_name_the_dataset_itself(nowhere, monkeypatch):
    made = make_dataset(nowhere / "mine")
    monkeypatch.setenv("HOUSEMATES_DATA", str(made))
    assert find_replicacad() == made


def test_a_download_asks_for_the_pinned_commit(nowhere, monkeypatch):
    calls = pretend_hub(monkeypatch, whole)
    download_replicacad(nowhere / "data" / "replica_cad")
    assert (calls[0]["repo_id"], calls[0]["repo_type"], calls[0]["revision"]) == (
        "ai-habitat/ReplicaCAD_dataset",
        "dataset",
        assets.REPLICACAD_REVISION,
    )


def test_a_downloaded_dataset_is_found_afterwards(nowhere, monkeypatch):
    pretend_hub(monkeypatch, whole)
    fetched = download_replicacad()
    assert find_replicacad() == fetched


def test_only_the_dataset_is_left_after_a_download(nowhere, monkeypatch):
    pretend_hub(monkeypatch, whole)
    target = download_replicacad(nowhere / "data" / "replica_cad")
    assert [p.name for p in target.parent.iterdir()] == ["replica_cad"]
    assert [p.name for p in target.iterdir()] == ["replicaCAD.scene_dataset_config.json"]


def test_the_licence_and_the_size_are_printed(nowhere, monkeypatch, capsys):
    pretend_hub(monkeypatch, whole)
    download_replicacad(nowhere / "replica_cad")
    said = capsys.readouterr().err
    assert "CC BY 4.0" in said
    assert " MB)" in said


def test_a_dataset_that_is_there_is_not_fetched_again(nowhere, monkeypatch):
    calls = pretend_hub(monkeypatch, whole)
    download_replicacad(make_dataset(nowhere / "replica_cad"))
    assert calls == []


def test_somebody_elses_folder_is_not_overwritten(nowhere, monkeypatch):
    pretend_hub(monkeypatch, whole)
    (nowhere / "replica_cad").mkdir()
    (nowhere / "replica_cad" / "thesis.tex").write_text("mine")
    with pytest.raises(AssetError, match="is not ReplicaCAD"):
        download_replicacad(nowhere / "replica_cad")


def test_a_download_that_breaks_off_leaves_nothing_behind(nowhere, monkeypatch):
    def breaks(folder, _revision):
        (folder / "half").write_text("")
        raise ConnectionError("no route\nto host")

    pretend_hub(monkeypatch, breaks)
    with pytest.raises(AssetError, match=r"no route to host\) - where there is a network run: git lfs install"):
        download_replicacad(nowhere / "data" / "replica_cad")
    assert list((nowhere / "data").iterdir()) == []


def test_offline_the_hub_is_not_reached_and_the_error_says_what_to_do(nowhere, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(AssetError, match=r"Cannot fetch ReplicaCAD .* then copy that folder to") as caught:
        download_replicacad(nowhere / "data" / "replica_cad", revision="0" * 40)
    assert "\n" not in str(caught.value)


def test_a_revision_without_the_dataset_is_refused(nowhere, monkeypatch):
    pretend_hub(monkeypatch, lambda folder, revision: None)
    with pytest.raises(AssetError, match="is not a scene dataset"):
        download_replicacad(nowhere / "data" / "replica_cad", revision="old")
