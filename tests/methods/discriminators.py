"""One of several workers that train a discriminator; writes what the tests compare. Usage: discriminators.py FOLDER."""

import os
import sys
from pathlib import Path

import numpy as np
import torch

from housemates.methods.discriminator import Diversity, DiversityReward
from housemates.training.distributed import join, leave
from housemates.training.store import Store

if __name__ == "__main__":
    torch.set_num_threads(1)
    group = join("cpu")
    reward = DiversityReward(Diversity(hidden=16, buffer=100, batch=32))
    reward.begin(group, 750)
    said = {}
    for update in range(3):
        # The second worker has nothing to learn from at first.
        count = 0 if group.rank and not update else 80
        store = Store({}, 1, 80, {"window": ((40, 3), np.float32)})
        store.append(count)
        rng = np.random.default_rng([update, group.rank])
        store.window[:] = rng.integers(25, size=(count, 40, 3))
        store.clock[:], store.closed[:] = 100, True
        reward.pay(store, rng.integers(8, size=count))
        said = reward.learn()
    total = sum(float(p.detach().double().abs().sum()) for p in reward.network.parameters())
    numbers = [value.hex() for value in map(float, said.values())]
    (Path(sys.argv[1]) / f"said{group.rank}").write_text(f"{total.hex()} {numbers} {reward.buffer.size}")
    leave()
    # Everything is written and the group is left: now and then a thread of torch aborts the interpreter's own end.
    os._exit(0)
