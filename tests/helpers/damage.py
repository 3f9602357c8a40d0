"""Damage to files, the same for the same seed: a flipped bit, a cut end, a block of zeros, exchanged blocks or files."""

import random
from pathlib import Path

KINDS = ("flip", "cut", "zeros", "exchange")


def damaged(content: bytes, kind: str, rng: random.Random) -> bytes:
    """Other content than the given one (at least two bytes)."""
    changed, size = bytearray(content), len(content)
    while bytes(changed) == content:
        at, length = rng.randrange(size), rng.randint(1, max(1, min(512, size // 4)))
        if kind == "flip":
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == "cut":
            del changed[at:]
        elif kind == "zeros":
            changed[at : at + length] = bytes(min(length, size - at))
        else:
            low, high = sorted((at, rng.randrange(size)))
            length = min(length, high - low, size - high)
            one, two = content[low : low + length], content[high : high + length]
            changed[low : low + length], changed[high : high + length] = two, one
            kind = "flip"  # should they be equal
    return bytes(changed)


def damage(files: list[Path], rng: random.Random) -> str:
    """Damage one of some files, or exchange two of one kind; returns what was done."""
    kind, path = rng.choice(KINDS), rng.choice(files)
    others = [p for p in files if p.suffix == path.suffix and p.read_bytes() != path.read_bytes()]
    if kind == "exchange" and others:
        other = rng.choice(others)
        one, two = path.read_bytes(), other.read_bytes()
        path.write_bytes(two)
        other.write_bytes(one)
        return f"{path.name} and {other.name} exchanged"
    path.write_bytes(damaged(path.read_bytes(), kind, rng))
    return f"{kind} in {path.name}"
