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
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from housemates.evaluation.leaderboard import Entry

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))
MARK = re.compile(r"^<!-- made by tools/site_pages\.py: (\w+) -->$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The text of a page with every mark replaced."""
    return MARK.sub(lambda found: MADE[found[1]](), markdown)


def commands() -> str:
    """Every command with its first sentence and its options."""
    from housemates.cli.main import commands as all_commands
    from housemates.cli.parse import Group

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
    from housemates.cli.parse import options

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
    """A table for each task from the entries in `results/leaderboard`; reading an entry computes its figures again."""
    from housemates.evaluation.leaderboard import read_entries
    from housemates.tasks.tasks import TASKS

    tables: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for entry in read_entries(ROOT / "results" / "leaderboard"):
        tables[entry.task, entry.partners].append(entry)
    parts = []
    for (task, partners), entries in sorted(tables.items()):
        whom = "all held-out partners of the suite" if partners == "suite" else "the paper's held-out partners"
        count = len(entries[0].figures.by_partner)
        parts += [f"## {TASKS[task].title}, {whom}", "", f"{count} partners, 100 episodes with each.", "", board(entries), ""]
    return "\n".join(parts)


def board(entries: list[Entry]) -> str:
    """A table of entries, in their order."""
    columns = ("entry", "sees", "seeds", "success [95 %]", "scripted", "learned", "worst fifth", "collision", "decisions")
    columns += ("declared",)
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for entry in entries:
        found = entry.figures
        name = f"[{_cell(entry.name)}]({entry.link})" if entry.link else _cell(entry.name)
        shares = (found.scripted, found.learned, found.worst, found.collision)
        cells = [name, entry.observations, str(len(entry.seeds))]
        cells += [f"{100 * found.success:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]"]
        cells += [*(f"{100 * share:.1f}" for share in shares), f"{entry.decisions / 1e6:.3g} M", _cell(declared(entry))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def declared(entry: Entry) -> str:
    """What an entry uses beyond a robot's own sensors, in words."""
    truth = f"ground truth: {entry.ground_truth}" if entry.ground_truth else ""
    return "; ".join(part for part in (truth, entry.look_ahead, entry.privileged) if part) or "nothing"


MADE: dict[str, Callable[[], str]] = {"commands": commands, "model_cards": model_cards, "leaderboard": leaderboard}
"""What a page may ask for."""
