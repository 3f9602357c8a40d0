"""Games as data to learn from: written by `housemates export`, read with `load_dataset`."""

from housemates.datasets.dataset import describe, load_dataset

__all__ = ["describe", "load_dataset"]
