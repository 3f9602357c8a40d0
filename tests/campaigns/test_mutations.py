"""Files of every kind, damaged: the reader refuses in one line, makes a cache again, or reads what was written. Nothing else.

`pytest -m slow tests/campaigns/test_mutations.py -s` prints the counts of docs/concepts/robustness.md; their number is that of
the environment variable HOUSEMATES_MUTATIONS.
"""

import dataclasses
import hashlib
import json
import os
import random
import shutil
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from helpers import batches
from helpers.damage import damage
from helpers.evaluation_rows import row
from helpers.exports import export
from helpers.learners import trainer
from helpers.rooms import hall
from helpers.small_runs import small_run
from housemates import datasets
from housemates.agents.agent import Agent, agent, population, read_partners, resolve, scripted
from housemates.agents.sealed import seal
from housemates.agents.sealed_server import SealedServer
from housemates.config import to_json
from housemates.evaluation.crossplay import pair_up
from housemates.evaluation.holdouts import mark, read_mark
from housemates.evaluation.leaderboard import read_entry, submit
from housemates.evaluation.resume import Kept
from housemates.evaluation.rows import make_rows, read_rows, write_rows
from housemates.grid import folder as grids
from housemates.homes import navigation, splits
from housemates.homes.generate import home_name
from housemates.hub.share import pull, push
from housemates.io import read_json, write_json
from housemates.lookahead.mind import OUTPUTS, TRACKED, Mind, load_mind, save_mind
from housemates.policies.checkpoint import load_policy, read_description
from housemates.recordings.recording import load_recording, record_batch, save_recording
from housemates.run_folder import RunFolder
from housemates.runs.run import read as read_run
from housemates.tasks import episodes as sets
from housemates.training import checkpoint as resume
from housemates.training.distributed import Group
from housemates.web.games import find_games, game_rows, save_game

WHOLLY = int(os.environ.get("HOUSEMATES_MUTATIONS", "200"))
QUICKLY = 12


class Kind(NamedTuple):
    """One kind of file."""

    make: Callable[[Path], Any]
    """Writes it into an empty folder, which is also the cache folder."""
    read: Callable[[Path], Any]
    """Everything that its reader gives back."""
    files: str
    """Which files are damaged; the rest of the folder may be a cache that has nothing to do with them."""


def fingerprint(found: Any) -> str:
    """The same for the same values, down to the types and bits of arrays."""
    digest = hashlib.sha256()

    def add(value: Any) -> None:
        digest.update(type(value).__name__.replace("memmap", "ndarray").encode())
        if isinstance(value, np.ndarray):
            digest.update(f"{value.dtype} {value.shape}".encode())
            digest.update(repr(value.tolist()).encode() if value.dtype.hasobject else np.ascontiguousarray(value).tobytes())
        elif isinstance(value, dict):
            for key in sorted(value):
                add(key)
                add(value[key])
        elif isinstance(value, list | tuple):
            for item in value:
                add(item)
        else:
            digest.update(repr(value).encode())

    add(found)
    return digest.hexdigest()


def homes() -> list:
    return [dataclasses.replace(hall(), name=home_name("dev", index)) for index in range(2)]


def read_navigation(_: Path) -> Any:
    navigation._known.clear()
    found = [navigation.navigation(home) for home in homes()]
    return [(way.approach, np.array(way.corner), list(way.start)) for way in found]


def read_policies(folder: Path) -> Any:
    found = []
    for name in ("00", "01"):
        place = folder / "run" / "stage1" / "members" / name
        weights = {key: value.numpy() for key, value in load_policy(place).state_dict().items()}
        found.append((read_description(place), weights))
    return found


def make_policies(folder: Path) -> None:
    small_run(folder / "run")
    for path in (folder / "run").rglob("*.json"):
        if path.parent.parent.name != "members":
            path.unlink()


def make_run(folder: Path) -> None:
    run = small_run(folder / "run", "pbt")
    mark(run, {"members": [{"name": "0", "alone": 0.5}]})
    write_json(run / "diversity.json", {"distance": [[0.0, 0.25], [0.25, 0.0]]})
    for path in [*run.rglob("policy.*")]:
        (folder / "policies" / path.relative_to(run)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder / "policies" / path.relative_to(run))


def read_whole_run(folder: Path) -> Any:
    run = folder / "run"
    partners = [*population(run), *read_partners(RunFolder(run).partners, run), agent(run)]
    found = [dataclasses.asdict(one) for one in partners]
    return found, dataclasses.asdict(read_run(run)), read_mark(run), read_json(run / "diversity.json", "mend it")


