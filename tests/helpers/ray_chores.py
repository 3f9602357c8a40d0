"""Chores on a Ray cluster of this machine, in a process of their own that takes Ray with it when it ends.

Usage: ray_chores.py order|lost|pause FOLDER. Prints how everything ended as JSON.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import ray
from ray.cluster_utils import Cluster as Machines

from helpers.chores import HANG, Chores, made
from housemates.grid.cluster import Cluster
from housemates.grid.run import run


class Watched(Cluster):
    """A cluster to which something happens once a chore is under way."""

    def __init__(self, work: Chores, chore: str, happens) -> None:
        super().__init__(work, "auto")
        self.path, self.happens = work.root / f"{chore}.pid", happens

    def finished(self):
        if self.happens is not None and self.path.exists() and self.path.read_text().strip():
            happens, self.happens = self.happens, None
            happens(int(self.path.read_text()))
        return super().finished()


def order(root: Path, machines: Machines) -> tuple[Chores, Cluster]:
    """One chore needs another and is killed once; a third fails."""
    second = 'test -e "$(dirname "$0")/first" || exit 1; test -s "$0.go" || { echo 1 > "$0.go"; kill -9 $$; }'
    work = made(root, {"first": "true", "second": second, "bad": "echo no luck; exit 3"}, second=("first",))
    return work, Cluster(work, "auto")


def lost(root: Path, machines: Machines) -> tuple[Chores, Cluster]:
    """The machine of a chore is lost; later another one comes."""
    work = made(root, {"first": "true", "long": HANG, "last": "true"}, long=("first",), last=("long",))

    def lose(pid: int) -> None:
        machines.remove_node(machines.list_all_nodes()[-1], allow_graceful=False)
        while Path(f"/proc/{pid}").exists():
            time.sleep(0.05)
        (root / "long.go").touch()
        machines.add_node(num_cpus=1)

    return work, Watched(work, "long", lose)


def pause(root: Path, machines: Machines) -> tuple[Chores, Cluster]:
    """The runner is interrupted."""
    work = made(root, {"a": HANG, "b": "true"}, b=("a",))
    return work, Watched(work, "a", lambda pid: os.kill(os.getpid(), signal.SIGINT))


if __name__ == "__main__":
    # Ray's processes may take their time where others are busy.
    os.environ |= {"RAY_worker_register_timeout_seconds": "300", "RAY_agent_register_timeout_ms": "300000"}
    cluster = Machines(initialize_head=True, head_node_args={"num_cpus": 0})
    cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
    place = Path(sys.argv[2])
    chores, hands = {"order": order, "lost": lost, "pause": pause}[sys.argv[1]](place, cluster)
    progress = run(chores, hands)
    hands.close()
    cluster.shutdown()
    tries = {cell.run: chores.tries(cell.run) for cell in chores.cells}
    print(json.dumps({"status": progress.status, "words": progress.words, "tries": tries}))
