"""`housemates play`: take one robot yourself, in the browser."""

from __future__ import annotations

from pathlib import Path

from tyro.conf import Positional


def play(
    partners: Positional[tuple[str, ...]] = (),
    /,
    games: Path = Path("games"),
    host: str = "",
    port: int = 7431,
    token: bool = True,
    browser: bool = True,
    fastest: float = 30.0,
) -> None:
    """Open the page and play: you take one robot, somebody you have never met the other.

    Args:
        partners: Whom to offer beside scripts and what comes with the package: run folders, RUN/agent, RUN/3, RUN/z5,
            folders of policies, module:function.
        games: Where games are kept, if their players agree.
        host: Let other machines in at this address (0.0.0.0: at all of this machine's).
        port: Where the page is; 0 takes any free port.
        token: Only who has the printed address, with the token in it, comes in. --no-token: everybody on this machine (for
            development and tests; not with --host).
        browser: Open it in the browser.
        fastest: Most steps per second that may be asked for.
    """
    from housemates.policies.partners import resolve_all
    from housemates.web.players import lent
    from housemates.web.server import open_page
    from housemates.web.table import Options

    # A run lends its agent as well as its population.
    names = [
        name for text in partners for name in (lent(Path(text)) if (Path(text) / "config.json").is_file() else ()) or [text]
    ]
    offered = tuple(resolve_all(names))
    places = (games,) if games.is_dir() else ()
    options = Options(mode="play", places=places, partners=offered, games=games, fastest=fastest)
    open_page(options, host, port, browser, "mode=play", token)
