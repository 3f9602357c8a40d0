"""`observations` of the environments takes the words of `housemates train --observations`, with the same meaning."""

import pytest

from housemates.envs.spaces import check_names
from housemates.runs.presets import PRESETS
from housemates.sim.sensors import SETS


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("word", SETS)
def test_a_word_means_what_policies_trained_with_it_see(word, preset):
    assert check_names(word) == PRESETS[preset].policy(word, robots=2).observations


def test_a_list_names_observations_themselves():
    assert check_names(["state"]) == ("state",)


def test_an_unknown_word_is_refused_with_those_that_exist():
    with pytest.raises(ValueError, match=r"'smell'.*depth.*rgb"):
        check_names("smell")


def test_the_name_of_one_sensor_or_of_several_is_a_word():
    assert check_names("window") == ("window",)
    assert check_names("state+gps_compass") == ("state", "gps_compass")
