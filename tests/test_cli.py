"""The command line: what each command prints, and how errors are told."""

import os
import subprocess
import sys
import tokenize
import tomllib
import zlib
from pathlib import Path

import pyarrow as pa
import pytest

from housemates import __version__
from housemates.cli import homes as cli_homes
from housemates.cli.main import EXTRAS, gathered, main, one_line, remedy
from housemates.envs import loading
from housemates.envs import loading as shown

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = ("info", "prepare", "homes", "episodes", "data", "train", "evaluate", "watch", "speed", "validity")


@pytest.fixture
def nowhere(tmp_path, monkeypatch) -> Path:
    """An empty working folder in which no dataset is found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOUSEMATES_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("HOUSEMATES_SHARED", raising=False)
    return tmp_path


def told(capsys, *arguments: str) -> str:
    """The one line with which a failing command ends; before it there may be progress, where caches are cold."""
    assert main(arguments) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert [line for line in lines if line.startswith("housemates: ") or "Traceback" in line] == lines[-1:]
    return lines[-1]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_the_command(command, capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert f"\n  {command} " in capsys.readouterr().out


def test_no_arguments_means_help(capsys):
    with pytest.raises(SystemExit):
        main([])
    assert "usage: housemates" in capsys.readouterr().out


def test_the_version_is_told(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"housemates {__version__}\n"


def test_info_names_the_version_of_torch_without_importing_it():
    code = "import sys; from housemates.cli.main import main; main(['info']); sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0
    assert any(line.startswith("torch ") and "missing" not in line for line in done.stdout.splitlines())


def test_info_says_how_to_get_replicacad(nowhere, capsys):
    assert main(["info"]) == 0
    assert "run: housemates data replicacad" in capsys.readouterr().out


def test_info_knows_every_extra():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(EXTRAS) == set(extras) - {"all", "dev", "docs"}


def test_the_module_runs_as_the_command():
    done = subprocess.run([sys.executable, "-m", "housemates", "info"], capture_output=True, text=True)
    assert done.stdout.startswith("housemates ")


def test_an_unknown_split_is_one_line(capsys):
    assert told(capsys, "homes", "show", "attic/00").startswith("housemates: ")


def test_an_unknown_home_of_a_split_names_the_ones_there_are(capsys):
    assert "eval/00 to eval/19" in told(capsys, "homes", "show", "eval/99")


def test_a_split_instead_of_a_home_names_an_example(capsys):
    assert "such as eval/00" in told(capsys, "homes", "show", "eval")


def test_a_scene_without_replicacad_names_the_command_that_fetches_it(nowhere, capsys):
    assert "run: housemates data replicacad" in told(capsys, "homes", "show", "v3_sc0_staging_00")


@pytest.mark.parametrize("folder", ["data", "data/replica_cad"])
def test_an_unknown_home_is_answered_with_the_homes_there_are(folder, nowhere, replica_cad, capsys):
    (nowhere / folder).mkdir(parents=True)
    if folder != "data":
        (nowhere / folder).rmdir()
        (nowhere / folder).symlink_to(replica_cad)
    said = told(capsys, "homes", "show", "foo")
    assert said.startswith("housemates: no home 'foo' - there are train/00 to train/59, dev/00 to dev/11, eval/00 to eval/19")


ODD = (zlib.error("Error -3"), tokenize.TokenError("EOF", (1, 0)), NotImplementedError("zip method"), AttributeError("no x"),
       TypeError("None"), IndexError("7"), RecursionError("too deep"), MemoryError(), pa.ArrowTypeError("odd"),
       ModuleNotFoundError("No module named 'gone'", name="gone"), RuntimeError("bad\nthings"), AssertionError())  # fmt: skip


@pytest.mark.parametrize("error", ODD, ids=lambda error: type(error).__name__)
def test_an_error_that_nobody_foresaw_is_one_line_too(error, capsys, monkeypatch):
    monkeypatch.setattr(cli_homes, "load_homes", thrower(error))
    said = told(capsys, "homes", "stats")
    assert said.startswith(f"housemates: unexpected error, {type(error).__name__}")
    assert said.endswith("set HOUSEMATES_DEBUG=1 to see where it comes from")


@pytest.mark.parametrize("error", ODD, ids=lambda error: type(error).__name__)
def test_debug_shows_errors_that_nobody_foresaw(error, monkeypatch):
    monkeypatch.setattr(cli_homes, "load_homes", thrower(error))
    monkeypatch.setenv("HOUSEMATES_DEBUG", "1")
    with pytest.raises(type(error)):
        main(["homes", "stats"])


def thrower(error: Exception):
    """A function that ends with an error."""

    def throw(*_: object):
        raise error

    return throw


def test_json_nested_too_deep_is_one_line(tmp_path, capsys):
    (tmp_path / "config.json").write_text("[" * 100_000)
    assert "config.json is damaged (maximum recursion depth exceeded" in told(capsys, "evaluate", str(tmp_path))


def test_a_terminal_with_ascii_alone_gets_plain_signs():
    code = "import sys; from housemates.cli import main as cli\ncli.info = lambda: print('5 \\xb1 1 \\u2713 \\udcff')"
    code += "\nsys.exit(cli.main(['info']))"
    surroundings = os.environ | {"PYTHONUTF8": "0", "LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=surroundings)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"5 +- 1 ? ?\n", b"")


def test_a_deleted_folder_is_one_line(tmp_path):
    code = "import os, sys; from housemates.cli.main import main; os.rmdir(os.getcwd()); sys.exit(main(['info']))"
    (tmp_path / "gone").mkdir()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path / "gone")
    assert done.returncode == 2
    assert done.stderr == "housemates: the present folder has been deleted - change to another one\n"


def test_output_that_nobody_reads_ends_quietly():
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-m", "housemates", "info"], stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


def test_debug_shows_where_an_error_comes_from(monkeypatch):
    monkeypatch.setenv("HOUSEMATES_DEBUG", "1")
    with pytest.raises(ValueError, match="split"):
        main(["homes", "show", "eval"])


def test_a_key_error_is_told_without_quotes():
    assert one_line(KeyError("no such\n  chair")) == "no such chair"


def test_an_error_without_words_is_told_by_its_name():
    assert one_line(ValueError()) == "ValueError"


def test_show_draws_a_home_with_an_episode(tmp_path, capsys):
    out = tmp_path / "plan.png"
    assert main(["homes", "show", "eval/03", "--task", "set_table", "--episode", "1", "--out", str(out)]) == 0
    assert capsys.readouterr().out.startswith("eval/03: ")
    assert out.stat().st_size > 20_000


def test_an_episode_a_home_does_not_have_is_refused(capsys):
    assert "choose --episode from 0 to 4" in told(capsys, "homes", "show", "eval/03", "--task", "set_table", "--episode", "5")


def test_show_draws_a_real_scene_with_an_episode_made_for_it(replica_cad, tmp_path):
    out = tmp_path / "plan.png"
    arguments = ["v3_sc2_staging_04", "--task", "prepare_groceries", "--folder", str(replica_cad), "--out", str(out)]
    assert main(["homes", "show", *arguments]) == 0
    assert out.stat().st_size > 20_000


def test_stats_stand_beside_those_of_replicacad(capsys):
    assert main(["homes", "stats", "--split", "eval"]) == 0
    printed = capsys.readouterr().out
    assert "ReplicaCAD" in printed
    assert "27.90" in printed


def test_a_sheet_of_more_homes_than_there_are_is_refused(capsys):
    assert "from 1 to 20" in told(capsys, "homes", "sheet", "--split", "eval", "--count", "21")


def test_episodes_are_checked_rule_by_rule(capsys):
    assert main(["episodes", "--task", "tidy_house", "--split", "eval"]) == 0
    assert "all hold" in capsys.readouterr().out


def test_a_broken_episode_is_an_error(capsys, monkeypatch):
    from housemates.tasks import validate

    monkeypatch.setattr(validate, "validate", lambda episodes, homes: ["episode 7 in eval/07: obj0 floats"])
    assert "episode 7 in eval/07: obj0 floats" in told(capsys, "episodes", "--task", "tidy_house", "--split", "eval")


def test_speed_of_no_time_is_refused(capsys):
    assert "--seconds must be positive" in told(capsys, "speed", "--seconds", "0")


def test_a_floor_plan_without_matplotlib_names_the_extra(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = told(capsys, "homes", "show", "dev/00", "--out", str(tmp_path / "plan.png"))
    assert "run: pip install 'housemates[report]'" in said


def test_a_missing_module_of_an_extra_is_told_with_the_extra():
    missing = ModuleNotFoundError("No module named 'PIL'", name="PIL.Image")
    assert remedy(missing) == "this needs pillow, which is not installed - run: pip install 'housemates[video]'"


def test_a_missing_module_of_no_extra_is_a_fault_of_the_code():
    assert remedy(ModuleNotFoundError("No module named 'gone'", name="gone")) is None


def test_a_missing_module_of_an_extra_ends_a_command_in_one_line(monkeypatch, capsys):
    def lacking(split):
        raise ModuleNotFoundError("No module named 'huggingface_hub'", name="huggingface_hub")

    monkeypatch.setattr(cli_homes, "load_homes", lacking)
    assert "pip install 'housemates[assets]'" in told(capsys, "homes", "stats")


def test_figures_of_speed_need_a_place_before_they_are_measured(tmp_path, capsys):
    assert "is a folder - name a file in it" in told(capsys, "speed", "--json", str(tmp_path))


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("train --seed 1", "train --seed 1"),
        ("train --change a=1 b=2 --seed 1", "train --seed 1 --change a=1 b=2"),
        ("train --change a=1 --seed 1 --change b=2 --quiet", "train --seed 1 --quiet --change a=1 b=2"),
        ("train --change=a=1 --change b=2", "train --change a=1 b=2"),
        ("train --change", "train --change"),
    ],
)
def test_changes_given_one_by_one_all_count(words, meant):
    assert gathered(words.split()) == meant.split()


@pytest.mark.parametrize(("patience", "lines"), [(0.0, 4), (60.0, 0)])
def test_only_longer_work_leaves_lines_in_a_log(patience, lines, capsys, monkeypatch):
    monkeypatch.setattr(shown, "PATIENCE", patience)
    with shown.progress("ways") as report:
        for done in range(1, 9):
            report(done, 8)
    said = capsys.readouterr().err.splitlines()
    assert [line.partition(",")[0] for line in said] == ["ways: 2 of 8", "ways: 4 of 8", "ways: 6 of 8", "ways: 8 of 8"][:lines]


def test_lines_in_a_log_say_how_long_it_will_take(capsys, monkeypatch):
    clock = iter([0.0, 0.0, 30.0, 60.0, 100.0, 200.0, 400.0])
    monkeypatch.setattr(shown.time, "monotonic", lambda: next(clock))
    with shown.progress("games") as report:
        for done in (0, 10, 20, 30, 50, 100):
            report(done, 100)
    assert capsys.readouterr().err.splitlines() == [
        "games: 30 of 100, 3 min 53 s left",
        "games: 50 of 100, 3 min 20 s left",
        "games: 100 of 100",
    ]


def test_progress_can_be_silent(capsys, monkeypatch):
    monkeypatch.setattr(shown, "PATIENCE", 0.0)
    with shown.progress("ways", show=False) as report:
        report(1, 1)
    assert capsys.readouterr().err == ""


def test_a_cache_that_cannot_be_written_is_found_with_the_first_home(tmp_path, capsys, monkeypatch):
    made = []

    def make(split, progress):
        for done in range(1, 13):
            made.append(done)
            progress(done, 12)

    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HOUSEMATES_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(loading, "load_split", make)
    said = told(capsys, "homes", "stats", "--split", "dev")
    assert said.startswith("housemates: the cache cannot be written, ")
    assert "HOUSEMATES_CACHE" in said
    assert made == [1]


UNWRITABLE = (
    "homes show dev/00 --out BAD/plan.png",
    "homes sheet --split dev --out BAD/homes.png",
    "prepare --out BAD",
    "evaluate --agents script/solo --task tidy_house --out BAD/rows.parquet",
    "export --agents script/solo --partners script/noop --task tidy_house --out BAD/dataset",
    "report runs/none --out BAD",
    "diversity script/solo script/noop --out BAD",
    "watch --scripted --video BAD/film.gif",
    "watch --scripted --record BAD/game.npz",
    "holdouts train --task tidy_house --preset smoke --out BAD",
    "holdouts best-responses script/noop --task tidy_house --preset smoke --out BAD",
    "benchmark --grid smoke --out BAD",
    "train --preset smoke --out BAD/run",
    "validity --json BAD/rows.json",
    "speed --json BAD/rows.json",
    "games export --out BAD/games.zip",
)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no /proc here")
@pytest.mark.parametrize("words", UNWRITABLE)
def test_a_place_that_cannot_be_written_is_found_before_the_work(words, nowhere, capsys, monkeypatch):
    """/proc takes no files although it says that root may write there."""
    monkeypatch.setattr(loading, "load_homes", thrower(AssertionError("the work has begun")))
    said = told(capsys, *words.replace("BAD", "/proc/new").split())
    assert "/proc/new" in said
    assert "choose another" in said
    assert list(nowhere.iterdir()) == []