def played(seed: int) -> Any:
    batch = batches.make(size=1, autoreset=False, stored_spawns=True, seed=seed)
    for robot, name in enumerate(("first_half", "second_half")):
        batch.script(robot, batches.script(name))
    batch.reset(np.array([seed]))
    return record_batch(batch, most=40)


def make_games(folder: Path) -> None:
    team = [Agent("person", "person"), scripted("second_half")]
    result = {"outcome": "timeout", "steps": 40, "return": -0.4, "done_by": [-1] * 4}
    result |= {"idle": [1, 2], "distance": [0.5, 1.5], "solo_steps": 100}
    for seed in range(2):
        save_game(folder / "games", played(seed), team, result)


def read_games(folder: Path) -> Any:
    # By number, since the name of a file says nothing.
    found = sorted((recording for _, recording in find_games(folder / "games")), key=lambda one: one.header["game"]["id"])
    return [vars(one) for one in found], game_rows(found).to_pydict()


def read_point(folder: Path) -> Any:
    arrays, meta = resume.load(folder / "resume", Group())
    return {key: arrays[key] for key in sorted(arrays)}, json.loads(json.dumps(meta))


def rows() -> Any:
    games = [row(episode=k, steps=10 * k, total=k / 7, success=k % 3 == 0) for k in range(200)]
    return make_rows({name: [game[name] for game in games] for name in games[0]})


def make_dataset(folder: Path) -> None:
    export(folder / "data", pair_up([scripted("solo")], [scripted("noop")]), observations=("state",), count=2)


def make_mind(folder: Path) -> None:
    rng = np.random.default_rng(0)
    sizes = ((TRACKED + 4,), (TRACKED + 4,), (TRACKED + 4, 3), (3,), (3, OUTPUTS), (OUTPUTS,), (OUTPUTS,))
    save_mind(folder / "agent", Mind(*(rng.random(size) for size in sizes)), "0" * 64, {"seed": 0})


def make_entry(folder: Path) -> None:
    """Of an agent whose rows are in the repository."""
    submit([ROOT / "results" / "tidy_house-state" / "bdp-0.parquet"], "mine", folder / "board")


def read_shared(folder: Path) -> Any:
    shutil.rmtree(folder / "pulled", ignore_errors=True)
    place, contents = pull(str(folder / "hub"), "made", folder / "pulled")
    return to_json(contents), {name: (place / name).read_bytes() for name in contents.files}


def make_pack(folder: Path) -> None:
    seal(resolve(str(small_run(folder / "run"))), folder / "pack")


def read_pack(folder: Path) -> Any:
    with SealedServer(folder / "pack") as server:
        found = [(partner.told(), partner.latent, partner.group.policies[0].state_dict()) for partner in server.partners]
    return [(told, latent, {name: value.numpy() for name, value in weights.items()}) for told, latent, weights in found]


def kept(folder: Path, results: dict[str, np.ndarray]) -> tuple[Kept, np.ndarray]:
    """The games of an interrupted evaluation; `results` gets those that are kept, the array says which these are."""
    games = Kept(folder / ".episodes.played", "key")
    return games, games.begin(results)


def make_kept(folder: Path) -> None:
    games, _ = kept(folder, {"steps": np.arange(50), "total": np.arange(50) / 7})
    games.add(np.arange(30))
    games.save()


def read_kept(folder: Path) -> Any:
    """What an evaluation that goes on has at its end: games that are not kept are played, here without a word."""
    played, results = {"steps": np.arange(50), "total": np.arange(50) / 7}, {"steps": np.zeros(50, int), "total": np.zeros(50)}
    _, done = kept(folder, results)
    if not done.any():
        warnings.warn("made again", stacklevel=1)
    for name, values in results.items():
        values[~done] = played[name][~done]
    return results


