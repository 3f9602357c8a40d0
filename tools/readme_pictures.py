"""Makes the pictures of the README: `python tools/readme_pictures.py` writes them into docs/images.

two_partners.gif: one shipped agent in the same episode with two held-out scripts. results.png: success with held-out partners
between the reference lines, from the rows in results/. learning_curve.png: the README's loop (`examples/short_loop.py`).
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean, stdev

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
AGENT = "pretrained/bdp-tidy_house-depth"
EPISODE = 30
"""A dev episode in which both partners leave the agent a different object."""
PARTNERS = {"script/first_half": "partner moves object 0", "script/second_half": "partner moves object 1"}
SIZE, GAP, HEAD, EVERY, FPS = (420, 250), 12, 26, 2, 12.0
"""Of one view, pixels; between them; of the words above; simulation steps a picture; pictures a second."""
INK, PAPER = (236, 238, 240), (24, 26, 31)


def two_partners(path: Path) -> None:
    """A gif: the same agent with two partners, side by side."""
    from PIL import Image, ImageDraw

    import housemates
    from housemates.recordings import film

    style = film.Style(every=EVERY, fps=FPS)
    views = []
    for partner in PARTNERS:
        recording = housemates.record([AGENT, partner], "tidy_house", split="dev", episode=EPISODE)
        print(partner, recording.header["outcome"], recording.steps)
        box = (film.MARGIN, 36, film.MARGIN + film.ABOVE[0], 36 + film.ABOVE[1])
        views.append([picture.crop(box).resize(SIZE, Image.Resampling.LANCZOS) for picture in film.frames(recording, style)])
    sheets = []
    for number in range(max(map(len, views))):
        sheet = Image.new("RGB", (2 * SIZE[0] + GAP, SIZE[1] + HEAD), PAPER)
        draw = ImageDraw.Draw(sheet)
        for side, (view, words) in enumerate(zip(views, PARTNERS.values(), strict=True)):
            left = side * (SIZE[0] + GAP)
            sheet.paste(view[min(number, len(view) - 1)], (left, HEAD))
            draw.text((left + 6, 4), f"robot 0: learned agent, robot 1: {words}", INK, film._font(14))
        sheets.append(sheet)
    film._write_gif(path, iter(sheets), style)
    print(path, f"{path.stat().st_size / 1e6:.2f} MB")


def by_partner(path: Path, evaluation: str, control: str = "") -> dict[str, float]:
    """Success with each partner in the rows of a file."""
    from housemates.evaluation.rows import read_rows

    won = defaultdict(list)
    for row in read_rows(path).to_pylist():
        if row["evaluation"] == evaluation and row["control"] == control:
            won[row["partner"]].append(row["success"])
    return {partner: 100 * mean(games) for partner, games in won.items()}


METHODS = ("sp", "pbt", "bdp")
AHEAD = "+lookahead"


def results(path: Path) -> None:
    """Bars of success with held-out partners, from state, between the lines of solo, partner-blind and best response."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from housemates.evaluation.rows import read_rows

    folder = ROOT / "results" / "grid"
    runs = {
        method + more: sorted(folder.glob(f"{method}-tidy_house-state-[0-9]{more}.parquet"))
        for method in METHODS
        for more in ("", AHEAD)
    }
    best: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for row in read_rows(ROOT / "results" / "best_responses-tidy_house.parquet").to_pylist():
        best[row["partner"], row["agent"]].append(row["success"])
    bound: dict[str, float] = defaultdict(float)
    for (partner, _), games in best.items():
        bound[partner] = max(bound[partner], 100 * mean(games))
    files = [file for method in METHODS for file in runs[method]]
    lines = {
        "best response to each partner,\nwithout look-ahead": (mean(bound.values()), "#2a7f62"),
        "the same agents, partner-blind": (mean(mean(by_partner(f, "control", "blind").values()) for f in files), "#b3541e"),
        "scripted solo robot": (mean(mean(by_partner(f, "control", "solo").values()) for f in files), "#6b7280"),
    }
    figure, axes = plt.subplots(figsize=(6.8, 3.4), dpi=150)
    for place, method in enumerate(METHODS):
        for side, (more, colour) in enumerate((("", "#2f7fe0"), (AHEAD, "#1f9e89"))):
            scores = [mean(by_partner(file, "zsc").values()) for file in runs[method + more]]
            if not scores:
                continue
            error = stdev(scores) / len(scores) ** 0.5 if len(scores) > 1 else 0.0
            at, name = place + 0.42 * side - 0.21, "+ look-\nahead" if more else method.upper()
            axes.bar(at, mean(scores), 0.38, yerr=error, color=colour, ecolor="#111827", capsize=3, zorder=2)
            axes.text(at, mean(scores) + 2, f"{mean(scores):.1f}", ha="center", fontsize=8.5)
            axes.text(at, 3, name, ha="center", color="white", fontsize=8.5, zorder=3)
    for words, (height, colour) in lines.items():
        axes.axhline(height, color=colour, linewidth=1.4, linestyle="--", zorder=1 if "best" in words else 3)
        above = words == "the same agents, partner-blind"
        axes.text(
            len(METHODS) - 0.5, height + (1 if above else -1), f"{words}: {height:.0f} %",
            color=colour, fontsize=8.5, va="bottom" if above else "top",
        )  # fmt: skip
    axes.set_xlim(-0.55, len(METHODS) + 1.05)
    axes.set_ylim(0, 103)
    axes.set_xticks([])
    axes.set_ylabel("success with held-out partners, %")
    seeds = {len(found) for found in runs.values() if found}
    count = f"{min(seeds)}" if len(seeds) == 1 else f"{min(seeds)} to {max(seeds)}"
    axes.set_title(f"Tidy House from state, unseen kitchen, 11 held-out partners, {count} seeds", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path)


def learning_curve(path: Path) -> None:
    """Success over decisions of the README's loop, three seeds."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    sys.path.insert(0, str(ROOT / "examples"))
    from short_loop import train

    curves = [train(seed=seed) for seed in range(3)]
    decisions = np.array([point[0] for point in curves[0]]) / 1e3
    success = 100 * np.array([[point[1] for point in curve] for curve in curves])
    figure, axes = plt.subplots(figsize=(6.4, 2.8), dpi=150)
    axes.fill_between(decisions, success.min(0), success.max(0), color="#2f7fe0", alpha=0.25, linewidth=0)
    axes.plot(decisions, success.mean(0), color="#2f7fe0")
    axes.set_xlabel("decisions, thousands")
    axes.set_ylabel("success, %")
    axes.set_title("The loop above: Tidy House, three seeds (mean, range)", fontsize=10)
    axes.set_ylim(0, 100)
    axes.set_xlim(0)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path)
    print(path, success[:, -1])


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["two_partners", "results", "learning_curve"]
    if "two_partners" in wanted:
        two_partners(IMAGES / "two_partners.gif")
    if "results" in wanted:
        results(IMAGES / "results.png")
    if "learning_curve" in wanted:
        learning_curve(IMAGES / "learning_curve.png")
