"""Homes of one's own: two large ones, chosen among generated homes, kept in a folder, and played in by any name.

    python examples/own_home.py --out my_homes

The command line takes the folder too: housemates evaluate ... --split folder:my_homes
"""

from pathlib import Path

import tyro

import housemates


def largest(text: str, progress) -> list:
    """A source of homes: the two with the most free floor among the generated homes of ten seeds (0 to 9)."""
    homes = housemates.load_split("seeds:0-9" if not text else f"seeds:{text}")
    return sorted(homes, key=lambda home: home.navigable_area)[-2:]


housemates.register_homes("large", largest, meaning="two large generated homes", episodes=40, takes="SEEDS")


def main(out: Path = Path("my_homes"), seeds: str = "0-9", episodes: int = 2) -> list[str]:
    """Choose homes, save them, and play in them; returns how the episodes ended.

    Args:
        out: the folder for the homes.
        seeds: which generated homes to choose from.
        episodes: how many to play.
    """
    homes = housemates.load_split(f"large:{seeds}")
    out.mkdir(parents=True, exist_ok=True)
    housemates.save_homes(out / "large.npz", homes)
    for home in homes:
        print(f"{home.name}: {home.navigable_area:.1f} m2 of free floor")
    team = ["script/first_half", "script/second_half"]
    outcomes = [
        housemates.record(team, "tidy_house", split=f"folder:{out}", episode=episode).header["outcome"]
        for episode in range(episodes)
    ]
    print(f"episodes in these homes: {', '.join(outcomes)}")
    return outcomes


if __name__ == "__main__":
    tyro.cli(main)
