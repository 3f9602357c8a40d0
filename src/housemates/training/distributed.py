"""Training with several processes: torchrun, and means of gradients through shared memory on one machine.

Every worker writes its numbers into a row of its own, waits until all rows are there, and adds them in rank order, so that all
get the same bits. Two tables take turns: no worker writes into one that another may still read. From MANY workers on each adds
up a part of the numbers for all (reduce-scatter), which gives the same bits: what a worker reads no longer grows with them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from numba import njit
from torch import distributed

LINE = 8
"""Counters lie this many apart, so that each has a cache line of its own."""
HASTE = 0.002
"""Seconds a waiting worker keeps asking before it begins to sleep between questions."""
NAP = 0.0001
"""Seconds it sleeps then."""
PATIENCE = 1.0
"""Seconds after which it looks whether the others are still alive, again and again."""
FOLDER = Path("/dev/shm")
MANY = 4
"""Workers from which on each adds up a part: with fewer, waiting twice costs more than adding everything."""
BLOCK = 2048
"""Numbers that are added and divided at a time: they stay in a core's nearest cache."""
NOTHING = 1e-8
"""What the sum of all weights counts as at least, where a mean is divided by it."""


class WorkerLostError(RuntimeError):
    """Another worker of the group has died."""


def possible(size: int) -> bool:
    """Whether all workers of this group run on this machine, and it has a folder in memory."""
    return size > 1 and os.environ.get("LOCAL_WORLD_SIZE") == str(size) and FOLDER.is_dir() and os.access(FOLDER, os.W_OK)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def mean_of_rows(rows, workers, first, total, out):
    """out [n] = the sum of so many rows [.., capacity], in their order, from column `first` on, divided by total; all float32.

    Some numbers at a time, so that they are read and written once.
    """
    for low in range(0, out.size, BLOCK):
        high = min(low + BLOCK, out.size)
        some, one, two = out[low:high], rows[0, first + low : first + high], rows[1, first + low : first + high]
        for i in range(some.size):
            some[i] = one[i] + two[i]
        for k in range(2, workers):
            more = rows[k, first + low : first + high]
            for i in range(some.size):
                some[i] += more[i]
        for i in range(some.size):
            some[i] = some[i] / total


class SharedMeans:
    """Means of float32 tensors of fewer than `capacity` numbers. All workers must make it, and call it, in the same order."""

    def __init__(self, capacity: int, rank: int, size: int, store: distributed.Store, name: str) -> None:
        """store: where the workers find each other; name: of this object in it, never used before."""
        self.rank, self.size, self.capacity, self.turn = rank, size, capacity, 0
        self.used = 0
        head = (size + 1) * LINE * 8
        if rank == 0:
            handle, path = tempfile.mkstemp(dir=FOLDER, prefix="housemates-")
            os.ftruncate(handle, head + 2 * (size + 1) * capacity * 4)
            os.close(handle)
            store.set(f"{name}/path", path)
        path = store.get(f"{name}/path").decode()
        self._counters = np.memmap(path, np.int64, "r+", 0, ((size + 1), LINE))
        self._rows = np.asarray(np.memmap(path, np.float32, "r+", head, (2, size + 1, capacity)))
        self._fence = threading.Lock()
        self._counters[rank, 1] = os.getpid()
        self._arrive()
        if rank == 0:
            # Whoever has the file open keeps it; from here on nothing stays behind, however the run ends.
            Path(path).unlink()

    def average(self, numbers: torch.Tensor, weight: float) -> None:
        """Replace numbers [n] by their mean over all workers, each with its weight; no array is made on the way."""
        flat, n = numbers.numpy(), numbers.numel()
        # The last row of a table is for means that were added up in parts.
        table = self._rows[self.used % 2]
        rows, means = table[: self.size], table[self.size, :n]
        self.used += 1
        np.multiply(flat, np.float32(weight), out=rows[self.rank, :n])
        rows[self.rank, n] = weight
        self._arrive()
        total = np.float32(max(sum(rows[:, n].tolist()), NOTHING))
        # In rank order, so that all workers get the same bits.
        if self.size < MANY:
            mean_of_rows(table, self.size, 0, total, flat)
            return
        low, high = n * self.rank // self.size, n * (self.rank + 1) // self.size
        mean_of_rows(table, self.size, low, total, means[low:high])
        self._arrive()
        flat[...] = means

    def _arrive(self) -> None:
        """Tell the others that this worker has written, and wait until all have."""
        self.turn += 1
        with self._fence:  # what was written before is seen before the counter is
            self._counters[self.rank, 0] = self.turn
        began = time.perf_counter()
        asked = began + PATIENCE
        while (self._counters[: self.size, 0] < self.turn).any():
            now = time.perf_counter()
            if now - began > HASTE:
                time.sleep(NAP)
            if now > asked:
                asked = now + PATIENCE
                self._check()
        with self._fence:
            pass

    def _check(self) -> None:
        for other in range(self.size):
            pid = int(self._counters[other, 1])
            if pid and not _alive(pid) and self._counters[other, 0] < self.turn:
                raise WorkerLostError(f"worker {other} has died")


