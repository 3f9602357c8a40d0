"""housemates: train and test robots that must work with partners they have never met, in furnished homes."""

__version__ = "0.1.0"
