"""Parts of the documentation site that are made from the code when it is built: commands, model cards, the leaderboard.

mkdocs calls `on_page_markdown`. A line `<!-- made by tools/site_pages.py: NAME -->` on a page is replaced by what the function
of that name below returns.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))
MARK = re.compile(r"^<!-- made by tools/site_pages\.py: (\w+) -->$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The text of a page with every mark replaced."""
    return MARK.sub(lambda found: MADE[found[1]](), markdown)


def commands() -> str:
    """Every command with its first sentence and its options."""
    from housemates.cli.main import Group
    from housemates.cli.main import commands as all_commands

    parts = []
    for name, what in all_commands().items():
        if isinstance(what, Group):
            parts += [f"## `housemates {name}`", "", what.help, ""]
            parts += [_command(f"{name} {inner}", function, "###") for inner, function in what.commands.items()]
        else:
            parts.append(_command(name, what, "##"))
    return "\n".join(parts)


def _command(name: str, function: Callable[..., None], heading: str) -> str:
    """A command: its docstring without arguments, and a table of these."""
    from housemates.cli.main import options

    text = inspect.getdoc(function) or ""
    words, _, arguments = text.partition("\nArgs:\n")
    told = {}
    for found in re.finditer(r"^ {4}(\w+): (.*?)(?=^ {4}\w+: |\Z)", arguments, re.MULTILINE | re.DOTALL):
        told[found[1].replace("_", "-")] = " ".join(found[2].split())
    placed, named = options(function)
    names = {option.name: option.name.upper() for option in placed} | {option.name[2:]: option.name for option in named}
    rows = [f"| `{shown}` | {_cell(told.get(name, ''))} |" for name, shown in names.items()]
    table = ["| option | meaning |", "|---|---|", *rows] if rows else []
    return "\n".join([f"{heading} `housemates {name}`", "", words.strip(), "", *table, ""])


def _cell(text: str) -> str:
    """Text that may stand in a cell of a table."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def model_cards() -> str:
    """A table of every policy that comes with the package, and the card of each."""
    from housemates.agents.agent import shipped
    from housemates.agents.cards import card, list_cards

    agents = shipped()
    cards = [re.sub(r"^# (?:.*/)?(.*)", r"## \1\n\nName: `pretrained/\1`", card(agent)) for agent in agents]
    return "\n\n".join([list_cards(agents), *cards])


def leaderboard() -> str:
    """A table for each task and kind of observation, from the rows in `results/`: held-out partners, evaluation homes."""
    from housemates.tasks.tasks import TASKS

    entries = defaultdict(list)
    for path in sorted((ROOT / "results").glob("*/*.parquet")):
        found = entry(path)
        if found:
            entries[found["task"], found["observations"]].append(found)
    parts = []
    for (task, sees), found in sorted(entries.items()):
        parts += [f"## {TASKS[task].title} from {sees}", "", _board(found), ""]
    return "\n".join(parts)


def entry(path: Path) -> dict[str, Any] | None:
    """One run of the leaderboard from its rows: success with each held-out partner, zero-shot, in the evaluation homes."""
    from housemates.evaluation.rows import read_rows

    rows = [row for row in read_rows(path).to_pylist() if row["evaluation"] == "zsc" and row["split"] == "eval"]
    if not rows or not all(row["zero_shot"] for row in rows):
        return None
    by_partner = defaultdict(list)
    for row in rows:
        by_partner[row["partner"]].append(row["success"])
    shares = sorted(sum(won) / len(won) for won in by_partner.values())
    worst = shares[: -(-len(shares) // 5)]
    first = rows[0]
    return {
        "task": first["task"],
        "observations": first["observations"],
        "method": first["method"],
        "decisions": first["decisions"],
        "success": sum(shares) / len(shares),
        "worst": sum(worst) / len(worst),
        "partners": len(shares),
    }


def _board(found: list[dict[str, Any]]) -> str:
    """Methods by mean success over their seeds."""
    methods = defaultdict(list)
    for one in found:
        methods[one["method"]].append(one)
    lines = ["| method | seeds | success, mean (lowest to highest seed) | worst fifth of partners | partners | decisions |"]
    lines.append("|---|---|---|---|---|---|")
    ranked = sorted(methods.items(), key=lambda item: -sum(one["success"] for one in item[1]) / len(item[1]))
    for method, runs in ranked:
        success = [100 * run["success"] for run in runs]
        worst = sum(100 * run["worst"] for run in runs) / len(runs)
        spread = f" ({min(success):.1f} to {max(success):.1f})" if len(runs) > 1 else ""
        budget = max(run["decisions"] for run in runs) / 1e6
        lines.append(
            f"| `{method}` | {len(runs)} | {sum(success) / len(runs):.1f} %{spread} | {worst:.1f} % | "
            f"{runs[0]['partners']} | {budget:.0f} M |"
        )
    return "\n".join(lines)


MADE: dict[str, Callable[[], str]] = {"commands": commands, "model_cards": model_cards, "leaderboard": leaderboard}
"""What a page may ask for."""
