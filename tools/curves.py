"""Learning curves by the clock: `python tools/curves.py` draws docs/images/gt_coord_curves.png from results/curves.

`python tools/curves.py RUN ...` first takes over the curves of finished runs of GT Coord (stage 1 of each).
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CURVES = ROOT / "results" / "curves"
IMAGE = ROOT / "docs" / "images" / "gt_coord_curves.png"
COLUMNS = ("seconds", "decisions", "steps", "success")
POINTS = 120
"""Rows of a curve."""
PANELS = {"state": ("From state", 90), "depth": ("From depth", 85)}
"""By observations: title, success wanted in per cent."""


def take(run: Path) -> Path:
    """Write the curve of a run; returns the file."""
    config = json.loads((run / "config.json").read_text())
    rows = [json.loads(line) for line in (run / "stage1" / "metrics.jsonl").read_text().splitlines()]
    rows = rows[:: max(1, len(rows) // POINTS)] + rows[-1:]
    name = f"{config['method']}-{config['task']}-{config['observations']}-{config['workers']}-{config['training']['seed']}.csv"
    CURVES.mkdir(parents=True, exist_ok=True)
    with (CURVES / name).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for row in rows:
            writer.writerow([f"{row['seconds']:.1f}", row["decisions"], row["steps"], f"{row['charts/success']:.4f}"])
    return CURVES / name


def draw(path: Path) -> None:
    """Success in training against minutes, a panel for each kind of observations."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 2.9), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (sees, (title, wanted)) in zip(figure.subplots(1, 2, sharey=True), PANELS.items(), strict=True):
        longest = 0.0
        for file in sorted(CURVES.glob(f"gt_coord-tidy_house-{sees}-2-*.csv")):
            rows = list(csv.DictReader(file.open()))
            times = [float(row["seconds"]) / 60 for row in rows]
            axes.plot(
                times, [100 * float(row["success"]) for row in rows], lw=1.3, label=f"seed {file.stem.rpartition('-')[2]}"
            )
            longest = max(longest, times[-1])
        axes.axhline(wanted, color="#888888", lw=0.8, ls="--")
        axes.text(0.02 * longest, wanted + 1.5, f"{wanted} %", color="#666666", fontsize=8)
        axes.set(title=f"{title}, two workers", xlabel="minutes by the clock", xlim=(0, 1.02 * longest), ylim=(0, 100))
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8, loc="lower right")
    figure.axes[0].set_ylabel("success in training, %")
    figure.savefig(path, dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        print(take(Path(folder)))
    draw(IMAGE)
    print(IMAGE)
