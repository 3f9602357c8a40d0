"""Episodes as files: whole or absent, memory-mapped, refused for other homes."""

import ast
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from helpers.rooms import hall as make_hall
from housemates.homes.home import Home
from housemates.tasks import episodes as sets
from housemates.tasks.files import Episodes, read_episodes, save_episodes
from housemates.tasks.generate import generate_episodes


@pytest.fixture(scope="module")
def made(hall: Home) -> Episodes:
    return generate_episodes("set_table", [hall], 6, seed=1, split="eval", clutter=2, spawns=True)


@pytest.fixture
def folder(made: Episodes, tmp_path: Path) -> Path:
    save_episodes(tmp_path / "set", made)
    return tmp_path / "set"


def test_what_is_read_is_what_was_written(made: Episodes, folder: Path, hall: Home):
    back = read_episodes(folder, [hall]).arrays()
    assert all(np.array_equal(back[name], array, equal_nan=True) for name, array in made.arrays().items())


def test_the_header_comes_back(made: Episodes, folder: Path, hall: Home):
    back = read_episodes(folder, [hall])
    assert (back.task, back.split, back.seed, back.homes) == (made.task, made.split, made.seed, made.homes)


def test_arrays_are_memory_mapped(folder: Path, hall: Home):
    assert all(isinstance(array, np.memmap) for array in read_episodes(folder, [hall]).arrays().values())


def test_writing_leaves_only_the_folder(folder: Path):
    assert [p.name for p in folder.parent.iterdir()] == ["set"]


def test_writing_again_replaces(made: Episodes, folder: Path, hall: Home):
    save_episodes(folder, made.take([4, 2]))
    assert read_episodes(folder, [hall]).id.tolist() == [4, 2]


