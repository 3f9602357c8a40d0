"""The file for rerun, written through a stand-in that keeps what it is told."""

import sys
from types import SimpleNamespace

import numpy as np

from helpers import batches, pages
from housemates.robots import FETCH
from housemates.web.rerun import write_rerun


def stand_in(told: list) -> SimpleNamespace:
    """What of rerun is used; `told` gets (step, name, what) of everything that is logged."""
    now = [-1]

    def made(kind: str):
        return lambda *given, **more: {"kind": kind, "given": given, **more}

    return SimpleNamespace(
        init=lambda name: None,
        save=lambda path: None,
        set_time=lambda name, sequence: now.__setitem__(0, sequence),
        log=lambda name, what, static=False: told.append((-1 if static else now[0], name, what)),
        ViewCoordinates=SimpleNamespace(RIGHT_HAND_Y_UP={"kind": "view"}),
        **{kind: made(kind) for kind in ("Mesh3D", "Points3D", "Transform3D", "TextLog")},
    )


def test_everything_of_an_episode_is_in_the_file(monkeypatch, tmp_path):
    told: list = []
    monkeypatch.setitem(sys.modules, "rerun", stand_in(told))
    kept = pages.scripted()
    write_rerun(tmp_path / "e.rrd", kept, batches.home())
    moved = [(step, name) for step, name, what in told if what["kind"] == "Transform3D"]
    assert len(moved) == (kept.steps + 1) * (2 * len(FETCH.links) + 2 + 3)
    assert [what["given"][0] for _, name, what in told if name == "events"][-1] == "task done"
    base = next(what for step, name, what in told if (step, name) == (10, "robot_1/base_link"))
    assert np.allclose(base["translation"][[0, 2]], kept.frames["pose"][10, 1, :2])
