"""The hand-made hall for the tests of tasks."""

import pytest

from helpers.rooms import hall as make_hall
from housemates.homes.home import Home


@pytest.fixture(scope="session")
def hall() -> Home:
    return make_hall()
