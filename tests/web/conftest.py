"""One server for most tests of the page; it holds one recording of two scripts in the hall."""

import pytest
import torch

from helpers import pages
from housemates.web import session as sessions
from housemates.web.server import Page, running


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def recording():
    return pages.scripted()


@pytest.fixture(scope="session")
def service(recording, tmp_path_factory):
    found = pages.hall_service(games=tmp_path_factory.mktemp("played") / "games")
    found.library.add(recording, "recording")
    return found


@pytest.fixture(scope="session")
def port(service):
    with pytest.MonkeyPatch.context() as patch, running(Page(service)) as found:
        # Many tests play games here from one address, and leave them in the middle.
        patch.setattr(sessions, "MOST_GAMES_EACH", sessions.MOST_GAMES)
        yield found