ROOT = Path(__file__).resolve().parents[2]
EPISODES = "tidy_house", "dev"
CACHES = ("homes", "episodes", "navigation", "kept games")
KINDS = {
    "policy": Kind(make_policies, read_policies, "run/**/*"),
    "resume point": Kind(lambda folder: trainer(folder, decisions=60).run(), read_point, "resume/**/*"),
    "homes": Kind(
        lambda _: splits.load_split("dev", 1),
        lambda _: [(h.header(), h.arrays()) for h in splits.load_split("dev", 1)],
        "homes/*",
    ),
    "episodes": Kind(lambda folder: read_episodes(folder), lambda folder: read_episodes(folder), "episodes/**/*"),
    "navigation": Kind(read_navigation, read_navigation, "navigation/*"),
    "recording": Kind(
        lambda folder: save_recording(folder / "a.npz", played(0)),
        lambda folder: vars(load_recording(folder / "a.npz")),
        "a.npz",
    ),
    "evaluation rows": Kind(
        lambda folder: write_rows(folder / "a.parquet", rows()),
        lambda folder: read_rows(folder / "a.parquet").to_pydict(),
        "a.parquet",
    ),
    "dataset": Kind(
        make_dataset, lambda folder: (datasets.describe(folder / "data"), datasets.load_dataset(folder / "data")), "data/*"
    ),
    "games": Kind(make_games, read_games, "games/*"),
    "benchmark.json": Kind(
        lambda folder: grids.write(folder, grids.Benchmark(methods=("sp", "bdp"))),
        lambda folder: dataclasses.asdict(grids.read(folder)),
        "benchmark.json",
    ),
    "run folder": Kind(make_run, read_whole_run, "run/*.json run/stage1/population.json run/stage2/partners.json"),
    "kept games": Kind(make_kept, read_kept, ".*.played"),
    "theory of mind": Kind(make_mind, lambda folder: vars(load_mind(folder / "agent")), "agent/**/*"),
    "leaderboard entry": Kind(make_entry, lambda folder: to_json(read_entry(*(folder / "board").iterdir())), "board/*/*"),
    "shared run": Kind(lambda folder: push(small_run(folder / "made", "pbt"), str(folder / "hub")), read_shared, "hub/**/*"),
    "sealed partners": Kind(make_pack, read_pack, "pack/p*/* pack/sealed.json"),
}


def read_episodes(_: Path) -> Any:
    found = sets.load_episodes(*EPISODES, homes=homes())
    return (found.task, found.split, found.seed, found.homes, found.hashes), {k: np.array(v) for k, v in found.arrays().items()}


@pytest.fixture
def small(monkeypatch):
    """Small caches that are made again in no time."""
    monkeypatch.setattr(splits, "make_split", lambda *_: homes())
    monkeypatch.setattr(splits, "split_size", lambda _: (2, 0))
    monkeypatch.setitem(sets.SIZES, "dev", 3)
    monkeypatch.setattr(sets, "with_approach", lambda episodes, homes: episodes)


def outcome(kind: Kind, folder: Path, whole: str) -> str:
    """What reading damaged files comes to; an exception that `housemates` does not tell in one line goes through."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = kind.read(folder)
        except (ValueError, OSError, KeyError) as error:
            return "refused" if "\n" not in str(error) and " - " in str(error) else f"unclear: {error}"
    if fingerprint(found) != whole:
        return "DIFFERENT"
    return "made again" if any("made again" in str(w.message) for w in said) else "no effect"


def campaign(name: str, folder: Path, count: int, monkeypatch: pytest.MonkeyPatch) -> Counter:
    """How often reading came to what, over some seeded mutations of one kind of file."""
    kind, work = KINDS[name], folder / "work"
    monkeypatch.setenv("HOUSEMATES_CACHE", str(work))
    work.mkdir()
    kind.make(work)
    whole = fingerprint(kind.read(work))
    shutil.copytree(work, folder / "whole")
    counts: Counter = Counter()
    for seed in range(count):
        shutil.rmtree(work)
        shutil.copytree(folder / "whole", work)
        rng = random.Random(f"{name} {seed}")
        files = sorted(p for pattern in kind.files.split() for p in work.glob(pattern) if p.is_file() and p.stat().st_size > 1)
        done = damage(files, rng)
        found = outcome(kind, work, whole)
        counts[found] += 1
        assert found in ("refused", "made again", "no effect"), f"seed {seed}: {done}: {found}"
    return counts


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", KINDS)
def test_damage_is_never_taken_for_what_was_written(name, tmp_path, monkeypatch):
    counts = campaign(name, tmp_path, QUICKLY, monkeypatch)
    assert counts["made again" if name in CACHES else "refused"] > 0


@pytest.mark.slow
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", KINDS)
def test_damage_is_never_taken_for_what_was_written_in_many_trials(name, tmp_path, monkeypatch):
    counts = campaign(name, tmp_path, WHOLLY, monkeypatch)
    shown = [str(counts[outcome]) for outcome in ("refused", "made again", "no effect")]
    print(f"\n| {name} | {WHOLLY} | {' | '.join(shown)} |")
