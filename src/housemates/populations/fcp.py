"""Fictitious Co-Play (FCP): a self-play population whose start, middle and end all become partners (Strouse et al. 2021).

The middle is the policy at half of the decisions (spec 14, 24).
"""

from __future__ import annotations

from dataclasses import replace

from housemates.policies.partners import Partner
from housemates.populations.self_play import SelfPlay

MOMENTS = ("start", "middle")
"""Earlier versions of a member, in folders inside its own."""


class FCP(SelfPlay):
    """Trained as self-play; three partners of each member."""

    def population(self) -> list[Partner]:
        """All ends, then all starts, then all middles."""
        ends = super().population()
        earlier = [replace(p, name=f"{p.name}-{when}", path=f"{p.path}/{when}") for when in MOMENTS for p in ends]
        return ends + earlier
