"""Several workers that train as one (DD-PPO): gradients are averaged in a fixed order, so the same workers give the same bits.

Nothing but tensors goes over the wire.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import distributed

from housemates.learning.shared import SharedSums, WorkerLostError, possible

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
        self._shared: SharedSums | None = None
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
        """Everybody's rows [n, ...] one after the other, by rank, as float64."""
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
        flat = torch.cat([*(g.reshape(-1) * weight for g in gradients), gradients[0].new_tensor([weight])])
        self._sum(flat)
        flat /= flat[-1].clamp(min=1e-8).clone()
        at = 0
        for g in gradients:
            g.copy_(flat[at : at + g.numel()].view_as(g))
            at += g.numel()

    def _sum(self, flat: torch.Tensor) -> None:
        """Replace numbers [n] by their sums over all workers: through memory on one machine, else over the network."""
        if self.store is None or flat.is_cuda or not possible(self.size):
            distributed.all_reduce(flat)
            return
        if self._shared is None or self._shared.capacity < flat.numel():
            self._made += 1
            self._shared = SharedSums(flat.numel(), self.rank, self.size, self.store, f"sums/{self._made}")
        self._shared.sum(flat)

    def same_weights(self, modules: Iterable[torch.nn.Module]) -> None:
        """Give every worker the weights of rank 0."""
        if not self.alone:
            for module in modules:
                for tensor in module.state_dict().values():
                    distributed.broadcast(tensor, 0)

    def finished(self, rollout: int) -> int:
        """How many workers have finished a rollout; see `finish`."""
        return 0 if self.store is None else self.store.add(f"rollout/{rollout}", 0)

    def finish(self, rollout: int) -> None:
        """Tell the others that this worker has finished a rollout."""
        if self.store is not None:
            self.store.add(f"rollout/{rollout}", 1)


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
    """Tell whoever launched this worker why the whole group ends; False if nobody did, and the error is one's own to raise.

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
