"""Games as data to learn from: written by `housemates export`, read with `load`."""

from housemates.datasets.dataset import describe, load

__all__ = ["describe", "load"]
