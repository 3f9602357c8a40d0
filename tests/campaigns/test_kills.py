"""kill -9 at any instant of everything that writes files: started again it ends with the files of one that was left alone.

`pytest -m slow tests/campaigns/test_kills.py -s` prints the counts of docs/concepts/robustness.md. Environment variables say
how many kills all chores have together (HOUSEMATES_KILLS, default 100) and which (HOUSEMATES_KILL_SEED).
"""

import hashlib
import json
import multiprocessing
import os
import random
import shutil
import socket
import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PATHS = [str(HERE), str(HERE.parent), str(HERE.parent / "methods")]
sys.path[:0] = PATHS
import killable  # noqa: E402

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("HOUSEMATES_KILLS", "100"))
SEED = int(os.environ.get("HOUSEMATES_KILL_SEED", "0"))
TIMED = ("seconds", "charts/decisions_per_second", "charts/SPS")
PATIENCE = 600.0
"""Seconds after which a chore counts as hung."""


def server() -> multiprocessing.context.BaseContext:
    """Processes that need not import everything again."""
    os.environ["PYTHONPATH"] = os.pathsep.join([*PATHS, *(p for p in sys.path if p and p not in PATHS)])
    os.environ[killable.WARM] = "1"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["killable"])
    return context


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Attempt:
    """The processes of one chore, begun."""

    def __init__(self, name: str, folder: Path) -> None:
        count = 2 if name == "two_workers" else 1
        group = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2"} if count == 2 else {}
        self.said, self.processes = [folder.parent / f"said{rank}" for rank in range(count)], []
        begun = [folder.parent / f"begun{rank}" for rank in range(count)]
        for rank in range(count):
            begun[rank].unlink(missing_ok=True)
            environment = group | ({"RANK": str(rank), "LOCAL_RANK": str(rank)} if group else {})
            words = (name, folder, environment, begun[rank], self.said[rank])
            self.processes.append(server().Process(target=killable.perform, args=words))
            self.processes[-1].start()
        until = time.monotonic() + PATIENCE
        while not all(path.exists() for path in begun) and time.monotonic() < until:
            time.sleep(0.001)

    def end(self) -> bool:
        """Wait for everybody; whether all ended well, without a word."""
        for process in self.processes:
            process.join(PATIENCE)
        return all(process.exitcode == 0 for process in self.processes)

    def words(self) -> str:
        return " ".join(path.read_text() for path in self.said)


def left(folder: Path) -> dict[str, str]:
    """Everything that a chore has left, without what depends on the clock, process numbers and scratch of the killed."""
    found = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = path.relative_to(folder).as_posix()
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts) or ".tmp" in name or ".old" in name
        if hidden or name.endswith((".time.json", ".pid", ".tries", ".log")) or "tensorboard" in name:
            continue
        content = path.read_bytes()
        if path.name == "metrics.jsonl":
            rows = [json.loads(line) for line in content.splitlines()]
            rows = [{k: v for k, v in row.items() if k not in TIMED and not k.startswith("time/")} for row in rows]
            content = json.dumps(rows).encode()
        found[name] = hashlib.sha256(content).hexdigest()
    return found


@pytest.mark.parametrize("name", killable.CHORES)
def test_a_chore_killed_at_any_instant_ends_as_if_left_alone(name, tmp_path):
    (tmp_path / "run").mkdir()
    killable.prepare(tmp_path)
    alone, seconds = tmp_path / "alone", []
    for _ in range(2):  # the second time nothing is compiled
        attempt, began = Attempt(name, fresh(alone)), time.monotonic()
        assert attempt.end(), attempt.words()
        seconds.append(time.monotonic() - began)
    whole, rng = left(alone), random.Random(f"{name} {SEED}")
    hit = many = unfinished = 0
    count = -(-KILLS // len(killable.CHORES))
    while hit < count and many < 20 * count:
        # A few kills of one run, until it is done.
        folder, done = fresh(alone), False
        while not done:
            attempt = Attempt(name, folder)
            many += 1
            time.sleep(rng.uniform(0.0, 1.1 * seconds[-1]))
            victim = rng.choice(attempt.processes)
            if hit < count and victim.is_alive():
                victim.kill()
                hit += 1
                unfinished += bool(left(folder)) and left(folder) != whole
                for process in attempt.processes:
                    process.join(PATIENCE)
                continue
            done = attempt.end()
            assert done, attempt.words()
            assert "Traceback" not in attempt.words()
        assert left(folder) == whole
    print(f"\n| {name} | {hit} | {unfinished} | {sum(1 for _ in whole)} files equal |")
    assert hit == count


def fresh(folder: Path) -> Path:
    """An empty folder of that name: some files say where they lie."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder
