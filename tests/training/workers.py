"""One worker of a small group; prints what the tests compare. Usage: workers.py FOLDER, with torchrun's variables set."""

import sys
from pathlib import Path

import numpy as np
import torch

from helpers.batches import episodes, home
from helpers.learners import SHORT, TINY
from housemates.methods.self_play import GTCoord
from housemates.training.distributed import join, leave
from housemates.training.trainer import Trainer

if __name__ == "__main__":
    torch.set_num_threads(1)
    group = join("cpu")
    rows = group.gather(np.arange(group.rank + 1) + 10.0 * group.rank)
    nothing = group.gather(np.zeros((0, 2)))
    layer = torch.nn.Linear(1, 1, bias=False)
    if group.rank == 1:
        layer.weight.grad = torch.tensor([[4.0]])
    group.average_gradients(layer.parameters(), 3.0 if group.rank == 1 else 0.0)
    for name in ("first", "again"):
        trainer = Trainer(SHORT, GTCoord(TINY), episodes(), [home()], Path(sys.argv[1]) / name, group=group)
        trainer.run()
    total = sum(float(p.double().sum()) for player in trainer.players for p in player.policy.parameters())
    (Path(sys.argv[1]) / f"said{group.rank}").write_text(
        f"{rows.tolist()} {nothing.shape} {float(layer.weight.grad)} {total.hex()} {trainer.decisions}"
    )
    leave()
