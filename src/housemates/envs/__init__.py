"""Environments over `sim.Batch`: PettingZoo (`parallel`), Gymnasium (`single`, `vector`, `ids`), Stable-Baselines3 (`sb3`)."""
