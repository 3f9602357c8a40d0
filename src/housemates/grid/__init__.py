"""The paper as a grid of cells: trainings and evaluations that depend on each other, on this machine or on a Ray cluster."""
