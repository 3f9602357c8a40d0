"""`housemates hub ...`: share runs, agents and rows."""

from __future__ import annotations

from pathlib import Path

from tyro.conf import Positional


def push(source: Positional[Path], address: Positional[str], /, name: str = "") -> None:
    """Share a complete run, an agent or rows: weights, JSON and tables, never code, resume points or recordings.

    A new repository of the Hub is private until you change that on its page. An agent gets its model card.

    Args:
        source: The folder of a run, the folder of a policy (RUN/stage2/agent), or a parquet file of rows.
        address: OWNER/REPOSITORY of the Hugging Face Hub (pip install 'housemates[hub]'), or file:PATH for a folder.
        name: What it is called there; default: its own name.
    """
    from housemates.hub import share

    where = share.push(source, address, name)
    print(f"pushed: {where}")
    print(f"next: housemates hub pull {address} {name or share.own_name(source)}")


def pull(address: Positional[str], name: Positional[str], /, out: Path | None = None) -> None:
    """Fetch what was shared; checksums and contents are checked before it is put in place, whole or not at all.

    Args:
        address: OWNER/REPOSITORY of the Hugging Face Hub, or file:PATH for a folder.
        name: What it is called there (see `housemates hub list`).
        out: Where to put it; default: runs/NAME, agents/NAME or rows/NAME.parquet.
    """
    from housemates.hub import share

    target, contents = share.pull(address, name, out)
    size = sum(file.bytes for file in contents.files.values())
    print(f"{contents.kind}: {target} ({len(contents.files)} files, {size / 1e6:.1f} MB, checked)")
    after = {"run": "evaluate", "agent": "partners card", "rows": "report"}[contents.kind]
    print(f"next: housemates {after} {target}")


def list_shared(address: Positional[str], /) -> None:
    """List what is shared at an address.

    Args:
        address: OWNER/REPOSITORY of the Hugging Face Hub, or file:PATH for a folder.
    """
    from housemates.hub import share

    for name in share.names(address):
        print(name)
