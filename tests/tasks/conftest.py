"""The hand-made hall for the tests of tasks."""

import pytest

from housemates.homes.home import Home
from rooms import hall as make_hall


@pytest.fixture(scope="session")
def hall() -> Home:
    return make_hall()