def _alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


RESTARTS = 3
"""How often a group with a dead worker is started again, from its last resume point."""


STOP = "HOUSEMATES_STOP"
"""Environment variable with the file by which `launch` tells its workers to pause."""
REASON = "reason"
"""Name of the file beside it in which they say why they gave up."""


class Group:
    """The workers of a run. Without torch.distributed it is one worker alone, and everything below costs nothing."""

    def __init__(self) -> None:
        self.alone = not (distributed.is_available() and distributed.is_initialized())
        self.rank = 0 if self.alone else distributed.get_rank()
        self.size = 1 if self.alone else distributed.get_world_size()
        self.store: distributed.Store | None = None
        self._shared: SharedMeans | None = None
        self._made = 0

    def wait(self) -> None:
        """Until every worker is here."""
        if not self.alone:
            self.sums(np.zeros(1))

    def sum(self, value: float) -> float:
        """The sum of a number over all workers."""
        return float(self.sums(np.array([value]))[0])

    def sums(self, values: np.ndarray) -> np.ndarray:
        """The sum of an array over all workers."""
        if self.alone:
            return values
        tensor = torch.from_numpy(values.astype(np.float64))
        distributed.all_reduce(tensor)
        return tensor.numpy()

    def any(self, value: bool) -> bool:
        """Whether it is true for any worker."""
        return self.sum(float(value)) > 0

    def gather(self, values: np.ndarray) -> np.ndarray:
        """The rows [n, ...] of all workers one after the other, by rank, as float64."""
        if self.alone:
            return values
        counts = np.zeros(self.size)
        counts[self.rank] = len(values)
        counts = self.sums(counts).astype(int)
        padded = torch.zeros(int(counts.max()), *values.shape[1:], dtype=torch.float64)
        padded[: len(values)] = torch.from_numpy(np.asarray(values, np.float64))
        parts = [torch.empty_like(padded) for _ in range(self.size)]
        distributed.all_gather(parts, padded)
        return np.concatenate([part.numpy()[:count] for part, count in zip(parts, counts, strict=True)])

    def average_gradients(self, parameters: Iterable[torch.nn.Parameter], weight: float) -> None:
        """Replace every gradient by the mean over the workers, each with its weight (decisions it has seen), in one message.

        A worker of weight zero may have no gradients; it takes part all the same.
        """
        if self.alone:
            return
        learnt = list(parameters)
        for p in learnt:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
        gradients = [p.grad for p in learnt if p.grad is not None]
        flat = torch.cat([g.reshape(-1) for g in gradients])
        self.average(flat, weight)
        at = 0
        for g in gradients:
            g.copy_(flat[at : at + g.numel()].view_as(g))
            at += g.numel()

    def average(self, numbers: torch.Tensor, weight: float) -> None:
        """Replace numbers [n] by their mean over the workers, each with its weight, in one message."""
        if self.alone:
            return
        if self.store is None or numbers.is_cuda or not possible(self.size):
            # Over the network.
            flat = torch.cat([numbers * weight, numbers.new_tensor([weight])])
            distributed.all_reduce(flat)
            torch.div(flat[:-1], flat[-1].clamp(min=NOTHING), out=numbers)
            return
        # Through memory, on one machine.
        if self._shared is None or self._shared.capacity <= numbers.numel():
            self._made += 1
            self._shared = SharedMeans(numbers.numel() + 1, self.rank, self.size, self.store, f"means/{self._made}")
        self._shared.average(numbers, weight)

    def same_weights(self, modules: Iterable[torch.nn.Module]) -> None:
        """Give every worker the weights of rank 0."""
        if not self.alone:
            for module in modules:
                for tensor in module.state_dict().values():
                    distributed.broadcast(tensor, 0)


