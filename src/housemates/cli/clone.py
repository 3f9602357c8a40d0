"""`housemates clone`: a partner that decides as people, or anybody else, did in recorded games."""

from __future__ import annotations

from pathlib import Path

from tyro.conf import Positional

from housemates.envs.loading import progress


def clone(
    dataset: Positional[Path],
    /,
    out: Path,
    movers: tuple[str, ...] = (),
    kind: str = "",
    preset: str = "state",
    epochs: int = 40,
    learning_rate: float = 1e-3,
    aside: float = 0.2,
    seed: int = 0,
    held_out: bool = False,
) -> None:
    """Learn a policy from the decisions of a dataset (behaviour cloning); it plays wherever a partner is named.

    A share of the games is kept aside. The epoch that tells their decisions best is kept.

    Args:
        dataset: What `housemates export` wrote, such as games of people: housemates export --games games --out people.
        out: The folder of the policy.
        movers: Only robots that these moved, by the names in the dataset; default: everybody.
        kind: Only robots that such a mover moved: person, script, learned, latent, random, function.
        preset: Whose network it has.
        epochs: Passes over the games.
        learning_rate: Of the optimiser (Adam).
        aside: Share of the games that are kept aside.
        seed: Of the weights, of the games aside, and of the order of the others.
        held_out: Make it a partner of the evaluation (family `people` of the suite), with whom nobody trains.
    """
    from housemates.datasets.clone import Cloning, clone_dataset

    how = Cloning(preset, epochs, learning_rate, aside=aside, seed=seed)
    with progress("epochs") as report:
        found = clone_dataset(dataset, out, how, movers=movers, kind=kind, held_out=held_out, progress=report)
    print(f"{out}: learned from {found.games} games, {found.decisions} decisions; epoch {found.epoch} of {epochs} was kept")
    told = (
        f"{100 * found.accuracy:.1f} % (always the commonest: {100 * found.commonest:.1f} %), {found.loss:.2f} nats a decision"
    )
    print(f"decisions it tells in games kept aside: {told}")
    print(f"next: housemates play {out}")
