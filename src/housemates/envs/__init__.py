"""The public faces of the simulator: PettingZoo (`parallel`) and Gymnasium (`vector`). Thin; the core is `sim.Batch`."""