def test_a_failed_write_leaves_nothing(made: Episodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(*_args: object, **_kwargs: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(np, "save", fail)
    with pytest.raises(OSError, match="disk full"):
        save_episodes(tmp_path / "set", made)
    assert list(tmp_path.iterdir()) == []


def test_other_homes_are_refused(folder: Path):
    with pytest.raises(ValueError, match=r"was made for hall \(\w+\), not for other"):
        read_episodes(folder, [make_hall("other")])


def test_another_number_of_homes_is_refused(folder: Path, hall: Home):
    with pytest.raises(ValueError, match=r"1 homes.*2"):
        read_episodes(folder, [hall, hall])


def test_a_missing_folder_names_the_remedy(tmp_path: Path, hall: Home):
    with pytest.raises(FileNotFoundError, match="housemates episodes"):
        read_episodes(tmp_path / "none", [hall])


def test_another_format_is_refused(folder: Path, hall: Home):
    header = json.loads((folder / "episodes.json").read_text())
    (folder / "episodes.json").write_text(json.dumps(header | {"format": 99}))
    with pytest.raises(ValueError, match="has format 99"):
        read_episodes(folder, [hall])


@pytest.mark.parametrize("name", ["start.npy", "episodes.json"])
def test_a_truncated_file_is_refused(folder: Path, hall: Home, name: str):
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"set is damaged .* delete it"):
        read_episodes(folder, [hall])


def test_an_array_of_another_shape_is_refused(folder: Path, hall: Home):
    np.save(folder / "yaw.npy", np.zeros((2, 2), np.float32))
    with pytest.raises(ValueError, match=r"damaged.*yaw\.npy"):
        read_episodes(folder, [hall])


def test_an_episode_can_be_read(made: Episodes):
    shown = made.episode(3)
    assert (shown.id, shown.home, shown.objects, len(shown.clutter)) == (3, "hall", ("024_bowl", "013_apple"), 2)


@pytest.fixture
def cached(hall: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sets of the hall in an own cache folder, without navigation; the list counts how often episodes were made."""
    count: list[int] = []

    def counted(*args, **kwargs):
        count.append(1)
        return generate_episodes(*args, **kwargs)

    monkeypatch.setenv("HOUSEMATES_CACHE", str(tmp_path))
    monkeypatch.setattr(sets, "generate_episodes", counted)
    monkeypatch.setattr(sets, "with_approach", lambda episodes, homes: episodes)
    return count


def test_a_set_is_made_once_and_then_read(hall: Home, cached: list[int]):
    for _ in range(2):
        sets.load_episodes("set_table", "dev", homes=[hall])
    assert len(cached) == 1


@pytest.mark.parametrize("name", ["goal.npy", "episodes.json"])
def test_a_damaged_set_is_made_again(hall: Home, cached: list[int], tmp_path: Path, name: str):
    sets.load_episodes("set_table", "dev", homes=[hall])
    next(tmp_path.glob(f"episodes/*/{name}")).unlink()
    assert len(sets.load_episodes("set_table", "dev", homes=[hall])) == 100


def test_other_homes_get_a_set_of_their_own(hall: Home, cached: list[int]):
    for home in (hall, make_hall("other")):
        sets.load_episodes("set_table", "dev", homes=[home])
    assert len(cached) == 2


@pytest.mark.parametrize(("split", "stored"), [("train", False), ("dev", True), ("eval", True), ("test", True)])
def test_robot_starts_are_stored_with_all_but_training_sets(
    hall: Home, cached: list[int], monkeypatch: pytest.MonkeyPatch, split: str, stored: bool
):
    monkeypatch.setitem(sets.SIZES, split, 2)
    assert (sets.load_episodes("tidy_house", split, homes=[hall]).spawn is not None) is stored


def test_an_unknown_split_is_answered_with_the_choices(hall: Home):
    with pytest.raises(ValueError, match=r"'valid'.*'varied'"):
        sets.load_episodes("tidy_house", "valid", homes=[hall])


def test_a_removed_array_is_refused(folder: Path, hall: Home):
    shutil.copy(folder / "id.npy", folder / "aside")
    (folder / "id.npy").unlink()
    with pytest.raises(ValueError, match=r"damaged .*id\.npy"):
        read_episodes(folder, [hall])


@pytest.mark.parametrize("source", ["tasks/place.py", "tasks/generate.py", "homes/navigation.py"])
def test_a_cached_set_depends_on_all_that_the_code_which_draws_it_imports(source: str):
    package = Path(sets.__file__).parents[1]
    known = {path for pattern in sets.SOURCES for path in package.glob(pattern)}
    tree = ast.parse((package / source).read_text())
    names = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    used = {package.parent / (name.replace(".", "/") + ".py") for name in names if name.startswith("housemates.")}
    harmless = {package / "io.py", package / "parallel.py"}
    assert {path for path in used if path.is_file()} - harmless <= known


@pytest.mark.parametrize("name", ["goal.npy", "home.npy", "episodes.json"])
def test_one_flipped_bit_is_refused(folder: Path, hall: Home, name: str):
    content = bytearray((folder / name).read_bytes())
    content[-3] ^= 2
    (folder / name).write_bytes(content)
    with pytest.raises(ValueError, match=r"set is damaged .* delete it"):
        read_episodes(folder, [hall])


def test_a_damaged_set_is_made_again_with_a_word(hall: Home, cached: list[int], tmp_path: Path):
    made = sets.load_episodes("set_table", "dev", homes=[hall]).arrays()
    goals = next(tmp_path.glob("episodes/*/goal.npy"))
    goals.write_bytes(goals.read_bytes()[:-1] + b"!")
    with pytest.warns(UserWarning, match=r"damaged.*goal\.npy"):
        again = sets.load_episodes("set_table", "dev", homes=[hall]).arrays()
    assert len(cached) == 2
    assert all(np.array_equal(again[name], array, equal_nan=True) for name, array in made.items())


def test_the_set_of_another_task_is_not_taken(hall: Home, cached: list[int], tmp_path: Path):
    sets.load_episodes("set_table", "dev", homes=[hall])
    wrong = next(tmp_path.glob("episodes/set_table-*"))
    sets.load_episodes("tidy_house", "dev", homes=[hall])
    right = next(tmp_path.glob("episodes/tidy_house-*"))
    shutil.rmtree(right)
    wrong.rename(right)
    with pytest.warns(UserWarning, match="set_table"):
        assert sets.load_episodes("tidy_house", "dev", homes=[hall]).task == "tidy_house"


def test_a_process_whose_folder_is_moved_aside_has_its_episodes(
    hall: Home, cached: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def save_and_lose(folder: Path, episodes: Episodes) -> None:
        save_episodes(folder, episodes)
        folder.rename(folder.with_suffix(".old"))  # as another process does that writes the same

    monkeypatch.setattr(sets, "save_episodes", save_and_lose)
    assert len(sets.load_episodes("set_table", "dev", homes=[hall])) == 100


def test_a_whole_set_that_appears_meanwhile_is_left_where_it_is(
    hall: Home, cached: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def slow(episodes: Episodes, homes: list[Home]) -> Episodes:
        monkeypatch.setattr(sets, "with_approach", lambda episodes, homes: episodes)
        sets.load_episodes("set_table", "dev", homes=homes)
        monkeypatch.setattr(sets, "save_episodes", None)
        return episodes

    monkeypatch.setattr(sets, "with_approach", slow)
    assert len(sets.load_episodes("set_table", "dev", homes=[hall])) == 100
