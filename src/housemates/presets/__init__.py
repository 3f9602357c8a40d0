"""Presets: what to train, how long, with which network. One small file each that says what it is for, how long it takes
and what it reaches."""

from __future__ import annotations

from housemates.presets.laptop import LAPTOP
from housemates.presets.paper import PAPER_PRESET
from housemates.presets.preset import Preset
from housemates.presets.smoke import SMOKE
from housemates.presets.state import STATE

__all__ = ["PRESETS", "Preset"]

PRESETS = {"smoke": SMOKE, "state": STATE, "laptop": LAPTOP, "paper": PAPER_PRESET}
"""All presets by name."""
