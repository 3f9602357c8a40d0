"""Environments: PettingZoo (`parallel`), Gymnasium (`single`, `vector`, `ids`), Stable-Baselines3 (`sb3`). The core is `sim.Batch`."""
