"""One of two workers that train a small method of stage 2. Usage: one_stage_workers.py FOLDER METHOD.

The training is done in one go, and once more with a pause after every update; what the workers end with is written."""

import sys
from pathlib import Path

import numpy as np
import torch
from one_stage import METHODS, trainer

from housemates.training.distributed import join, leave

if __name__ == "__main__":
    torch.set_num_threads(1)
    group = join("cpu")
    folder, method = Path(sys.argv[1]), METHODS[sys.argv[2]]
    trainer(folder / "whole", method, group=group).run()
    complete, updates = False, 0
    while not complete:
        running = trainer(folder / "pausing", method, group=group)
        running.load()
        complete, updates = running.run(seconds=0), updates + 1
    total = sum(float(p.double().sum()) for p in running.players[0].policy.parameters())
    told = running.method.after_update([], {"partner": np.zeros(0), "outcome": np.zeros(0)})
    (folder / f"said{group.rank}").write_text(f"{total.hex()} {running.decisions} {updates > 3} {told}")
    leave()