def under_torchrun() -> bool:
    """Whether this process is one worker of a torchrun group."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ and "MASTER_ADDR" in os.environ


def join(device: str) -> Group:
    """The group of this process: that of torchrun, or itself alone. Gloo on processors, nccl among GPUs."""
    if not under_torchrun():
        return Group()
    from torch.distributed.rendezvous import rendezvous

    store, rank, size = next(iter(rendezvous("env://")))
    # Torchrun may keep one store through restarts; the addresses of dead workers must not be found in it.
    store = distributed.PrefixStore(f"attempt/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)
    backend = "cpu:gloo,cuda:nccl" if device == "cuda" else "gloo"
    distributed.init_process_group(backend, store=store, rank=rank, world_size=size)
    group = Group()
    group.store = distributed.PrefixStore("housemates", store)
    return group


def lost(error: RuntimeError) -> bool:
    """Whether an error means that another worker has died."""
    return isinstance(error, (distributed.DistError, WorkerLostError)) or "gloo" in str(error)


def leave() -> None:
    """End this process's part in its group."""
    if distributed.is_available() and distributed.is_initialized():
        distributed.destroy_process_group()


def interrupted() -> bool:
    """Whether whoever launched this worker wants the group to pause."""
    return STOP in os.environ and Path(os.environ[STOP]).exists()


def pausing() -> list[int]:
    """Signals that let training pause with a resume point: an interrupt, a request to end, a terminal that is closed (unless
    that is to be ignored, as `nohup` wants it)."""
    ignored = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    return [signal.SIGINT, signal.SIGTERM, *([] if ignored else [signal.SIGHUP])]


def give_up(reason: str) -> bool:
    """Tell whoever launched this worker why the whole group ends; False if there is none, and the error must be raised.

    Workers that end so do not count as lost: what went wrong would go wrong again.
    """
    if STOP not in os.environ:
        return False
    if os.environ.get("RANK", "0") == "0":
        Path(os.environ[STOP]).with_name(REASON).write_text(reason)
    return True


def launch(workers: int, arguments: Sequence[str]) -> int:
    """Run `housemates ARGUMENTS` as a torchrun group on this machine; returns its exit code.

    When a worker dies, all are ended and started again, up to RESTARTS times; they continue from the last resume point.
    The first interrupt lets the workers pause after their update, the second ends them at once. If they give up (see
    `give_up`), their reason is raised as a ValueError.
    """
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={workers}"]
    command += [f"--max-restarts={RESTARTS}", "--monitor-interval=0.5", "-m", "housemates", *arguments]
    with tempfile.TemporaryDirectory() as scratch:
        stop = Path(scratch) / "stop"
        # Without OMP_NUM_THREADS torchrun prints a warning; each worker sets its own number of threads anyway.
        environment = {"OMP_NUM_THREADS": "1"} | os.environ | {STOP: str(stop)}
        # In a session of its own, since torchrun answers a terminal's interrupt by ending its workers where they are.
        process = subprocess.Popen(command, env=environment, start_new_session=True)

        def pause(number: int, frame: object) -> None:
            if stop.exists():
                os.killpg(process.pid, signal.SIGTERM)
            stop.touch()

        before = {number: signal.signal(number, pause) for number in pausing()}
        try:
            code, reason = process.wait(), stop.with_name(REASON)
            if reason.is_file():
                raise ValueError(reason.read_text())
            return code
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
