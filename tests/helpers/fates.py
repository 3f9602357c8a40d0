"""A slow twin of `lookahead.model.fate`."""

import numpy as np

from housemates.sim.rules import RELEASE


def slow_fate(own, path, touching, rules, level, driving, stopping):
    """`fate` step by step, with the rule of interruption as the spec has it."""
    stop, cut, least, thresholds = None, len(own), np.inf, np.array(rules.thresholds)
    for t in range(len(own)):
        at = t if stop is None else stop
        d = float(np.hypot(*(own[at] - path[t])))
        least = min(least, d)
        if d < touching:
            return t, least, at, cut
        if (d < thresholds).sum() > level and t >= driving:
            cut = min(cut, t)
            if stopping and stop is None and t < len(own) - 1:
                stop = t
        level = max((d < thresholds).sum(), min(level, (d < thresholds + RELEASE).sum()))
    return len(own), least, len(own) - 1 if stop is None else stop, cut
