"""Homes by one name: a folder of files, a range of seeds, a function of one's own, and what is refused."""

from dataclasses import replace

import pytest

from helpers.rooms import hall
from housemates.homes import sources
from housemates.homes.files import save_homes
from housemates.homes.generate import SPLITS, generate_home
from housemates.homes.sources import HOMES, HomeSource, home_called, load_split, register_homes
from housemates.io import file_word
from housemates.tasks.episodes import episode_count


@pytest.fixture
def table(monkeypatch):
    """The table of sources, as it was before when the test is over."""
    known = dict(HOMES)
    yield HOMES
    HOMES.clear()
    HOMES.update(known)


def test_a_folder_gives_the_homes_of_all_its_files_by_their_names(tmp_path):
    one, two, three = (replace(hall(), name=name) for name in ("one", "two", "three"))
    save_homes(tmp_path / "b.npz", [three])
    save_homes(tmp_path / "a.npz", [one, two])
    found = load_split(f"folder:{tmp_path}")
    assert [home.content_hash for home in found] == [home.content_hash for home in (one, two, three)]


def test_a_damaged_file_of_a_folder_is_not_deleted(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"no homes")
    with pytest.raises(ValueError, match="save them again"):
        load_split(f"folder:{tmp_path}")
    assert (tmp_path / "a.npz").exists()


def test_an_empty_folder_says_how_to_fill_it(tmp_path):
    with pytest.raises(ValueError, match="save_homes"):
        load_split(f"folder:{tmp_path}")


def test_two_homes_of_one_name_are_refused(tmp_path):
    save_homes(tmp_path / "a.npz", [hall(), hall()])
    with pytest.raises(ValueError, match="has hall twice"):
        load_split(f"folder:{tmp_path}")


def test_a_home_without_a_fridge_is_refused(tmp_path):
    home = hall()
    save_homes(tmp_path / "a.npz", [replace(home, receptacles=tuple(r for r in home.receptacles if r.kind != "fridge"))])
    with pytest.raises(ValueError, match="has no fridge"):
        load_split(f"folder:{tmp_path}")


def test_a_range_of_seeds_is_one_generated_home_for_each(tmp_path, monkeypatch):
    monkeypatch.setenv("HOUSEMATES_CACHE", str(tmp_path))
    found = load_split("seeds:61-62")
    assert [home.name for home in found] == ["seeds/61", "seeds/62"]
    assert found[0].receptacles == generate_home("train", 1, 61).receptacles
    monkeypatch.setattr(sources, "make_homes", lambda *_: pytest.fail("made again"))
    assert [home.content_hash for home in load_split("seeds:61-62")] == [home.content_hash for home in found]


@pytest.mark.parametrize("text", ["seeds:5-4", "seeds:a-b", "seeds:0-1000", "seeds:-1", "seeds:1-2-3"])
def test_what_is_no_range_of_seeds_is_refused(text):
    with pytest.raises(ValueError, match="1000 seeds"):
        load_split(text)


@pytest.mark.parametrize("text", ["folder", "folder:", "seeds", "dev:1", "replicacad:x"])
def test_a_source_says_what_follows_its_colon(text):
    with pytest.raises(ValueError, match=f"no split '{text}' - write {text.partition(':')[0]}"):
        load_split(text)


def test_homes_of_ones_own_have_a_name_everywhere(table):
    register_homes("halls", lambda text, progress: [replace(hall(), name=f"hall {k}") for k in range(2)], episodes=7)
    assert [home.name for home in load_split("halls")] == ["hall 0", "hall 1"]
    assert episode_count("halls") == 7
    assert home_called("hall 1", "halls").name == "hall 1"


def test_homes_of_ones_own_get_what_follows_the_colon(table):
    register_homes("halls", lambda text, progress: [replace(hall(), name=f"hall {text}")], takes="NAME")
    assert load_split("halls:red")[0].name == "hall red"


def test_homes_of_the_package_cannot_be_replaced(table):
    with pytest.raises(ValueError, match="give yours another name"):
        register_homes("eval", lambda text, progress: [hall()])


def test_a_source_without_homes_is_refused(table):
    register_homes("nothing", lambda text, progress: [])
    with pytest.raises(ValueError, match="gives no homes"):
        load_split("nothing")


def test_a_module_that_only_a_file_names_is_not_imported(tmp_path, monkeypatch):
    (tmp_path / "bad_homes.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="no split 'bad_homes'"):
        load_split("bad_homes:FLATS")


def test_a_source_can_be_named_by_its_module(table, tmp_path, monkeypatch):
    (tmp_path / "my_flats.py").write_text(
        "from housemates.homes.sources import HomeSource\nFLATS = HomeSource('flats', lambda text, progress: [])\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOUSEMATES_USE", "")
    assert sources.resolve_homes("my_flats:FLATS") == "flats"
    assert isinstance(HOMES["flats"], HomeSource)


def test_every_split_is_a_source():
    assert set(SPLITS) <= set(HOMES)


@pytest.mark.parametrize(
    ("split", "slug"),
    [("eval", "eval"), ("seeds:0-9", "seeds-0-9"), ("folder:../my homes/a", "folder-my-homes-a")],
)
def test_names_of_files_have_no_slashes_or_colons(split, slug):
    assert file_word(split) == slug


def test_replicacad_is_found_in_the_usual_places(replica_cad, monkeypatch):
    from housemates.homes.replicacad import splits

    monkeypatch.setenv("HOUSEMATES_DATA", str(replica_cad.parent))
    monkeypatch.setattr(splits, "replicacad_scenes", lambda folder: ["v3_sc0_staging_00", "v3_sc1_staging_07"])
    assert [home.name for home in load_split("replicacad")] == ["v3_sc0_staging_00", "v3_sc1_staging_07"]


def test_a_home_by_seed_is_found_without_its_range(tmp_path, monkeypatch):
    monkeypatch.setenv("HOUSEMATES_CACHE", str(tmp_path))
    monkeypatch.setattr(sources, "make_homes", lambda jobs, progress: [replace(hall(), name=name) for name, *_ in jobs])
    assert home_called("seeds/7", "seeds:0-999").name == "seeds/7"
