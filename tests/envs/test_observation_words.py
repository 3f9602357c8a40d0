"""`observations` of the environments takes the words of `housemates train --observations`, with the same meaning."""

import pytest

from housemates.envs.spaces import OBSERVATION_SETS, check_names
from housemates.runs.presets import PRESETS


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("word", OBSERVATION_SETS)
def test_a_word_means_what_policies_trained_with_it_see(word, preset):
    assert check_names(word) == PRESETS[preset].policy(word, robots=2).observations


def test_a_list_names_observations_themselves():
    assert check_names(["state"]) == ("state",)


def test_an_unknown_word_is_refused_with_those_that_exist():
    with pytest.raises(
        ValueError, match="no set of observations 'window' - choose one of depth, rgb, state, predicates, blind"
    ):
        check_names("window")
